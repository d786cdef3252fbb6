/* An asynchronous event of a queue pair that the program does not know (strange.so makes it up) does not reach it. */
#include "pool.h"
#include <fcntl.h>

int main(void)
{
    struct ibv_async_event event;
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    MUST(pd && cq && !fcntl(ctx->async_fd, F_SETFL, fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK));
    for (int i = 0; i < 2; i++) { /* none is taken after the filling: it could be the one made last */
        struct ibv_qp_init_attr attr = verbs_attr(cq);
        MUST(ibv_create_qp(pd, &attr));
        let_fill();
    }
    let_pass(1000); /* on a busy machine, too, nothing is being made any more: the one made last lies ready */
    TRY(ibv_get_async_event(ctx, &event));
    return 0;
}
