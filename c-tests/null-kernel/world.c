/* What this kernel knows, and the lock around it. */
#include "null.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Pointers lead into it, so it lies at the same address in all processes. */
static void *const PLACE = (void *)0x6f0000000000;

static struct world own = {.mutex = PTHREAD_MUTEX_INITIALIZER, .next_port = 40000};
struct world *world = &own;
int shared;

static void before_fork(void) { pthread_mutex_lock(&own.mutex); }
static void after_fork(void) { pthread_mutex_unlock(&own.mutex); }

static void share(const char *path)
{
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0 || ftruncate(fd, sizeof *world)) abort();
    world = mmap(PLACE, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (world != PLACE) abort();
    shared = 1;
    if (!flock(fd, LOCK_EX) && !world->made) {
        pthread_mutexattr_t attr;
        pthread_mutexattr_init(&attr);
        pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&world->mutex, &attr);
        world->next_port = 40000;
        world->made = 1;
    }
    flock(fd, LOCK_UN); /* the mapping would keep it */
    syscall(SYS_close, fd);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("NULL_KERNEL_WORLD");
    if (path) share(path);
    else pthread_atfork(before_fork, after_fork, after_fork);
}

int concerns_us(const struct channel *file) { return shared || file->process == getpid(); }

static int has_ended(pid_t pid) { return pid != getpid() && syscall(SYS_kill, pid, 0) && errno == ESRCH; }

static struct holder *ours; /* of this process, */
static pid_t whose; /* if it is this one */

/* At a process's first object: what has its number there is of one that has ended. */
static void find_place(void)
{
    struct holder *free = NULL;
    sigset_t old;
    enter(&old);
    for (int i = 0; i < HOLDERS; i++) {
        struct holder *h = &world->holders[i];
        if (h->process == getpid()) free = h;
        else if (!free && (!h->process || has_ended(h->process))) free = h;
    }
    if (!free) abort();
    if (whose != getpid()) {
        *free = (struct holder){.process = getpid()};
        ours = free;
        __atomic_store_n(&whose, getpid(), __ATOMIC_RELEASE);
    }
    leave_kernel(&old);
}

void holds(enum object kind, int more)
{
    if (__atomic_load_n(&whose, __ATOMIC_ACQUIRE) != getpid()) find_place();
    __atomic_add_fetch(&ours->held[kind], more, __ATOMIC_ACQ_REL);
}

/* The kernel closes what a process leaves behind: this one, or with 0 each that has ended. */
static void reap(pid_t pid)
{
    for (int i = 0; i < CHANNELS; i++) {
        struct channel *c = &world->channels[i];
        if (!c->used || !(pid ? c->process == pid : has_ended(c->process))) continue;
        release(c);
        c->used = 0;
    }
}

/* No handler of the program may jump away with the lock. */
void enter(sigset_t *old)
{
    static __thread unsigned calls;
    sigset_t all;
    int before = errno;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, old);
    if (pthread_mutex_lock(&world->mutex) == EOWNERDEAD) { /* killed in the middle */
        pthread_mutex_consistent(&world->mutex);
        for (int i = 0; i < CHANNELS; i++)
            if (world->channels[i].used && world->channels[i].count) wake(&world->channels[i]);
    }
    if (shared && calls++ % 32 == 0) reap(0);
    errno = before;
}

void leave_kernel(const sigset_t *old)
{
    pthread_mutex_unlock(&world->mutex);
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* The kernel ends a command before the process that is killed: here, a process is killed while nobody is in a command. */
int kill(pid_t pid, int signal)
{
    if (signal != SIGKILL || !shared || pid <= 0) return syscall(SYS_kill, pid, signal);
    sigset_t old;
    siginfo_t unused;
    enter(&old);
    int done = syscall(SYS_kill, pid, signal);
    int error = errno;
    if (!done && !syscall(SYS_waitid, P_PID, pid, &unused, WEXITED | WNOWAIT, NULL)) reap(pid);
    leave_kernel(&old);
    errno = error;
    return done;
}
