/* usage: little_memory [nonblock]    Only small pieces of memory can be had, for good: events come all the same. */
#include "events.h"

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

enum { SMALL = 1500, IDS = 8, TIMES = 100 };
static volatile int scarce;
static int none(size_t n)
{
    if (!scarce || n <= SMALL) return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t n) { return none(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return none(n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return none(n) ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t align, size_t n) { return none(n) ? NULL : __libc_memalign(align, n); }
int posix_memalign(void **p, size_t align, size_t n) { return (*p = aligned_alloc(align, n)) ? 0 : ENOMEM; }

int main(int argc, char **argv)
{
    struct rdma_cm_id *ids[IDS];
    int bad = 0, taken = 0;
    (void)argv;
    end_if_hung(40);
    settle();
    struct rdma_event_channel *ch = new_channel(argc > 1);
    for (int n = 0; n < TIMES; n++) {
        scarce = n > 2;
        for (long i = 0; i < IDS; i++) ids[i] = resolving(ch, i);
        for (int i = 0; i < IDS; i++) {
            bad += !cm_ready(ch, SOON);
            taken += take(ch) == i;
        }
        for (int i = 0; i < IDS; i++) bad += rdma_destroy_id(ids[i]) != 0;
    }
    say("taken %d of %d, bad %d", taken, IDS * TIMES, bad);
    rdma_destroy_event_channel(ch);
    return 0;
}
