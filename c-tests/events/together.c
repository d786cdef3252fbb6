/* parts: flags calls stolen loop    Threads at once on a channel: two make it non-blocking; one makes it non-blocking while
 * another makes ids; one still waits on a channel that is gone while there is a new one. And channels made,
 * made non-blocking, used and destroyed in a loop leave nothing behind. */
#include "events.h"

static struct rdma_event_channel *ch;
static pthread_barrier_t start;
static int failed;

static void *make_nonblock(void *unused)
{
    pthread_barrier_wait(&start);
    set_nonblock(ch->fd, 1);
    return unused;
}

static void *make_ids(void *unused)
{
    struct rdma_cm_id *id;
    pthread_barrier_wait(&start);
    for (int i = 0; i < 40; i++) {
        if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP)) failed++;
        else rdma_destroy_id(id);
    }
    return unused;
}

static void at_once(void *(*one)(void *), void *(*other)(void *), int rounds)
{
    pthread_t threads[2];
    int files = open_files();
    failed = 0;
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < rounds; i++) {
        ch = new_channel(0);
        pthread_create(&threads[0], NULL, one, NULL);
        pthread_create(&threads[1], NULL, other, NULL);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        struct rdma_cm_id *id;
        if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP)) failed++;
        else rdma_destroy_id(id);
        rdma_destroy_event_channel(ch);
    }
    int more = open_files() - files;
    say("failed %d, more files open %d", failed, more > 2 ? more : 0);
}

static void on_signal(int sig)
{
    (void)sig;
}

static int waiting, result;

static void *waiter(void *unused)
{
    struct rdma_cm_event *ev;
    __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
    result = rdma_get_cm_event(ch, &ev);
    return unused;
}

static void stolen(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    pthread_t thread;
    sigaction(SIGUSR1, &act, NULL);
    result = 1;
    ch = new_channel(0);
    pthread_create(&thread, NULL, waiter, NULL);
    while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE)) usleep(1000);
    let_pass(200);
    rdma_destroy_event_channel(ch);
    struct rdma_event_channel *next = new_channel(0);
    struct rdma_cm_id *id = resolving(next, 7);
    settle();
    let_pass(50);
    say("the new channel is readable %d", readable(next->fd));
    set_nonblock(next->fd, 1);
    say("took %ld, the other thread's call %s", take(next), result == 1 ? "waits" : "ended");
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(next);
}

static long resident(void)
{
    long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    MUST(f && fscanf(f, "%ld %ld", &size, &pages) == 2);
    fclose(f);
    return pages * 4;
}

static void churn(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        ch = new_channel(1);
        if (i % 8 == 0) {
            struct rdma_cm_id *id;
            MUST(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
            rdma_destroy_id(id);
        }
        MUST(take(ch) == -1);
        rdma_destroy_event_channel(ch);
    }
}

static void loop(void)
{
    const char *rounds = getenv("ROUNDS");
    churn(200);
    int files = open_files();
    long kb = 0;
    /* A leak grows each time; what is in use at once, on a busy machine more than before, does not. */
    for (int tries = 0; tries < 4 && (!tries || kb > 400); tries++) {
        kb = resident();
        churn(rounds ? atoi(rounds) : 1000);
        kb = resident() - kb;
    }
    int more = open_files() - files;
    if (rounds) say("%ld kB more", kb);
    say("more files open %d, much more memory %d", more, kb > 400);
}

static void part(const char *name)
{
    if (is(name, "flags")) at_once(make_nonblock, make_nonblock, 150);
    if (is(name, "calls")) at_once(make_nonblock, make_ids, 100);
    if (is(name, "stolen")) stolen();
    if (is(name, "loop")) loop();
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
