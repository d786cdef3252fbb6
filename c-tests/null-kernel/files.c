/* Descriptors: which are channels, who may use them, what the system calls on them do. */
#include "null.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

__thread int calling = -1;

#define NEXT(name, type) ({ static type next_; if (!next_) next_ = (type)dlsym(RTLD_NEXT, name); next_; })

/* ---- credentials: the kernel compares pointers, so what counts is whether a thread's changed, not into what */

static unsigned long last_cred = 1;
static unsigned long all_changed; /* how often glibc changed those of all threads */
static __thread unsigned long cred = 1, seen_change;

unsigned long current_cred(void)
{
    if (seen_change != __atomic_load_n(&all_changed, __ATOMIC_ACQUIRE)) {
        seen_change = all_changed;
        cred = __atomic_add_fetch(&last_cred, 1, __ATOMIC_ACQ_REL);
    }
    return cred;
}

static void changed(void) { cred = __atomic_add_fetch(&last_cred, 1, __ATOMIC_ACQ_REL); }

struct start { void *(*run)(void *); void *with; unsigned long cred, seen; };

static void *started(void *given)
{
    struct start s = *(struct start *)given;
    free(given);
    cred = s.cred;
    seen_change = s.seen;
    return s.run(s.with);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *with)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *s = malloc(sizeof *s);
    if (!s) return EAGAIN;
    unsigned long mine = current_cred();
    *s = (struct start){run, with, mine, seen_change};
    int failed = NEXT("pthread_create", create *)(thread, attr, started, s);
    if (failed) free(s);
    return failed;
}

int prctl(int option, ...)
{
    va_list args;
    va_start(args, option);
    unsigned long a = va_arg(args, unsigned long), b = va_arg(args, unsigned long);
    unsigned long c = va_arg(args, unsigned long), d = va_arg(args, unsigned long);
    va_end(args);
    int done = syscall(SYS_prctl, option, a, b, c, d);
    if (!done && (option == PR_SET_KEEPCAPS || option == PR_CAPBSET_DROP || option == PR_SET_SECUREBITS)) changed();
    return done;
}

int setfsuid(uid_t uid)
{
    changed();
    return syscall(SYS_setfsuid, uid);
}

int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    typedef int set(uid_t, uid_t, uid_t);
    int done = NEXT("setresuid", set *)(real, effective, saved);
    if (!done) __atomic_add_fetch(&all_changed, 1, __ATOMIC_ACQ_REL);
    return done;
}

/* ---- which descriptors are channels: a socket with a name, known by its inode */

static ino_t inode_of(int fd)
{
    struct stat s;
    return fd >= 0 && !syscall(SYS_fstat, fd, &s) && S_ISSOCK(s.st_mode) ? s.st_ino : 0;
}

struct channel *channel_of(int fd)
{
    int before = errno;
    ino_t inode = inode_of(fd);
    errno = before;
    for (int i = 0; inode && i < CHANNELS; i++)
        if (world->channels[i].used && world->channels[i].inode == inode) return &world->channels[i];
    return NULL;
}

static int new_socket(int flags, struct sockaddr_un *name, socklen_t *size)
{
    int fd = syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0), 0);
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    *size = sizeof *name;
    if (fd < 0) return fd;
    if (!bind(fd, (struct sockaddr *)name, sizeof name->sun_family) && !getsockname(fd, (struct sockaddr *)name, size)) return fd;
    syscall(SYS_close, fd);
    return -1;
}

static int open_channel(int flags)
{
    sigset_t old;
    struct channel made = {.used = 1, .process = getpid(), .cred = current_cred()};
    int fd = new_socket(flags, &made.name, &made.name_size), i;
    if (fd < 0) return fd;
    made.fd = fd;
    made.inode = inode_of(fd);
    enter(&old);
    for (i = 0; i < CHANNELS && world->channels[i].used; i++) { }
    if (i < CHANNELS) world->channels[i] = made;
    leave_kernel(&old);
    if (i < CHANNELS) return fd;
    syscall(SYS_close, fd);
    errno = ENFILE;
    return -1;
}

static int open_any(const char *path, int flags, int mode)
{
    return strcmp(path, "/dev/infiniband/rdma_cm") ? (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode) : open_channel(flags);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = va_arg(args, int);
    va_end(args);
    return open_any(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = va_arg(args, int);
    va_end(args);
    return open_any(path, flags, mode);
}

/* librdmacm looks whether it has opened a device. */
int fstat(int fd, struct stat *to)
{
    int done = syscall(SYS_fstat, fd, to);
    if (!done && S_ISSOCK(to->st_mode) && channel_of(fd)) to->st_mode = S_IFCHR | 0666;
    return done;
}

/* A channel's name is the device's, and a completion channel has one of its own. */
ssize_t readlink(const char *path, char *buf, size_t size)
{
    static const char device[] = "/dev/infiniband/rdma_cm";
    const char *last = strrchr(path, '/');
    if (!strncmp(path, "/proc/", 6) && last && last - path > 3 && !strncmp(last - 3, "/fd/", 4) && channel_of(atoi(last + 1))) {
        size_t length = size < sizeof device - 1 ? size : sizeof device - 1;
        memcpy(buf, device, length);
        return length;
    }
    static const char ours[] = "anon_inode:[timerfd]", theirs[] = "anon_inode:[infinibandevent]";
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, path, buf, size);
    if (length != sizeof ours - 1 || size < sizeof theirs - 1 || memcmp(buf, ours, length)) return length;
    memcpy(buf, theirs, sizeof theirs - 1);
    return sizeof theirs - 1;
}

/* ---- the end of a channel: when no descriptor of this process has it any more */

static int anywhere(const struct channel *c)
{
    if (inode_of(c->fd) == c->inode) return 1;
    int limit = sysconf(_SC_OPEN_MAX);
    for (int fd = 0; fd < (limit < 65536 ? limit : 65536); fd++)
        if (inode_of(fd) == c->inode) return 1;
    return 0;
}

static void look_for_ends(void)
{
    sigset_t old;
    int before = errno;
    enter(&old);
    for (int i = 0; i < CHANNELS; i++)
        if (world->channels[i].used && world->channels[i].process == getpid() && !anywhere(&world->channels[i])) {
            release(&world->channels[i]);
            world->channels[i].used = 0;
        }
    leave_kernel(&old);
    errno = before;
}

int close(int fd)
{
    typedef int closing(int);
    int ours = channel_of(fd) != NULL;
    int done = NEXT("close", closing *)(fd);
    if (ours) look_for_ends();
    return done;
}

int dup2(int from, int to)
{
    typedef int duplicating(int, int);
    int ours = channel_of(to) != NULL;
    int done = NEXT("dup2", duplicating *)(from, to);
    if (ours) look_for_ends();
    return done;
}

int dup3(int from, int to, int flags)
{
    typedef int duplicating(int, int, int);
    int ours = channel_of(to) != NULL;
    int done = NEXT("dup3", duplicating *)(from, to, flags);
    if (ours) look_for_ends();
    return done;
}

int close_range(unsigned first, unsigned last, int flags)
{
    int done = syscall(SYS_close_range, first, last, flags);
    look_for_ends();
    return done;
}

/* ---- commands */

static int blocks(int fd) { return !(syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK); }

/* Sleeps until there is an event, as ucma does: signals restart it or end it, and a cancel ends the thread. */
static int sleep_for_event(int fd)
{
    char byte;
    typedef ssize_t receive(int, void *, size_t, int);
    return NEXT("recv", receive *)(fd, &byte, 1, MSG_PEEK) < 0 ? -errno : 0;
}

static int get_event(int fd, const struct ucma_abi_get_event *to)
{
    sigset_t old;
    struct event event;
    for (;;) {
        enter(&old);
        struct channel *file = channel_of(fd);
        int done = file ? take(file, &event) : -EBADF;
        if (!done) done = deliver(file, &event, to);
        leave_kernel(&old);
        if (done != -EAGAIN || !blocks(fd)) return done;
        if ((done = sleep_for_event(fd))) return done;
    }
}

static int one(int fd, const void *buf, size_t size)
{
    const struct ucma_abi_cmd_hdr *header = buf;
    if (size < sizeof *header) return -EINVAL;
    sigset_t old;
    enter(&old);
    calling = fd;
    struct channel *file = channel_of(fd);
    int may = file && file->cred == current_cred() && file->process == getpid();
    int done = !file ? -EBADF : !may ? -EACCES : header->cmd == UCMA_CMD_GET_EVENT ? 0 : command(file, buf, size);
    calling = -1;
    leave_kernel(&old);
    if (done) return done;
    return header->cmd == UCMA_CMD_GET_EVENT ? get_event(fd, buf) : 0;
}

ssize_t write(int fd, const void *buf, size_t size)
{
    typedef ssize_t writing(int, const void *, size_t);
    if (!channel_of(fd)) return NEXT("write", writing *)(fd, buf, size);
    int failed = one(fd, buf, size);
    if (!failed) return size;
    errno = -failed;
    return -1;
}

/* Segment by segment, up to the first that fails (do_loop_readv_writev, fs/read_write.c). */
ssize_t writev(int fd, const struct iovec *segments, int count)
{
    typedef ssize_t writing(int, const struct iovec *, int);
    if (!channel_of(fd)) return NEXT("writev", writing *)(fd, segments, count);
    ssize_t written = 0;
    for (int i = 0; i < count; i++) {
        int failed = one(fd, segments[i].iov_base, segments[i].iov_len);
        if (failed && written) return written;
        if (failed) {
            errno = -failed;
            return -1;
        }
        written += segments[i].iov_len;
    }
    return written;
}
