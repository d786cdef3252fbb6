/* parts: poll select epoll edge    A server and 20 clients on one channel: one event taken for each wake, or with
 * an edge-triggered epoll set all of them. */
#include "crowd.h"
#include <sys/select.h>

enum { LONG = 10000 };
static int set;

static int by_poll(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, LONG);
}

static int by_select(int fd)
{
    struct timeval limit = {LONG / 1000, 0};
    fd_set fds;
    FD_ZERO(&fds);
    FD_SET(fd, &fds);
    return select(fd + 1, &fds, NULL, NULL, &limit);
}

static int by_epoll(int fd)
{
    struct epoll_event e;
    (void)fd;
    return epoll_wait(set, &e, 1, LONG);
}

static void part(const char *name)
{
    int edge = is(name, "edge");
    int (*wait_for)(int) = is(name, "poll") && !is(name, "epoll") ? by_poll : is(name, "select") ? by_select : by_epoll;
    struct crowd c = crowd_start(20);
    set = epoll_with(c.ch->fd, EPOLLIN | (edge ? EPOLLET : 0));
    while (!crowd_done(&c)) {
        MUST(wait_for(c.ch->fd) == 1);
        if (!crowd_take(&c) && !edge) say("woken for nothing");
        while (edge && crowd_take(&c)) {}
    }
    close(set);
    crowd_end(&c);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
