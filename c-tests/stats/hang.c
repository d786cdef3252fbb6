/* A connect that nobody answers, to be killed in the middle. usage: hang event|call
 * event: waits in rdma_get_cm_event; call: rdma_connect of a synchronous id itself does not come back. */
#include "cm.h"

int main(int argc, char **argv)
{
    struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
    struct rdma_event_channel *sc, *cc;
    struct rdma_cm_event *ev;
    MUST((sc = rdma_create_event_channel()));
    cm_listen(sc, 8);
    if (argc > 1 && !strcmp(argv[1], "call")) {
        struct sockaddr_in sa = cm_addr(lab_addr(), lab_port());
        struct rdma_cm_id *id;
        MUST(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) == 0);
        MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&sa, SOON) == 0);
        MUST(rdma_resolve_route(id, SOON) == 0);
        MUST(cm_qp(id) == 0);
        say("connecting");
        rdma_connect(id, &param);
        return 1;
    }
    MUST((cc = rdma_create_event_channel()));
    struct rdma_cm_id *client = cm_routed(cc, RDMA_PS_TCP);
    MUST(cm_qp(client) == 0);
    MUST(rdma_connect(client, &param) == 0);
    say("connecting");
    rdma_get_cm_event(cc, &ev);
    return 1;
}
