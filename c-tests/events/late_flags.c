/* parts: full copy moved    What reading ahead leaves behind when the descriptor becomes blocking again: after a whole
 * batch; through a duplicate that was made of a non-blocking channel. And events that were read ahead and move to
 * a blocking channel that is polled. */
#include "events.h"

static struct rdma_event_channel *ch;


static void *later(void *id)
{
    let_pass(60);
    resolve(id);
    return NULL;
}

/* Exactly as many events as one batch has, then none: the last one is given at once. */
static void full(void)
{
    struct rdma_cm_id *ids[16];
    for (int i = 0; i < 16; i++) ids[i] = resolving(ch, i);
    settle();
    say("took %ld", take(ch));
    set_nonblock(ch->fd, 0);
    for (int i = 1; i < 16; i++) say("took %ld, readable %d", take(ch), readable(ch->fd));
    for (int i = 0; i < 16; i++) rdma_destroy_id(ids[i]);
}

static void copied(void)
{
    struct rdma_cm_id *id;
    pthread_t thread;
    MUST(!rdma_create_id(ch, &id, (void *)1L, RDMA_PS_TCP));
    int copy = dup(ch->fd);
    set_nonblock(copy, 0);
    pthread_create(&thread, NULL, later, id);
    say("waited for %ld", take(ch)); /* blocks as the duplicate says */
    pthread_join(thread, NULL);
    set_nonblock(ch->fd, 0);
    set_nonblock(copy, 1);
    say("took %ld", take(ch));
    close(copy);
    rdma_destroy_id(id);
}

static void moved(void)
{
    struct rdma_cm_id *ids[3];
    struct rdma_event_channel *to = new_channel(0);
    for (int i = 0; i < 3; i++) ids[i] = resolving(ch, i);
    settle();
    say("took %ld", take(ch));
    for (int i = 0; i < 3; i++) MUST(!rdma_migrate_id(ids[i], to));
    for (int i = 1; i < 3; i++) {
        int before = readable(to->fd);
        long number = take(to);
        say("readable %d, took %ld", before, number);
    }
    say("readable %d", readable(to->fd));
    for (int i = 0; i < 3; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(to);
}

static void part(const char *name)
{
    ch = new_channel(1);
    if (is(name, "full")) full();
    if (is(name, "copy")) copied();
    if (is(name, "moved")) moved();
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
