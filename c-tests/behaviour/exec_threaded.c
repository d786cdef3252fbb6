/* exec from a program with threads that uses RDMA; the new image uses RDMA again. */
#include "cm.h"

static void *blocked(void *channel)
{
    struct rdma_cm_event *ev;
    rdma_get_cm_event(channel, &ev);
    return NULL;
}

int main(int argc, char **argv)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    pthread_t thread;
    MUST(ch);
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
    say("%s: route resolved", argc > 1 ? argv[1] : "first");
    if (argc > 1) {
        rdma_destroy_id(id);
        return 0;
    }
    pthread_create(&thread, NULL, blocked, ch);
    let_pass(100);
    execl("/proc/self/exe", argv[0], "second", (char *)NULL);
    return 1;
}
