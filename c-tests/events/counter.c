/* System calls of a server's event thread, for each event that it takes:
 *   burst  a non-blocking channel in an epoll loop, and 256 clients that connect at once and later leave at once
 *   idle   the same loop, one client after another, each event alone
 *   block  the same clients on a blocking channel
 * Prints NAME events=N and the counts. The clients are a process of their own, not preloaded.
 * usage: counter [CLIENTS]     counter client CLIENTS TIMES (started by the server) */
#include "crowd.h"
#include "syscalls.h"
#include <semaphore.h>

enum { ONE_BY_ONE = 20 };
static const char *names[] = {"burst", "idle", "block"};
static struct crowd c;
static sem_t go, done;
static int thread_id, events, clients = 256;

/* Server. */

static void one_event(void)
{
    events += crowd_take(&c);
}

static void *serve(void *unused)
{
    thread_id = syscall(SYS_gettid);
    int set = epoll_with(c.ch->fd, EPOLLIN);
    struct epoll_event e;
    for (int phase = 0; phase < 3; phase++) {
        int until = c.gone + (phase ? ONE_BY_ONE : clients);
        if (phase == 2) set_nonblock(c.ch->fd, 0);
        sem_post(&done);
        sem_wait(&go);
        while (c.gone < until) {
            if (phase == 2) {
                one_event();
                continue;
            }
            MUST(epoll_wait(set, &e, 1, 20000) == 1);
            for (int before = -1; before != events;) {
                before = events;
                one_event();
            }
        }
        sem_post(&done);
        sem_wait(&go);
    }
    return unused;
}

static struct syscalls count_now(void)
{
    int others[16], n = count_others(thread_id, others, 16);
    struct syscalls sum = count_thread(thread_id);
    for (int i = 0; i < n; i++) {
        struct syscalls more = count_thread(others[i]);
        more.all = more.epoll_wait = more.poll = 0; /* not the program's time */
        count_add(&sum, more, 1);
    }
    return sum;
}

static void run_clients(const char *self, int at_once, int times)
{
    char number[16], often[16];
    int status;
    snprintf(number, sizeof number, "%d", at_once);
    snprintf(often, sizeof often, "%d", times);
    pid_t pid = fork();
    if (!pid) {
        unsetenv("LD_PRELOAD");
        execl(self, self, "client", number, often, NULL);
        _exit(96);
    }
    MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void report(const char *name, struct syscalls before, int events_before)
{
    struct syscalls s = count_now();
    count_add(&s, before, -1);
    say("%s events=%d fetches=%ld get_event=%ld writev=%ld epoll_ctl=%ld eventfd=%ld fcntl=%ld epoll_wait=%ld poll=%ld all=%ld",
        name, events - events_before, count_fetches(&s), s.get_event, s.writev, s.epoll_ctl, s.eventfd, s.fcntl, s.epoll_wait,
        s.poll, s.all);
}

/* Clients. */

static void client_event(struct rdma_event_channel *ch, enum rdma_cm_event_type want)
{
    struct rdma_cm_event *ev;
    enum rdma_cm_event_type type;
    do {
        MUST(cm_ready(ch, SOON) && !rdma_get_cm_event(ch, &ev));
        type = ev->event;
        rdma_ack_cm_event(ev);
    } while (type == RDMA_CM_EVENT_TIMEWAIT_EXIT);
    MUST(type == want);
}

static int be_clients(int at_once, int times)
{
    c = (struct crowd){.ch = new_channel(0), .param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7}};
    struct rdma_cm_id **ids = calloc(at_once, sizeof *ids);
    MUST(ids);
    while (times--) {
        for (int i = 0; i < at_once; i++) crowd_qp(&c, ids[i] = cm_routed(c.ch, RDMA_PS_TCP));
        for (int i = 0; i < at_once; i++) MUST(!rdma_connect(ids[i], &c.param));
        for (int i = 0; i < at_once; i++) client_event(c.ch, RDMA_CM_EVENT_ESTABLISHED);
        if (at_once == 1) let_pass(10); /* the server's events come alone */
        for (int i = 0; i < at_once; i++) MUST(!rdma_disconnect(ids[i]));
        for (int i = 0; i < at_once; i++) client_event(c.ch, RDMA_CM_EVENT_DISCONNECTED);
        for (int i = 0; i < at_once; i++) cm_drop_id(ids[i]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 3) return be_clients(atoi(argv[2]), atoi(argv[3]));
    if (argc > 1) clients = atoi(argv[1]);
    c = (struct crowd){.ch = new_channel(1), .param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7}};
    c.listener = cm_listen(c.ch, 1024);
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    count_begin();
    atexit(count_end);
    pthread_create(&thread, NULL, serve, NULL);
    for (int phase = 0; phase < 3; phase++) {
        sem_wait(&done);
        struct syscalls before = count_now();
        int events_before = events;
        sem_post(&go);
        run_clients(argv[0], phase ? 1 : clients, phase ? ONE_BY_ONE : 1);
        sem_wait(&done);
        report(names[phase], before, events_before);
        sem_post(&go);
    }
    pthread_join(thread, NULL);
    say("out of order %d", c.wrong);
    return 0;
}
