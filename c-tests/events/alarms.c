/* parts: restart norestart    SIGALRM while a thread waits in rdma_get_cm_event, poll, epoll_wait: only the first
 * goes on, and only with SA_RESTART. Then many signals while many events come. */
#include "events.h"
#include <sys/time.h>

static volatile sig_atomic_t rings;
static struct rdma_event_channel *ch;

static void on_alarm(int sig)
{
    (void)sig;
    rings++;
}

static void ring(int first_ms, int every_ms)
{
    int first = slowed(first_ms);
    struct itimerval t = {{0, every_ms * 1000}, {first / 1000, first % 1000 * 1000}};
    rings = 0;
    MUST(!setitimer(ITIMER_REAL, &t, NULL));
}

static void *later(void *id)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    let_pass(150);
    resolve(id);
    return NULL;
}

static void waits(struct rdma_cm_id *id)
{
    pthread_t thread;
    pthread_create(&thread, NULL, later, id);
    ring(40, 0);
    long number = take(ch);
    say("waiting: %ld, rung %d", number, rings);
    pthread_join(thread, NULL);
    if (number < 0) say("once more: %ld", take(ch));
}

static void polls(void)
{
    struct pollfd p = {.fd = ch->fd, .events = POLLIN};
    struct epoll_event e;
    int set = epoll_with(ch->fd, EPOLLIN), n;
    ring(20, 0);
    n = poll(&p, 1, SOON);
    say("poll = %d, errno %s", n, errno_name(errno));
    ring(20, 0);
    n = epoll_wait(set, &e, 1, 5000);
    say("epoll_wait = %d, errno %s", n, errno_name(errno));
    close(set);
}

/* A bell every 2 ms; each interrupted wait is done again by hand. */
static void storm(int nonblock)
{
    enum { N = 40 };
    struct rdma_cm_id *ids[N];
    int order = 0, interrupted = 0;
    set_nonblock(ch->fd, nonblock);
    ring(2, 2);
    for (int i = 0; i < N; i++) ids[i] = resolving(ch, i);
    for (int i = 0; i < N;) {
        struct rdma_cm_event *ev;
        if (nonblock && !cm_ready(ch, 1000)) continue;
        if (rdma_get_cm_event(ch, &ev)) {
            if (errno != EINTR) say("errno %s", errno_name(errno));
            interrupted++;
            continue;
        }
        order += (long)ev->id->context == i++;
        rdma_ack_cm_event(ev);
    }
    ring(0, 0);
    say("in order %d of %d, readable %d%s", order, N, readable(ch->fd), nonblock && interrupted ? ", interrupted" : "");
    for (int i = 0; i < N; i++) MUST(!rdma_destroy_id(ids[i]));
}

static void part(const char *name)
{
    struct sigaction act = {.sa_handler = on_alarm};
    struct rdma_cm_id *id;
    if (!is(name, "norestart")) act.sa_flags = SA_RESTART;
    ch = new_channel(0);
    MUST(!sigaction(SIGALRM, &act, NULL) && !rdma_create_id(ch, &id, (void *)7, RDMA_PS_TCP));
    waits(id);
    polls();
    storm(0);
    storm(1);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    signal(SIGALRM, SIG_DFL);
    end_if_hung(30);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
