/* covers: ibv_destroy_qp */
#include "verbs.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 6}};
    attr.qp_type = IBV_QPT_UD;
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    MUST(qp);
    TRY(ibv_attach_mcast(qp, &group, 0));
    TRY(ibv_destroy_qp(qp)); /* busy: still in a group */
    TRY(ibv_detach_mcast(qp, &group, 0));
    TRY(ibv_destroy_qp(qp));
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
