/* Connections that claim a queue pair number of the program's own choice (no QP on the id), so that the
 * peer's kernel may believe the number to be in use.
 * usage: stale ADDR PORT busy|after     busy: while the first stands; after: once it was disconnected */
#include "cm.h"

static struct rdma_event_channel *ch;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
                                       .rnr_retry_count = 7};

static struct rdma_cm_id *start(struct sockaddr_in *sa)
{
    struct rdma_cm_id *id;
    MUST(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)sa, SOON) == 0);
    cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
    MUST(rdma_resolve_route(id, SOON) == 0);
    cm_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
    MUST(rdma_connect(id, &param) == 0);
    return id;
}

/* The next event of one id; what the other ids get meanwhile is printed apart, since its order is not fixed. */
static int answer(struct rdma_cm_id *id)
{
    for (;;) {
        struct rdma_cm_event *ev;
        MUST(rdma_get_cm_event(ch, &ev) == 0);
        int type = ev->event, status = ev->status, mine = ev->id == id;
        rdma_ack_cm_event(ev);
        if (!mine) continue;
        say("client: %s %d", rdma_event_str(type), status);
        return type;
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    struct sockaddr_in sa = cm_addr(argv[1], atoi(argv[2]));
    int busy = !strcmp(argv[3], "busy");
    param.qp_num = 0x4000 + atoi(argv[2]); /* two of these programs may run at once */
    ch = rdma_create_event_channel();
    struct rdma_cm_id *first = start(&sa);
    if (answer(first) == RDMA_CM_EVENT_CONNECT_RESPONSE) TRY(rdma_establish(first));
    let_pass(100); /* the server's kernel has the RTU */
    if (!busy) {
        TRY(rdma_disconnect(first));
        answer(first);
    }
    struct rdma_cm_id *second = start(&sa);
    if (answer(second) == RDMA_CM_EVENT_CONNECT_RESPONSE) {
        TRY(rdma_establish(second));
        let_pass(100);
        TRY(rdma_disconnect(second));
        answer(second);
    }
    rdma_destroy_id(second);
    rdma_destroy_id(first);
    rdma_destroy_event_channel(ch);
    return 0;
}
