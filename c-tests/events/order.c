/* parts: block nonblock    Ids destroyed with their events unread: the others' events stay in order, and no destroy hangs. */
#include "events.h"

static int nonblock;

static void drain(struct rdma_event_channel *ch)
{
    while (readable(ch->fd)) say("took %ld", take(ch));
}

/* Two ids; the first one's event comes first and is never read. */
static void two(int before)
{
    struct rdma_event_channel *ch = new_channel(nonblock);
    struct rdma_cm_id *first, *a, *b;
    say("two ids, %d event taken before", before);
    first = resolving(ch, 0);
    a = resolving(ch, 1);
    b = resolving(ch, 2);
    settle();
    if (before) say("took %ld", take(ch));
    TRY(rdma_destroy_id(a));
    drain(ch);
    MUST(!rdma_resolve_route(b, SOON));
    if (nonblock) MUST(cm_ready(ch, SOON));
    say("route of %ld", take(ch));
    rdma_destroy_id(b);
    rdma_destroy_id(first);
    say("readable %d", readable(ch->fd));
    rdma_destroy_event_channel(ch);
}

/* Many ids, every second one destroyed; some of their events may have been read ahead, some not. */
static void many(int before, int odd)
{
    enum { N = 50 };
    struct rdma_event_channel *ch = new_channel(nonblock);
    struct rdma_cm_id *ids[N];
    say("many ids, %d taken before", before);
    for (int i = 0; i < N; i++) ids[i] = resolving(ch, i);
    settle();
    for (int i = 0; i < before; i++) say("took %ld", take(ch));
    for (int i = odd; i < N; i += 2) MUST(!rdma_destroy_id(ids[i]));
    say("readable %d", readable(ch->fd));
    drain(ch);
    for (int i = !odd; i < N; i += 2) MUST(!rdma_destroy_id(ids[i]));
    rdma_destroy_event_channel(ch);
}

/* All gone while their events are unread: nothing is there any more. */
static void all(int before)
{
    enum { N = 24 };
    struct rdma_event_channel *ch = new_channel(nonblock);
    struct rdma_cm_id *ids[N], *last;
    say("all ids, %d taken before", before);
    for (int i = 0; i < N; i++) ids[i] = resolving(ch, i);
    settle();
    for (int i = 0; i < before; i++) say("took %ld", take(ch));
    for (int i = 0; i < N; i++) MUST(!rdma_destroy_id(ids[i]));
    say("readable %d", readable(ch->fd));
    last = resolving(ch, N);
    settle();
    say("readable %d", readable(ch->fd));
    say("took %ld", take(ch));
    rdma_destroy_id(last);
    rdma_destroy_event_channel(ch);
}

static void part(const char *name)
{
    nonblock = is(name, "nonblock");
    two(0);
    two(1);
    many(0, 0);
    many(1, 1);
    all(0);
    all(1);
}

int main(int argc, char **argv)
{
    int status = play_parts(argc, argv, part);
    say("kernel ids %d", kernel_ids());
    return status;
}
