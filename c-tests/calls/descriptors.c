/* The functions of libc that the library stands in front of, on descriptors that are no event channels. */
#include "cm.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

int fcntl64(int fd, int command, ...);

static void on_alarm(int signal)
{
    (void)signal;
    if (write(1, "handler\n", 8) != 8) _exit(96);
}

int main(void)
{
    int pipes[2], full[2];
    char text[16] = "";
    char *volatile nowhere = (char *)8;
    MUST(pipe(pipes) == 0 && pipe(full) == 0);

    TRY(write(pipes[1], "abc", 3));
    MUST(read(pipes[0], text, sizeof text) == 3);
    say("read %s", text);
    TRY(write(pipes[1], NULL, 0));
    TRY(write(pipes[1], nowhere, 4));
    TRY(write(-1, "x", 1));
    TRY(write(100000, "x", 1));
    TRY(write(pipes[0], "x", 1));

    TRY(fcntl(pipes[1], F_GETFL) & O_NONBLOCK);
    TRY(fcntl(pipes[1], F_SETFL, O_NONBLOCK));
    TRY(fcntl64(pipes[1], F_GETFL) & O_NONBLOCK);
    TRY(fcntl64(pipes[1], F_SETFL, 0));
    int on = 1;
    TRY(ioctl(pipes[1], FIONBIO, &on));
    TRY(fcntl(pipes[1], F_GETFL) & O_NONBLOCK);
    TRY(fcntl(-1, F_GETFL));
    TRY(fcntl(pipes[1], F_SETFD, FD_CLOEXEC));
    TRY(fcntl(pipes[1], F_GETFD));
    struct flock lock = {.l_type = F_RDLCK};
    TRY(fcntl(1, F_GETLK, &lock) < 0 && errno == EBADF);
    TRY(ioctl(pipes[1], FIONBIO, (void *)8));
    MUST(write(pipes[1], "four", 4) == 4);
    int waiting = 0;
    TRY(ioctl(pipes[0], FIONREAD, &waiting));
    say("waiting %d", waiting);

    while (write(pipes[1], text, sizeof text) > 0) ;
    say("full: errno %s", errno_name(errno));

    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.u64 = 7};
    TRY(epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &event));
    TRY(epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &event));
    TRY(epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], NULL));
    TRY(epoll_ctl(set, EPOLL_CTL_DEL, pipes[0], NULL));
    TRY(epoll_ctl(-1, EPOLL_CTL_ADD, pipes[0], &event));

    TRY(dup(-1));
    int copy = dup(pipes[0]);
    say("dup: %d", copy > pipes[0]);
    TRY(dup2(pipes[0], 90));
    TRY(dup2(90, 90));
    TRY(dup2(-1, 90));
    TRY(dup3(pipes[0], 91, O_CLOEXEC));
    TRY(fcntl(91, F_GETFD));
    TRY(dup3(91, 91, 0));

    /* A write that blocks is interrupted by a handler that writes itself. */
    while (fcntl(full[1], F_SETFL, O_NONBLOCK) == 0 && write(full[1], text, sizeof text) > 0) ;
    MUST(fcntl(full[1], F_SETFL, 0) == 0);
    struct sigaction action = {.sa_handler = on_alarm};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    alarm(slowed(1000) / 1000);
    TRY(write(full[1], text, sizeof text));

    TRY(close(copy));
    TRY(close(copy));
    TRY(close(-1));
    TRY(close_range(90, 91, 0));
    TRY(fcntl(90, F_GETFD));
    TRY(close_range(91, 90, 0));
    MUST(dup2(1, 600) == 600 && dup2(1, 700) == 700);
    TRY(close_range(600, 700, CLOSE_RANGE_CLOEXEC));
    TRY(fcntl(700, F_GETFD));
    closefrom(600);
    TRY(fcntl(600, F_GETFD));

    signal(SIGPIPE, SIG_IGN);
    close(full[0]);
    TRY(write(full[1], "x", 1));

    struct rlimit limit;
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max >= 70001) {
        limit.rlim_cur = 70001;
        MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        MUST(dup2(1, 70000) == 70000);
    }
    MUST(write(limit.rlim_max >= 70001 ? 70000 : 1, "far\n", 4) == 4);
    return 0;
}
