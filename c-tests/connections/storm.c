/* Many clients at once on one channel. usage: storm ADDR PORT CLIENTS
 * Says when all have asked, and how many were connected. */
#include "cm.h"

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    int n = atoi(argv[3]), done = 0, bad = 0;
    struct sockaddr_in sa = cm_addr(argv[1], atoi(argv[2]));
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id **ids = calloc(n, sizeof *ids);
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
    for (int i = 0; i < n; i++) {
        MUST(rdma_create_id(ch, &ids[i], NULL, RDMA_PS_TCP) == 0);
        MUST(rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&sa, SOON) == 0);
        cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
        MUST(rdma_resolve_route(ids[i], SOON) == 0);
        cm_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
        MUST(cm_qp(ids[i]) == 0);
    }
    for (int i = 0; i < n; i++) MUST(rdma_connect(ids[i], &p) == 0);
    say("all have asked");
    while (done + bad < n && cm_ready(ch, SOON)) {
        struct rdma_cm_event *ev;
        MUST(rdma_get_cm_event(ch, &ev) == 0);
        if (ev->event == RDMA_CM_EVENT_ESTABLISHED) done++;
        else bad++;
        rdma_ack_cm_event(ev);
    }
    say("connected %d of %d, other events %d", done, n, bad);
    return 0;
}
