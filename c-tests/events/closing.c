/* parts: wait poll epoll unread    The channel is destroyed while another thread waits in rdma_get_cm_event (a
 * signal wakes it then), in poll (which notices when its time is over), in epoll_wait; or with its events unread. */
#include "events.h"
#include <sys/syscall.h>

static struct rdma_event_channel *ch;
static const char *mode;
static int ready, destroyed, early, result, left, revents;

static void on_signal(int sig)
{
    (void)sig;
}

static void *waiter(void *unused)
{
    struct pollfd p = {.fd = ch->fd, .events = POLLIN};
    struct rdma_cm_event *ev;
    struct epoll_event e;
    int set = epoll_with(ch->fd, EPOLLIN);
    __atomic_store_n(&ready, syscall(SYS_gettid), __ATOMIC_RELEASE);
    errno = 0;
    if (!strcmp(mode, "wait")) result = rdma_get_cm_event(ch, &ev);
    else if (!strcmp(mode, "poll")) result = poll(&p, 1, slowed(200));
    else result = epoll_wait(set, &e, 1, slowed(200));
    left = errno;
    early = !__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE);
    revents = p.revents;
    close(set);
    return unused;
}

/* Until the thread sleeps in the kernel, or has ended. */
static void until_asleep(int thread)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    while (state != 'S') {
        usleep(5000);
        FILE *stat = fopen(path, "r");
        if (!stat) return;
        if (fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = 'S';
        fclose(stat);
    }
}

static void while_waiting(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    pthread_t thread;
    sigaction(SIGUSR1, &act, NULL);
    ready = destroyed = 0;
    ch = new_channel(0);
    pthread_create(&thread, NULL, waiter, NULL);
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) usleep(1000);
    until_asleep(ready);
    rdma_destroy_event_channel(ch);
    __atomic_store_n(&destroyed, 1, __ATOMIC_RELEASE);
    let_pass(50);
    if (!strcmp(mode, "wait")) pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    if (early) while_waiting(); /* this machine is too slow: the wait ended before the channel did */
    else say("%s = %d, errno %s, revents %#x", mode, result, errno_name(left), revents);
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
