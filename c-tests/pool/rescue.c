/* Completion queues are made while queue pairs lie ready; a preload beneath makes one of their creations fail. */
#include "pool.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    MUST(pd && cq);
    for (int i = 0; i < 10; i++) {
        struct ibv_qp_init_attr attr = verbs_attr(cq);
        struct ibv_qp *qp = ibv_create_qp(pd, &attr);
        let_fill();
        struct ibv_cq *more = ibv_create_cq(ctx, 16, NULL, NULL, 0);
        say("cq %d: %s", i, more ? "made" : errno_name(errno));
        MUST(qp && !ibv_destroy_qp(qp));
        if (more) MUST(!ibv_destroy_cq(more));
    }
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
