/* covers: ibv_modify_qp */
#include "verbs.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_RTS, .port_num = 1};
    TRY(ibv_modify_qp(qp, &to, IBV_QP_STATE)); /* a step too far */
    to.qp_state = IBV_QPS_INIT;
    TRY(ibv_modify_qp(qp, &to, IBV_QP_STATE)); /* attributes missing */
    say("state %d", qp->state);
    TRY(ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    say("state %d", qp->state);
    to.qp_state = IBV_QPS_ERR;
    TRY(ibv_modify_qp(qp, &to, IBV_QP_STATE));
    TRY(ibv_destroy_qp(qp));
    TRY(ibv_destroy_cq(cq));
    return 0;
}
