/* parts: after before queued, each with -nonblock, -copy or both, too; wrong    A channel in several epoll sets, some of them with
 * EPOLLEXCLUSIVE, by its own number or by that of a copy: added after a set without the flag, before it, and with an event that waits already. */
#include "events.h"

static struct rdma_event_channel *ch;
static int by = -1; /* the number by which it is added */
static struct rdma_cm_id *ids[4];
static int made;

static int add(int set, unsigned events)
{
    struct epoll_event e = {.events = events, .data.u64 = 0x123456789abcULL};
    errno = 0;
    return epoll_ctl(set, EPOLL_CTL_ADD, by, &e) ? -errno : 0;
}

static int woken(int set, int ms)
{
    struct epoll_event e = {.data.u64 = 0};
    int n = epoll_wait(set, &e, 1, ms);
    return n == 1 && e.events == EPOLLIN && e.data.u64 == 0x123456789abcULL;
}

static void queue(int n)
{
    while (n--) {
        ids[made] = resolving(ch, made);
        made++;
    }
    settle();
}

static void sets(const char *name)
{
    int plain = epoll_create1(0), exclusive = epoll_create1(0), late = epoll_create1(0);
    if (is(name, "queued")) {
        queue(2);
        say("took %ld", take(ch));
    }
    if (is(name, "before")) say("exclusive: %d", add(exclusive, EPOLLIN | EPOLLEXCLUSIVE));
    say("plain: %d", add(plain, EPOLLIN));
    if (!is(name, "before")) say("exclusive: %d", add(exclusive, EPOLLIN | EPOLLEXCLUSIVE));
    if (is(name, "queued")) say("took %ld", take(ch));
    queue(1);
    say("plain wakes %d", woken(plain, SOON));
    say("exclusive wakes %d", woken(exclusive, SOON));
    say("late: %d", add(late, EPOLLIN | EPOLLEXCLUSIVE));
    say("late wakes %d", woken(late, SOON));
    say("took %ld", take(ch));
    say("wake %d %d %d", woken(plain, 0), woken(exclusive, 0), woken(late, 0));
    queue(1);
    say("plain wakes %d", woken(plain, SOON));
    int some = woken(exclusive, 0) + woken(late, 0); /* one or both */
    say("one of the others wakes %d", some > 0);
    say("took %ld", take(ch));
    close(exclusive);
    close(late);
    close(plain);
}

/* Flags that may not stand beside it. */
static void wrong(void)
{
    int set = epoll_create1(0);
    say("one shot: %d", add(set, EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT) == -EINVAL);
    say("hang-up: %d", add(set, EPOLLIN | EPOLLEXCLUSIVE | EPOLLRDHUP) == -EINVAL);
    say("edge: %d", add(set, EPOLLIN | EPOLLEXCLUSIVE | EPOLLET));
    say("again: %d", add(set, EPOLLIN | EPOLLEXCLUSIVE) == -EEXIST);
    close(set);
}

static void part(const char *name)
{
    ch = new_channel(is(name, "nonblock"));
    made = 0;
    by = is(name, "copy") ? dup(dup(ch->fd)) : ch->fd;
    if (is(name, "wrong")) wrong();
    else sets(name);
    for (int i = 0; i < made; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
