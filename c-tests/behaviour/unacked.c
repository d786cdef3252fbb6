/* rdma_destroy_id waits for an event that is not acked; another thread acks it after 6 s, when the watchdog (1 s) has long told of it.
 * usage: unacked id|cq    cq: ibv_destroy_cq and an asynchronous event */
#include "verbs.h"

static void *ack_late(void *event)
{
    let_pass(3000);
    say("acking");
    rdma_ack_cm_event(event);
    return NULL;
}

static void *ack_async_late(void *event)
{
    let_pass(3000);
    say("acking");
    ibv_ack_async_event(event);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 1 && !strcmp(argv[1], "cq")) {
        struct ibv_context *ctx = verbs_open();
        struct ibv_async_event async;
        struct ibv_cq *cq = verbs_overrun(ctx);
        MUST(!ibv_get_async_event(ctx, &async));
        pthread_create(&thread, NULL, ack_async_late, &async);
        TRY(ibv_destroy_cq(cq));
    } else {
        struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
        struct rdma_event_channel *ch = rdma_create_event_channel();
        struct rdma_cm_event *ev;
        struct rdma_cm_id *id;
        MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
        MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON) && !rdma_get_cm_event(ch, &ev));
        pthread_create(&thread, NULL, ack_late, ev);
        TRY(rdma_destroy_id(id));
    }
    pthread_join(thread, NULL);
    return 0;
}
