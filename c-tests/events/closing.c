/* parts: wait poll epoll unread    The channel is destroyed while another thread waits in rdma_get_cm_event (a
 * signal wakes it then), in poll (which notices when its time is over), in epoll_wait; or with its events unread. */
#include "events.h"

static struct rdma_event_channel *ch;
static const char *mode;
static int ready;

static void on_signal(int sig)
{
    (void)sig;
}

static void *waiter(void *unused)
{
    struct pollfd p = {.fd = ch->fd, .events = POLLIN};
    struct rdma_cm_event *ev;
    struct epoll_event e;
    int set = epoll_with(ch->fd, EPOLLIN), n;
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    errno = 0;
    if (!strcmp(mode, "wait")) n = rdma_get_cm_event(ch, &ev);
    else if (!strcmp(mode, "poll")) n = poll(&p, 1, 200);
    else n = epoll_wait(set, &e, 1, 200);
    int left = errno;
    say("%s = %d, errno %s, revents %#x", mode, n, errno_name(left), p.revents);
    close(set);
    return unused;
}

static void while_waiting(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    pthread_t thread;
    sigaction(SIGUSR1, &act, NULL);
    ch = new_channel(0);
    pthread_create(&thread, NULL, waiter, NULL);
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) usleep(1000);
    usleep(50000);
    rdma_destroy_event_channel(ch);
    say("destroyed");
    usleep(50000);
    if (!strcmp(mode, "wait")) pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
}

/* Events that nobody reads; the ids go first, or are left behind. */
static void unread(int nonblock, int taken, int ids_first)
{
    enum { N = 24 };
    struct rdma_cm_id *ids[N];
    int files = open_files();
    ch = new_channel(nonblock);
    int set = epoll_with(ch->fd, EPOLLIN);
    for (int i = 0; i < N; i++) ids[i] = resolving(ch, i);
    settle();
    for (int i = 0; i < taken; i++) say("took %ld", take(ch));
    for (int i = 0; ids_first && i < N; i++) MUST(!rdma_destroy_id(ids[i]));
    int wakes_before = wakes(set);
    rdma_destroy_event_channel(ch);
    say("wakes before %d, after %d", wakes_before, wakes(set));
    close(set);
    say("more files open: %d", open_files() - files);
}

static void part(const char *name)
{
    mode = name;
    ready = 0;
    if (strcmp(mode, "unread")) {
        while_waiting();
    } else {
        unread(0, 0, 1);
        unread(1, 3, 1);
        unread(1, 3, 0);
        unread(0, 1, 0);
        unread(1, 0, 1);
    }
    ch = new_channel(0); /* a new one has the old one's number, and nothing else of it */
    set_nonblock(ch->fd, 1);
    say("new channel: readable %d, took %ld", readable(ch->fd), take(ch));
    struct rdma_cm_id *id = resolving(ch, 1);
    settle();
    say("took %ld", take(ch));
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
