/* covers: ibv_create_qp */
#include "verbs.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = verbs_attr(cq), huge = attr, none = attr;
    struct ibv_qp *qp = TRY_PTR(ibv_create_qp(pd, &attr));
    say("state %d, number %d, capabilities written back %d", qp->state, qp->qp_num != 0, attr.cap.max_send_wr >= 8);
    TRY(ibv_destroy_qp(qp));
    huge.cap.max_recv_wr = 1 << 30;
    TRY_PTR(ibv_create_qp(pd, &huge));
    none.qp_type = (enum ibv_qp_type)77;
    TRY_PTR(ibv_create_qp(pd, &none));
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
