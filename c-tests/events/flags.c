/* parts: fcntl ioctl dup    The descriptor is made non-blocking and blocking again, before, after and between
 * events, by fcntl, by ioctl, or through a duplicate of it. */
#include "events.h"
#include <sys/ioctl.h>

static const char *by;
static struct rdma_event_channel *ch;
static int copy;

static void nonblock(int on)
{
    if (!strcmp(by, "ioctl")) MUST(!ioctl(ch->fd, FIONBIO, &on));
    else set_nonblock(!strcmp(by, "dup") ? copy : ch->fd, on);
    say("O_NONBLOCK %d", !!(fcntl(ch->fd, F_GETFL) & O_NONBLOCK));
}

static void *later(void *id)
{
    let_pass(60);
    resolve(id);
    return NULL;
}

/* An event that comes only after a while: a blocking channel waits for it. */
static void wait_for_one(struct rdma_cm_id *id)
{
    pthread_t thread;
    pthread_create(&thread, NULL, later, id);
    say("waited for %ld", take(ch));
    pthread_join(thread, NULL);
}

static void took(int n)
{
    for (; n; n--) {
        long number = take(ch);
        say("took %ld, readable %d", number, readable(ch->fd));
    }
}

static void part(const char *name)
{
    struct rdma_cm_id *ids[16], *slow[3];
    int n = 0;
    by = name;
    ch = new_channel(0);
    copy = dup(ch->fd);
    for (int i = 0; i < 3; i++) MUST(!rdma_create_id(ch, &slow[i], (void *)(100L + i), RDMA_PS_TCP));
    int set = epoll_with(ch->fd, EPOLLIN); /* while the descriptor is still blocking */
    wait_for_one(slow[0]);
    nonblock(1);
    took(1);
    for (; n < 3; n++) ids[n] = resolving(ch, n);
    settle();
    say("wakes %d", wakes(set));
    took(1);
    say("wakes %d", wakes(set));
    nonblock(0); /* with two events left, perhaps read ahead */
    took(2);
    say("wakes %d", wakes(set));
    wait_for_one(slow[1]);
    for (; n < 6; n++) ids[n] = resolving(ch, n);
    settle();
    took(1);
    nonblock(1); /* between events */
    took(1);
    for (; n < 9; n++) ids[n] = resolving(ch, n);
    settle();
    say("wakes %d", wakes(set));
    took(5);
    nonblock(0);
    wait_for_one(slow[2]);
    say("wakes %d", wakes(set));
    for (int i = 0; i < n; i++) rdma_destroy_id(ids[i]);
    for (int i = 0; i < 3; i++) rdma_destroy_id(slow[i]);
    close(copy);
    close(set);
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
