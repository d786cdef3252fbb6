/* Events that are read ahead lie ready for a known time: what the statistics say has to agree.
 * Prints for each event "wait LEAST MOST", the nanoseconds between which the time lies that it was ready. */
#include "events.h"
#include <time.h>

enum { IDS = 8, HOLD_US = 30000 };

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
    end_if_hung(30);
    struct rdma_event_channel *ch = new_channel(1);
    struct rdma_cm_id *ids[IDS];
    for (long i = 0; i < IDS; i++) ids[i] = resolving(ch, i);
    settle();
    /* The first take reads all of them. */
    long long asked = now(), read = asked;
    for (long i = 0; i < IDS; i++) {
        long long before = now();
        MUST(take(ch) == i);
        long long after = now();
        if (!i) read = after;
        say("wait %lld %lld", i ? before - read : 0, after - asked);
        usleep(HOLD_US);
    }
    MUST(take(ch) == -1);
    for (long i = 0; i < IDS; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(ch);
    return 0;
}
