/* covers: ibv_ack_async_event
 * ibv_destroy_cq waits for the ack of the queue's event, and returns at once when it came. */
#include "verbs.h"

static void *ack(void *event)
{
    let_pass(300);
    say("acking");
    ibv_ack_async_event(event);
    return NULL;
}

int main(void)
{
    struct ibv_context *ctx = verbs_open();
    struct ibv_async_event ev;
    pthread_t thread;
    struct ibv_cq *cq = verbs_overrun(ctx);
    MUST(!ibv_get_async_event(ctx, &ev));
    pthread_create(&thread, NULL, ack, &ev);
    TRY(ibv_destroy_cq(cq));
    pthread_join(thread, NULL);
    cq = verbs_overrun(ctx);
    MUST(!ibv_get_async_event(ctx, &ev));
    errno = UNTOUCHED;
    ibv_ack_async_event(&ev);
    say("errno %s", errno_name(errno));
    TRY(ibv_destroy_cq(cq));
    return 0;
}
