/* Ids made without a channel: their calls wait; then they go to a channel, and back. With a non-blocking channel
 * the calls of such an id return EAGAIN while they go on. */
#include "events.h"

static void synchronous(struct rdma_cm_id *id, int with_route)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    TRY(rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON));
    say("event: %s", id->event ? rdma_event_str(id->event->event) : "none");
    if (!with_route) return;
    say("rdma_resolve_route = %d", rdma_resolve_route(id, SOON));
    say("event: %s", id->event ? rdma_event_str(id->event->event) : "none");
}

static void nonblocking(void)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_cm_id *id;
    MUST(!rdma_create_id(NULL, &id, (void *)9, RDMA_PS_TCP));
    set_nonblock(id->channel->fd, 1);
    if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON)) /* unless the event was faster */
        MUST(cm_ready(id->channel, SOON) && take(id->channel) == 9);
    say("device known: %d, readable %d", id->verbs != NULL, readable(id->channel->fd));
    TRY(rdma_destroy_id(id));
}

int main(void)
{
    enum { N = 3 };
    struct rdma_event_channel *ch = new_channel(1);
    struct rdma_cm_id *ids[N];
    end_if_hung(15);
    settle(); /* opens the device */
    int files = open_files();
    for (long i = 0; i < N; i++) {
        MUST(!rdma_create_id(NULL, &ids[i], (void *)i, RDMA_PS_TCP));
        synchronous(ids[i], i == 1);
    }
    for (int i = 0; i < N; i++) {
        TRY(rdma_migrate_id(ids[i], ch));
        say("event: %s", ids[i]->event ? "some" : "none");
    }
    say("readable %d, more files open: %d", readable(ch->fd), open_files() - files);
    for (int i = 0; i < N; i += 2) {
        MUST(!rdma_resolve_route(ids[i], SOON) && cm_ready(ch, SOON));
        say("took %ld", take(ch));
    }
    TRY(rdma_migrate_id(ids[0], NULL));
    for (int i = 0; i < N; i++) TRY(rdma_destroy_id(ids[i]));
    nonblocking();
    rdma_destroy_event_channel(ch);
    say("kernel ids %d", kernel_ids());
    return 0;
}
