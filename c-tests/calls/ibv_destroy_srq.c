/* covers: ibv_destroy_srq */
#include "verbs.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 16, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(pd, &shared);
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    attr.srq = srq;
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    MUST(srq && qp);
    TRY(ibv_destroy_srq(srq)); /* busy: the queue pair is there */
    TRY(ibv_destroy_qp(qp));
    TRY(ibv_destroy_srq(srq));
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
