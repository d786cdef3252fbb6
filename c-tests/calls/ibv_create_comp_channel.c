/* covers: ibv_create_comp_channel */
#include "verbs.h"

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_comp_channel *channel = TRY_PTR(ibv_create_comp_channel(ctx));
    say("descriptor %d", channel->fd >= 0);
    TRY(ibv_destroy_comp_channel(channel));
    int fd = ctx->cmd_fd;
    ctx->cmd_fd = -1;
    TRY_PTR(ibv_create_comp_channel(ctx));
    ctx->cmd_fd = fd;
    TRY(ibv_close_device(ctx));
    return 0;
}
