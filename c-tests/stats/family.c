/* A parent and many children, each with its own statistics. usage: family CHILDREN
 * The parent makes an RDMA call first, so that its children are born with its file. Every other child is made by a bare
 * clone, past the C library's fork handlers. Each makes three ids (the child: n + 1) and waits until the parent's stdin ends. */
#include "cm.h"
#include <sys/syscall.h>

static void make_ids(int n)
{
    struct rdma_event_channel *ch;
    struct rdma_cm_id *id;
    MUST((ch = rdma_create_event_channel()));
    for (int i = 0; i < n; i++) MUST(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) == 0);
}

int main(int argc, char **argv)
{
    int children = argc > 1 ? atoi(argv[1]) : 4, ready[2], ended = 0, status;
    char c;
    MUST(pipe(ready) == 0);
    make_ids(3);
    for (int n = 0; n < children; n++) {
        long pid = n % 2 ? syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
        MUST(pid >= 0);
        if (pid) continue;
        make_ids(n % 5 + 1);
        if (write(ready[1], "", 1) != 1) _exit(96);
        while (read(0, &c, 1) > 0) {}
        _exit(0);
    }
    for (int n = 0; n < children; n++) MUST(read(ready[0], &c, 1) == 1);
    say("all there");
    while (read(0, &c, 1) > 0) {}
    while (wait(&status) > 0) ended += status == 0;
    say("%d ended well", ended);
    return 0;
}
