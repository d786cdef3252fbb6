/* The program closes all epoll sets that it did not make, by system calls of its own: events come all the same. */
#include "events.h"
#include <sys/syscall.h>

static struct rdma_event_channel *waits, *polls;

static void close_others(void)
{
    char path[32], target[64];
    for (int fd = 3; fd < 65536; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n < 0 || fd == waits->fd || fd == polls->fd) continue;
        target[n] = 0;
        if (!strcmp(target, "anon_inode:[eventpoll]")) syscall(SYS_close, fd);
    }
}

static void use(const char *when)
{
    struct rdma_cm_id *ids[4];
    for (int i = 0; i < 4; i++) ids[i] = resolving(i % 2 ? waits : polls, i);
    for (int i = 0; i < 2; i++) {
        long first = take(waits);
        int can = cm_ready(polls, SOON);
        say("%s: took %ld, readable %d, took %ld", when, first, can, take(polls));
    }
    say("%s: readable %d %d", when, readable(waits->fd), readable(polls->fd));
    for (int i = 0; i < 4; i++) rdma_destroy_id(ids[i]);
}

int main(void)
{
    end_if_hung(40);
    waits = new_channel(0);
    polls = new_channel(1);
    use("before");
    close_others();
    use("at once");
    usleep(2500000); /* who looked at them has noticed */
    use("later");
    rdma_destroy_event_channel(waits);
    rdma_destroy_event_channel(polls);
    waits = new_channel(0);
    polls = new_channel(1);
    use("new channels");
    return 0;
}
