/* covers: ibv_alloc_pd */
#include "verbs.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = TRY_PTR(ibv_alloc_pd(ctx));
    say("right context %d", pd->context == ctx);
    TRY(ibv_dealloc_pd(pd));
    int fd = ctx->cmd_fd;
    ctx->cmd_fd = -1; /* as after a careless close */
    TRY_PTR(ibv_alloc_pd(ctx));
    ctx->cmd_fd = fd;
    TRY(ibv_close_device(ctx));
    return 0;
}
