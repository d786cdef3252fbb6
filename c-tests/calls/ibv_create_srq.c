/* covers: ibv_create_srq */
#include "verbs.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_srq_init_attr attr = {.attr = {16, 1, 0}}, huge = {.attr = {1 << 30, 1, 0}};
    struct ibv_srq *srq = TRY_PTR(ibv_create_srq(pd, &attr));
    say("room %d", attr.attr.max_wr >= 16);
    TRY(ibv_destroy_srq(srq));
    TRY_PTR(ibv_create_srq(pd, &huge));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
