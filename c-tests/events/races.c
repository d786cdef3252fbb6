/* Ids go in the very moment in which their events come: destroyed or migrated. Nothing hangs, and no
 * event of theirs is seen afterwards.
 * parts: block nonblock */
#include "events.h"

enum { ROUNDS = 100 };

static void wait_until_readable(struct rdma_event_channel *ch, int pause)
{
    if (pause) MUST(cm_ready(ch, SOON));
    for (volatile int i = 0; i < pause * 200; i++) {}
}

static void part(const char *name)
{
    int nonblock = is(name, "nonblock"), strangers = 0;
    struct rdma_event_channel *ch = new_channel(nonblock), *other = new_channel(nonblock);
    struct rdma_cm_id *stays = resolving(ch, 1);
    MUST(cm_ready(ch, SOON) && take(ch) == 1);
    for (int i = 0; i < ROUNDS; i++) {
        struct rdma_cm_id *id = resolving(ch, 2);
        wait_until_readable(ch, i % 10);
        MUST(!rdma_destroy_id(id));
        if (i % 10) strangers += readable(ch->fd);
    }
    say("destroyed: seen afterwards %d", strangers);
    strangers = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct rdma_cm_id *id = resolving(ch, 3);
        wait_until_readable(ch, i % 10);
        MUST(!rdma_migrate_id(id, other) && cm_ready(other, SOON) && take(other) == 3);
        if (i % 10) strangers += readable(ch->fd) + readable(other->fd);
        MUST(!rdma_destroy_id(id));
    }
    say("migrated: seen afterwards %d", strangers);
    MUST(!rdma_resolve_route(stays, SOON) && cm_ready(ch, SOON));
    say("took %ld", take(ch));
    rdma_destroy_id(stays);
    rdma_destroy_event_channel(other);
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
