/* Calls fail while malloc has nothing more: the program gets its error numbers and lives. */
#include "cm.h"
#include <fcntl.h>
#include <sys/resource.h>

enum { IDS = 40 };

/* No page more than now, and the heap used up. */
static void use_up_memory(void)
{
    struct rlimit limit;
    unsigned long pages;
    FILE *f = fopen("/proc/self/statm", "r");
    MUST(f && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    limit.rlim_cur = limit.rlim_max = pages * sysconf(_SC_PAGESIZE);
    MUST(!setrlimit(RLIMIT_AS, &limit));
    for (size_t size = 1 << 20; size >= 16; size /= 2) {
        void *p;
        /* Linked, so that the compiler keeps them. */
        while ((p = malloc(size))) {
            static void *last;
            *(void **)p = last;
            last = p;
        }
    }
}

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct sockaddr_in nowhere = cm_addr("192.0.2.1", 1);
    struct rdma_cm_id *ids[IDS], *id;
    struct rdma_cm_event *ev;
    int failed = 0;
    MUST(ch && !fcntl(ch->fd, F_SETFL, O_NONBLOCK));
    for (int i = 0; i < IDS; i++) MUST(!rdma_create_id(ch, &ids[i], NULL, RDMA_PS_TCP));
    use_up_memory();
    for (int i = 0; i < IDS; i++) failed += rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&nowhere, 1000) != 0;
    say("failed %d", failed);
    say("create: %d", rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    say("take: %d", rdma_get_cm_event(ch, &ev));
    for (int i = 0; i < IDS; i++) MUST(!rdma_destroy_id(ids[i]));
    say("lives");
    return 0;
}
