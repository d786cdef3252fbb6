/* covers: ibv_get_async_event */
#include "verbs.h"
#include <fcntl.h>

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_async_event ev;
    MUST(!fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK));
    TRY(ibv_get_async_event(ctx, &ev)); /* nothing there */
    MUST(!fcntl(ctx->async_fd, F_SETFL, 0));
    struct ibv_cq *cq = verbs_overrun(ctx);
    TRY(ibv_get_async_event(ctx, &ev));
    say("%s, right queue %d", ibv_event_type_str(ev.event_type), ev.element.cq == cq);
    ibv_ack_async_event(&ev);
    TRY(ibv_destroy_cq(cq));
    return 0;
}
