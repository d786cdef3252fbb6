/* covers: ibv_create_cq */
#include "verbs.h"

int main(void)
{
    static int context;
    struct ibv_context *ctx = verbs_open();
    struct ibv_cq *cq = TRY_PTR(ibv_create_cq(ctx, 16, &context, NULL, 0));
    say("cqe %d, context %d", cq->cqe >= 16, cq->cq_context == &context);
    TRY(ibv_destroy_cq(cq));
    TRY_PTR(ibv_create_cq(ctx, 1 << 30, NULL, NULL, 0));
    TRY_PTR(ibv_create_cq(ctx, 16, NULL, NULL, 4000)); /* no such completion vector */
    TRY(ibv_close_device(ctx));
    return 0;
}
