/* channel->fd tells the truth, at every step and however often it is asked. */
#include "events.h"
#include <sys/select.h>

static struct rdma_event_channel *ch;
static struct rdma_cm_id *ids[40];
static int made;

static void queue(int n)
{
    for (; n; n--, made++) ids[made] = resolving(ch, made);
    settle();
}

static void print_poll(short events)
{
    struct pollfd p = {.fd = ch->fd, .events = events};
    int n = poll(&p, 1, 0);
    say("poll for %#x = %d, revents %#x", events, n, p.revents);
}

static void ask(const char *when)
{
    struct timeval none = {0, 0};
    fd_set in, out, other;
    int set = epoll_with(ch->fd, EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDNORM);
    struct epoll_event e = {0};
    say("%s:", when);
    print_poll(POLLIN);
    print_poll(POLLOUT);
    print_poll(0);
    print_poll(POLLIN | POLLOUT | POLLPRI | POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND | POLLRDHUP);
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_ZERO(&other);
    FD_SET(ch->fd, &in);
    FD_SET(ch->fd, &out);
    FD_SET(ch->fd, &other);
    int n = select(ch->fd + 1, &in, &out, &other, &none);
    say("select = %d: %d %d %d", n, !!FD_ISSET(ch->fd, &in), !!FD_ISSET(ch->fd, &out), !!FD_ISSET(ch->fd, &other));
    n = epoll_wait(set, &e, 1, 0);
    say("epoll = %d, events %#x", n, e.events);
    close(set);
}

static void print_flags(void)
{
    int flags = fcntl(ch->fd, F_GETFL), of_fd = fcntl(ch->fd, F_GETFD);
    say("access mode %d, O_NONBLOCK %d, FD_CLOEXEC %d", flags & O_ACCMODE, !!(flags & O_NONBLOCK), !!(of_fd & FD_CLOEXEC));
}

static void one_by_one(int n)
{
    for (int i = 0; i < n; i++) {
        int before = readable(ch->fd), again = readable(ch->fd);
        long number = take(ch);
        int after = readable(ch->fd);
        say("readable %d %d, took %ld, readable %d", before, again, number, after);
    }
}

int main(void)
{
    ch = new_channel(0);
    print_flags();
    ask("new channel");
    set_nonblock(ch->fd, 1);
    print_flags();
    ask("non-blocking");
    say("took %ld", take(ch));
    queue(1);
    ask("one event");
    one_by_one(2);
    ask("none left");
    queue(20);
    ask("twenty");
    one_by_one(10);
    ask("ten left");
    queue(2);
    one_by_one(13);
    ask("none left");
    for (int i = 0; i < made; i++) rdma_destroy_id(ids[i]);
    print_flags();
    rdma_destroy_event_channel(ch);
    return 0;
}
