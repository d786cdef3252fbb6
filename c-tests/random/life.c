/* Steps with processes, threads, signals, credentials and descriptors. */
#include "random.h"
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static int chan_quiet_nonblock(int c) { return chan_empty(c) && chans[c].nonblock; }
static int id_resolves(int i) { return cmids[i].state == NEW || cmids[i].state == BOUND; }

/* ---- who waits for an event is waited for */

struct poke {
    pid_t tid;
    pthread_t thread;
    int signal, id; /* a signal, or an id to resolve, or a cancel */
};

/* The kernel's rdma_cm is waited for in write (ours in recvfrom), and a set of descriptors in poll; where a thread of cmshim reads, in
 * sem_wait. A lock that is taken, or a page that is not there yet, is none of these: FUTEX_CLOCK_REALTIME is what a semaphore
 * of glibc waits with, and no lock does. */
static int is_wait(const char *call)
{
    unsigned long at, how;
    long number;
    if (sscanf(call, "%ld %lx %lx", &number, &at, &how) != 3) return 0; /* "running" */
#ifdef SYS_poll
    if (number == SYS_poll) return 1;
#endif
    return number == SYS_ppoll || number == SYS_write || number == SYS_recvfrom || (number == SYS_futex && how & FUTEX_CLOCK_REALTIME);
}

static int waits(pid_t tid)
{
    char path[64], call[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    MUST(fd >= 0);
    ssize_t n = read(fd, call, sizeof call - 1);
    close(fd);
    return n > 0 && is_wait(call);
}

static void until_waits(pid_t tid)
{
    while (!waits(tid)) usleep(200);
}

static int resolve_now(int i)
{
    struct sockaddr_in to = cm_addr(lab_addr(), lab_port() - 1);
    return rdma_resolve_addr(cmids[i].id, NULL, (struct sockaddr *)&to, 5000);
}

static void *poke(void *given)
{
    struct poke *p = given;
    until_waits(p->tid);
    if (p->signal) pthread_kill(p->thread, p->signal);
    if (p->signal && p->id != NONE) usleep(2000);
    if (p->id != NONE && resolve_now(p->id)) say("resolve errno %s", errno_name(errno));
    return NULL;
}

static pthread_t poke_me(int signal, int id, struct poke *p)
{
    pthread_t thread;
    *p = (struct poke){syscall(SYS_gettid), pthread_self(), signal, id};
    MUST(!pthread_create(&thread, NULL, poke, p));
    return thread;
}

static volatile sig_atomic_t handled;
static sigjmp_buf out;

static void note(int signal) { (void)signal; handled++; }
static void jump(int signal) { (void)signal; siglongjmp(out, 1); }

static void on_signal(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGUSR1, &action, NULL);
}

/* ---- steps */

void interrupt(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_empty_blocking);
    struct rdma_cm_event *ev;
    struct poke p;
    if (c == NONE) return;
    on_signal(note, 0);
    handled = 0;
    pthread_t thread = poke_me(SIGUSR1, NONE, &p);
    errno = 0;
    int done = rdma_get_cm_event(chans[c].ch, &ev), e = errno;
    pthread_join(thread, NULL);
    say("channel %d, a signal: %d %s, handled %d", c, done, errno_name(e), (int)handled);
}

static void late_event(int c, int i, int signal, const char *how)
{
    struct poke p;
    handled = 0;
    pthread_t thread = poke_me(signal, i, &p);
    if (chans[c].nonblock) {
        struct pollfd f = {.fd = chans[c].ch->fd, .events = POLLIN};
        while (poll(&f, 1, SOON) < 0 && errno == EINTR) { }
    }
    cmids[i].state = RESOLVING;
    cmids[i].port = NONE;
    expect(i, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NONE);
    struct rdma_cm_event *ev = get_event(c);
    pthread_join(thread, NULL);
    char line[160];
    take_into(c, ev, line, sizeof line, 0);
    say("%s, %s, handled %d", line, how, (int)handled);
}

/* An id of a channel where nothing waits. */
static int late_pair(const struct step *s, test *fits, int *c)
{
    int i = pick(s->a, IDS, id_resolves);
    if (i == NONE || !fits(cmids[i].chan)) return NONE;
    *c = cmids[i].chan;
    return i;
}

void restart_reader(const struct step *s)
{
    int c, i = late_pair(s, chan_empty_blocking, &c);
    if (i == NONE) return;
    on_signal(note, SA_RESTART);
    late_event(c, i, SIGUSR1, "a signal before it");
}

void late_poll(const struct step *s)
{
    int c, i = late_pair(s, chan_empty, &c);
    if (i == NONE) return;
    late_event(c, i, 0, "it came late");
}

void jump_away(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_empty_blocking);
    struct rdma_cm_event *ev;
    struct poke p;
    if (c == NONE) return;
    on_signal(jump, 0);
    pthread_t thread = poke_me(SIGUSR1, NONE, &p);
    if (!sigsetjmp(out, 1)) {
        int done = rdma_get_cm_event(chans[c].ch, &ev);
        give_up("channel %d: rdma_get_cm_event %d", c, done);
    }
    pthread_join(thread, NULL);
    on_signal(note, SA_RESTART);
    say("channel %d: jumped away", c);
}

struct reader { int chan; pid_t tid; struct rdma_cm_event *event; };

static void *read_one(void *given)
{
    struct reader *r = given;
    __atomic_store_n(&r->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    if (rdma_get_cm_event(chans[r->chan].ch, &r->event)) r->event = NULL;
    return NULL;
}

static void until_reads(struct reader *r)
{
    while (!__atomic_load_n(&r->tid, __ATOMIC_ACQUIRE)) usleep(200);
    until_waits(r->tid);
}

void cancel_reader(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_empty_blocking);
    if (c == NONE) return;
    struct reader r = {.chan = c};
    pthread_t thread;
    void *end;
    MUST(!pthread_create(&thread, NULL, read_one, &r));
    until_reads(&r);
    pthread_cancel(thread);
    pthread_join(thread, &end);
    say("channel %d: a reader was cancelled: %d", c, end == PTHREAD_CANCELED);
}

void two_readers(const struct step *s)
{
    int c = NONE, first = late_pair(s, chan_empty_blocking, &c), second = NONE;
    if (first == NONE) return;
    for (int i = 0; i < IDS; i++)
        if (i != first && id_resolves(i) && cmids[i].chan == c) second = i;
    if (second == NONE) return;
    struct reader r[2] = {{.chan = c}, {.chan = c}};
    pthread_t threads[2];
    char line[160];
    for (int i = 0; i < 2; i++) MUST(!pthread_create(&threads[i], NULL, read_one, &r[i]));
    for (int i = 0; i < 2; i++) until_reads(&r[i]);
    int done[2] = {resolve_now(first), resolve_now(second)}, ids[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        cmids[ids[i]].state = RESOLVING;
        cmids[ids[i]].port = NONE;
        expect(ids[i], RDMA_CM_EVENT_ADDR_RESOLVED, done[i], NONE);
    }
    chans[c].mixed = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        if (!r[i].event) give_up("channel %d: a reader got nothing", c);
        take_into(c, r[i].event, line, sizeof line, 0);
    }
    say("channel %d: two readers, ids %d and %d", c, first, second);
}

/* A child may not use the channels of its parent, and has others. */
static void child_lives(int c)
{
    struct rdma_cm_event *ev;
    if (c != NONE) {
        errno = 0;
        int done = rdma_get_cm_event(chans[c].ch, &ev);
        say("child, channel of the parent: %d %s", done, errno_name(errno));
    }
    struct rdma_event_channel *own = new_channel(1);
    struct rdma_cm_id *id = resolving(own, 1);
    say("child, own channel readable: %d", cm_ready(own, SOON));
    say("child, own channel: took %ld", take(own));
    say("child, id destroyed: %d", rdma_destroy_id(id));
    rdma_destroy_event_channel(own);
}

void fork_child(const struct step *s)
{
    int c = pick(s->a, CHANNELS, chan_quiet_nonblock), status;
    pid_t child = fork();
    MUST(child >= 0);
    if (!child) {
        end_if_hung(number_of("RANDOM_LIMIT", 12));
        child_lives(c);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) { }
    say("child ended: %d", status);
}

/* Channels that were opened before cannot be used any more. */
void change_cred(const struct step *s)
{
    struct rdma_cm_event *ev;
    for (int i = 0; i < IDS; i++)
        if (cmids[i].state != FREE) return;
    if (!on_null_kernel) return; /* there, our own connections would be lost with it */
    say("credentials: %d", s->b % 2 ? prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) : setresuid(-1, -1, -1));
    for (int c = 0; c < CHANNELS; c++) {
        if (!chans[c].ch) continue;
        chans[c].old_cred = 1;
        errno = 0;
        int done = rdma_get_cm_event(chans[c].ch, &ev);
        say("channel %d, opened before: %d %s", c, done, errno_name(errno));
    }
}

/* No descriptor is left while an event comes. */
void fill_descriptors(const struct step *s)
{
    int i = pick(s->a, IDS, id_resolves), full[1024], n = 0;
    if (i == NONE || !chan_empty(cmids[i].chan)) return;
    int c = cmids[i].chan;
    while (n < 1024 && (full[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) n++;
    int done = resolve_now(i);
    cmids[i].state = RESOLVING;
    cmids[i].port = NONE;
    expect(i, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NONE);
    int there = s->b % 2 ? cm_ready(chans[c].ch, SOON) : 1;
    while (n) close(full[--n]);
    say("channel %d, no descriptor left: %d, readable %d", c, done, there);
    wait_for(c, 1);
}
