/* A thread waits for the events of each channel, takes one, and is cancelled while it waits for the next: nothing is left of
 * it, nor of the channel. */
#include "events.h"

enum { FIRST = 40, ALL = 240, FEW = 300 }; /* pages; 200 channels' queues are more than 1500 */

static volatile int taken;

static void *reader(void *ch)
{
    while (take(ch) >= 0) taken = 1;
    return NULL;
}

static long pages(void)
{
    long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    MUST(file && fscanf(file, "%ld %ld", &size, &resident) == 2);
    fclose(file);
    return resident;
}

static void cycle(void)
{
    struct rdma_event_channel *ch = new_channel(0);
    struct rdma_cm_id *id;
    pthread_t thread;
    void *result;
    MUST(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    taken = 0;
    pthread_create(&thread, NULL, reader, ch);
    resolve(id);
    while (!taken) usleep(1000);
    usleep(2000); /* for it to wait */
    pthread_cancel(thread);
    pthread_join(thread, &result);
    MUST(result == PTHREAD_CANCELED);
    MUST(!rdma_destroy_id(id));
    rdma_destroy_event_channel(ch);
}

int main(void)
{
    long before = 0;
    end_if_hung(60);
    for (int i = 0; i < ALL; i++) {
        if (i == FIRST) before = pages();
        cycle();
    }
    long grown = pages() - before;
    say("grows %d", grown > FEW);
    return 0;
}
