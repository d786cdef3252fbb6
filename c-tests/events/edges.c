/* Edge-triggered and one-shot epoll, one event taken for each wake: what wakes again, and what does not. */
#include "events.h"

static struct rdma_event_channel *ch;
static struct rdma_cm_id *ids[32];
static int made, set;

static void queue(int n)
{
    while (n--) {
        ids[made] = resolving(ch, made);
        made++;
    }
    settle();
}

static void rearm(unsigned events)
{
    struct epoll_event e = {.events = events};
    MUST(!epoll_ctl(set, EPOLL_CTL_MOD, ch->fd, &e));
}

static void look(const char *when)
{
    int woken = wakes(set);
    say("%s: wakes %d", when, woken);
}

static void took(void)
{
    say("took %ld", take(ch));
}

static void edge(void)
{
    set = epoll_with(ch->fd, EPOLLIN | EPOLLET);
    look("edge, empty");
    queue(3);
    look("three queued");
    look("once more");
    took();
    wakes(set); /* none bare; one is allowed, when the rest is read ahead: an edge-triggered program looks in vain */
    queue(1);
    look("another queued");
    took();
    for (int i = 0; i < 5; i++) { /* one in, one out: each new event wakes */
        queue(1);
        look("one in");
        took();
    }
    rearm(EPOLLIN | EPOLLET);
    look("armed again");
    for (long n; (n = take(ch)) >= 0;) say("took %ld", n);
    wakes(set);
    look("drained");
    queue(1);
    look("one queued");
    took();
    took();
    look("empty");
    close(set);
}

static void one_shot(void)
{
    set = epoll_with(ch->fd, EPOLLIN | EPOLLONESHOT);
    queue(3);
    look("one shot");
    took();
    look("one taken");
    queue(1);
    look("not armed");
    rearm(EPOLLIN | EPOLLONESHOT);
    look("armed");
    took();
    rearm(EPOLLIN | EPOLLONESHOT);
    look("armed");
    for (int i = 0; i < 3; i++) took();
    rearm(EPOLLIN | EPOLLONESHOT);
    look("empty, armed");
    queue(1);
    look("queued");
    took();
    close(set);
}

int main(void)
{
    ch = new_channel(1);
    edge();
    one_shot();
    for (int i = 0; i < made; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(ch);
    return 0;
}
