/* How many system calls a thread of this process makes, by the kernel's own count: hist triggers on its tracepoints, in
 * a tracefs instance of our own. Exact, and cheap beside strace. Count in another thread than the one that is counted. */
#ifndef SYSCALLS_TEST_H
#define SYSCALLS_TEST_H
#include "cm.h"
#include <fcntl.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char counting[96]; /* the instance */

struct syscalls {
    long all;                                       /* every system call */
    long get_event;                                 /* write of 16 bytes: GET_EVENT is the only such command here */
    long writev, epoll_ctl, eventfd, fcntl;         /* what else could belong to taking events */
    long epoll_wait, poll;
};

HELPER int count_write(const char *file, const char *text)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s", counting, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return ok;
}

HELPER void count_end(void)
{
    rmdir(counting);
}

HELPER void count_begin(void)
{
    snprintf(counting, sizeof counting, "/sys/kernel/tracing/instances/cmshim-%d", (int)getpid());
    MUST(!mkdir(counting, 0700));
    MUST(count_write("events/raw_syscalls/sys_enter/trigger", "hist:keys=common_pid,id:size=8192"));
    MUST(count_write("events/syscalls/sys_enter_write/trigger", "hist:keys=common_pid,count:size=8192"));
    MUST(count_write("events/syscalls/sys_enter_read/trigger", "hist:keys=common_pid,count:size=8192"));
}

/* Hits of one thread: for one value of the second key, or of all with -1. */
HELPER long count_hits(const char *event, int thread, long value)
{
    char path[192], line[256];
    long sum = 0, hits, key;
    int pid;
    snprintf(path, sizeof path, "%s/events/%s/hist", counting, event);
    FILE *hist = fopen(path, "r");
    MUST(hist);
    while (fgets(line, sizeof line, hist)) {
        if (sscanf(line, " Dropped: %ld", &hits) == 1 && hits) say("the kernel dropped counts");
        if (sscanf(line, "{ common_pid: %d, %*[a-z]: %ld } hitcount: %ld", &pid, &key, &hits) != 3) continue;
        if (pid == thread && (value < 0 || key == value)) sum += hits;
    }
    fclose(hist);
    return sum;
}

HELPER struct syscalls count_thread(int thread)
{
    const char *all = "raw_syscalls/sys_enter", *writes = "syscalls/sys_enter_write", *reads = "syscalls/sys_enter_read";
    return (struct syscalls){
        .all = count_hits(all, thread, -1), .get_event = count_hits(writes, thread, 16),
        .writev = count_hits(all, thread, SYS_writev), .epoll_ctl = count_hits(all, thread, SYS_epoll_ctl),
        .eventfd = count_hits(writes, thread, 8) + count_hits(reads, thread, 8), .fcntl = count_hits(all, thread, SYS_fcntl),
        .epoll_wait = count_hits(all, thread, SYS_epoll_wait) + count_hits(all, thread, SYS_epoll_pwait),
        .poll = count_hits(all, thread, SYS_poll) + count_hits(all, thread, SYS_ppoll),
    };
}

/* Threads that are neither the one counted, nor the one that counts, nor the keeper, which has nothing to do with events. */
HELPER int count_others(int counted, int *threads, int max)
{
    char path[64], name[32];
    int n = 0, self = syscall(SYS_gettid);
    DIR *tasks = opendir("/proc/self/task");
    MUST(tasks);
    for (struct dirent *d; (d = readdir(tasks)) && n < max;) {
        int thread = atoi(d->d_name);
        if (!thread || thread == counted || thread == self) continue;
        snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
        FILE *comm = fopen(path, "r");
        if (comm && fgets(name, sizeof name, comm) && strcmp(name, "cmshim-keeper\n")) threads[n++] = thread;
        if (comm) fclose(comm);
    }
    closedir(tasks);
    return n;
}

HELPER void count_add(struct syscalls *to, struct syscalls more, int sign)
{
    long *sum = (long *)to;
    const long *add = (const long *)&more;
    for (size_t i = 0; i < sizeof more / sizeof *add; i++) sum[i] += sign * add[i];
}

/* The calls made to take events from the kernel and to keep a descriptor truthful. */
HELPER long count_fetches(const struct syscalls *c)
{
    return c->get_event + c->writev + c->epoll_ctl + c->eventfd + c->fcntl;
}
#endif
