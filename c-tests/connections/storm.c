/* Many clients at once on one channel.
 * usage: storm ADDR PORT CLIENTS LIMIT_MS TIME_FILE
 * Prints how many were connected within the limit; the milliseconds go to TIME_FILE. */
#include "cm.h"
#include <time.h>

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    if (argc < 6) return 2;
    int n = atoi(argv[3]), limit = atoi(argv[4]), done = 0, bad = 0;
    struct sockaddr_in sa = cm_addr(argv[1], atoi(argv[2]));
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id **ids = calloc(n, sizeof *ids);
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
    for (int i = 0; i < n; i++) {
        MUST(rdma_create_id(ch, &ids[i], NULL, RDMA_PS_TCP) == 0);
        MUST(rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&sa, 5000) == 0);
        cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
        MUST(rdma_resolve_route(ids[i], 5000) == 0);
        cm_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
        MUST(cm_qp(ids[i]) == 0);
    }
    long start = now_ms(), last = start;
    for (int i = 0; i < n; i++) MUST(rdma_connect(ids[i], &p) == 0);
    while (done + bad < n && now_ms() - start < limit) {
        struct rdma_cm_event *ev;
        if (!cm_ready(ch, 100)) continue;
        MUST(rdma_get_cm_event(ch, &ev) == 0);
        if (ev->event == RDMA_CM_EVENT_ESTABLISHED) done++;
        else bad++;
        last = now_ms();
        rdma_ack_cm_event(ev);
    }
    say("connected %d of %d, other events %d", done, n, bad);
    FILE *f = fopen(argv[5], "w");
    if (f) {
        fprintf(f, "%ld\n", done == n ? last - start : (long)limit);
        fclose(f);
    }
    return 0;
}
