/* parts: wait poll epoll queue    pthread_cancel of a thread that waits in rdma_get_cm_event, in poll or in
 * epoll_wait; or between two events of many. The channel goes on. */
#include "events.h"

static struct rdma_event_channel *ch;
static const char *mode;
static int taken;

static void cleanup(void *unused)
{
    (void)unused;
    say("clean-up handler");
}

static void *waiter(void *unused)
{
    struct epoll_event e;
    int set = epoll_with(ch->fd, EPOLLIN);
    pthread_cleanup_push(cleanup, NULL);
    for (;;) {
        if (!strcmp(mode, "poll")) cm_ready(ch, -1);
        else if (!strcmp(mode, "epoll")) epoll_wait(set, &e, 1, -1);
        if (take(ch) >= 0) __atomic_add_fetch(&taken, 1, __ATOMIC_RELEASE);
        if (!strcmp(mode, "queue"))
            for (;;) pause(); /* the others stay queued, or read ahead */
    }
    pthread_cleanup_pop(0);
    return unused;
}

static void part(const char *name)
{
    struct rdma_cm_id *ids[12];
    void *result = NULL;
    pthread_t thread;
    int n = 0;
    mode = name;
    taken = 0;
    int first = strcmp(mode, "queue") ? 1 : 5, waits = !strcmp(mode, "wait");
    ch = new_channel(!waits);
    for (; n < first; n++) ids[n] = resolving(ch, n);
    settle();
    pthread_create(&thread, NULL, waiter, NULL);
    while (!__atomic_load_n(&taken, __ATOMIC_ACQUIRE)) usleep(1000);
    let_pass(50);
    int cancel = pthread_cancel(thread);
    pthread_join(thread, &result);
    say("cancel: %d, cancelled: %d, taken %d", cancel, result == PTHREAD_CANCELED, taken);
    for (; n < 12; n++) ids[n] = resolving(ch, n);
    settle();
    for (int i = taken; i < n; i++) say("took %ld", take(ch));
    say("readable %d", readable(ch->fd));
    for (int i = 0; i < n; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
