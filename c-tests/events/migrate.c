/* parts: queued requests requests-unread unacked sync same, each with -nonblock, too    Ids go to another channel: with events of theirs and of
 * others queued; a listener with connect requests queued; with an event that another thread acks late; and to no
 * channel (the id's calls then wait) and back; and to the channel that they are on. */
#include "events.h"

static struct rdma_event_channel *from, *to;

static void drain(const char *name, struct rdma_event_channel *ch)
{
    while (readable(ch->fd)) say("%s: took %ld", name, take(ch));
    say("%s: empty", name);
}

static void queued(void)
{
    struct rdma_cm_id *ids[24];
    for (int i = 0; i < 24; i++) ids[i] = resolving(from, i);
    settle();
    say("from: took %ld", take(from));
    for (int i = 0; i < 24; i += 3) MUST(!rdma_migrate_id(ids[i], to)); /* the event of 0 is taken, the others' are not */
    drain("to", to);
    MUST(!rdma_migrate_id(ids[1], to));
    drain("from", from);
    drain("to", to);
    for (int i = 0; i < 24; i += 3) MUST(!rdma_resolve_route(ids[i], SOON) && cm_ready(to, SOON));
    settle();
    let_pass(50);
    drain("to, routes", to);
    drain("from", from);
    for (int i = 0; i < 24; i++) rdma_destroy_id(ids[i]);
}

/* Connect requests that wait at a listener (in the order in which they came, which is not printed) move with it; but the kernel leaves the ids of the new connections with the
 * old channel, so that librdmacm cannot use them on the new one and drops the events. The clients hear of it when the
 * old channel is closed. Unread: the listener is destroyed where it has come to, and its requests with it. */
static void requests(int unread)
{
    enum { N = 6 };
    struct rdma_event_channel *cc = new_channel(0);
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
    struct rdma_cm_id *listener = cm_listen(from, 16), *ids[N];
    struct rdma_cm_event *ev;
    for (int i = 0; i < N; i++) {
        ids[i] = cm_routed(cc, RDMA_PS_TCP);
        MUST(!cm_qp(ids[i]) && !rdma_connect(ids[i], &p));
    }
    await_requests();
    for (int i = 0; i < 2; i++) {
        MUST(cm_ready(from, SOON) && !rdma_get_cm_event(from, &ev));
        struct rdma_cm_id *id = ev->id;
        say("%s %d", rdma_event_str(ev->event), ev->status);
        rdma_ack_cm_event(ev);
        TRY(rdma_reject(id, NULL, 0));
        TRY(rdma_destroy_id(id));
    }
    TRY(rdma_migrate_id(listener, to));
    if (unread) {
        TRY(rdma_destroy_id(listener));
        say("kernel ids %d", kernel_ids());
        listener = NULL;
    }
    int left = readable(from->fd), moved = readable(to->fd);
    set_nonblock(to->fd, 1);
    say("from readable %d, to readable %d, took %ld", left, moved, take(to));
    say("to readable %d", readable(to->fd));
    if (listener) TRY(rdma_destroy_id(listener));
    rdma_destroy_event_channel(from);
    from = new_channel(0);
    for (int i = 0; i < N; i++) cm_next("client", cc, NULL);
    for (int i = 0; i < N; i++) cm_drop_id(ids[i]);
    rdma_destroy_event_channel(cc);
}

static void *ack_late(void *event)
{
    let_pass(100);
    say("acking");
    rdma_ack_cm_event(event);
    return NULL;
}

static void unacked(void)
{
    struct rdma_cm_id *id = resolving(from, 1), *other = resolving(from, 2);
    struct rdma_cm_event *ev;
    pthread_t thread;
    settle();
    MUST(!rdma_get_cm_event(from, &ev));
    pthread_create(&thread, NULL, ack_late, ev);
    TRY(rdma_migrate_id(id, to));
    pthread_join(thread, NULL);
    drain("from", from);
    MUST(!rdma_resolve_route(id, SOON) && cm_ready(to, SOON));
    drain("to", to);
    rdma_destroy_id(id);
    rdma_destroy_id(other);
}

static void sync_and_back(void)
{
    struct rdma_cm_id *id = resolving(from, 1), *other = resolving(from, 2);
    settle();
    say("from: took %ld", take(from));
    TRY(rdma_migrate_id(id, NULL));
    TRY(rdma_resolve_route(id, SOON));
    say("event kept: %s", id->event ? rdma_event_str(id->event->event) : "none");
    TRY(rdma_migrate_id(other, NULL)); /* its event is queued: it goes to the id's own channel */
    say("own channel: took %ld", take(other->channel));
    TRY(rdma_resolve_route(other, SOON));
    say("event kept: %s", other->event ? rdma_event_str(other->event->event) : "none");
    set_nonblock(other->channel->fd, 1);
    say("own channel: took %ld", take(other->channel));
    TRY(rdma_migrate_id(id, to));
    say("event kept: %s", id->event ? "some" : "none");
    drain("from", from);
    drain("to", to);
    rdma_destroy_id(id);
    rdma_destroy_id(other);
}

/* To the channel that it is on already, with events of it and of others that nobody has read. */
static void same(void)
{
    struct rdma_cm_id *ids[6];
    for (int i = 0; i < 6; i++) ids[i] = resolving(from, i);
    settle();
    say("from: took %ld", take(from));
    for (int i = 0; i < 6; i += 2) TRY(rdma_migrate_id(ids[i], from));
    drain("from", from);
    for (int i = 0; i < 6; i++) MUST(!rdma_resolve_route(ids[i], 5000) && cm_ready(from, SOON));
    settle();
    say("from: took %ld", take(from));
    for (int i = 1; i < 6; i += 2) TRY(rdma_migrate_id(ids[i], to));
    for (int i = 1; i < 6; i += 2) TRY(rdma_migrate_id(ids[i], to));
    drain("from", from);
    drain("to", to);
    for (int i = 0; i < 6; i++) TRY(rdma_destroy_id(ids[i]));
}

static void part(const char *name)
{
    from = new_channel(is(name, "nonblock"));
    to = new_channel(is(name, "nonblock"));
    if (is(name, "queued")) queued();
    else if (is(name, "requests")) requests(is(name, "unread"));
    else if (is(name, "unacked")) unacked();
    else if (is(name, "same")) same();
    else sync_and_back();
    rdma_destroy_event_channel(from);
    rdma_destroy_event_channel(to);
}

int main(int argc, char **argv)
{
    int status = play_parts(argc, argv, part);
    say("kernel ids %d", kernel_ids());
    return status;
}
