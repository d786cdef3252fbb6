/* usage: no_descriptors [nonblock]    The first event of the process comes while it has no descriptor left. */
#include "events.h"
#include <sys/resource.h>

int main(int argc, char **argv)
{
    (void)argv;
    end_if_hung(40);
    struct rlimit few = {256, 256};
    MUST(!setrlimit(RLIMIT_NOFILE, &few));
    struct rdma_event_channel *ch = new_channel(argc > 1);
    struct rdma_cm_id *ids[2];
    int first = -1, last = -1, fd;
    MUST(!rdma_create_id(ch, &ids[0], (void *)1L, RDMA_PS_TCP) && !rdma_create_id(ch, &ids[1], (void *)2L, RDMA_PS_TCP));
    while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
        if (first < 0) first = fd;
        last = fd;
    }
    say("errno %s", errno_name(errno));
    resolve(ids[0]);
    resolve(ids[1]);
    say("no descriptor left: readable %d", cm_ready(ch, SOON));
    for (fd = first; fd <= last; fd++) close(fd);
    for (int i = 0; i < 2; i++) {
        int can = cm_ready(ch, SOON);
        say("readable %d, took %ld", can, take(ch));
    }
    say("readable %d", readable(ch->fd));
    for (int i = 0; i < 2; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(ch);
    return 0;
}
