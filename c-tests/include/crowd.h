/* One server and many clients on one non-blocking channel and in one thread. Each id's events have to come in their
 * order; the order among ids is free, and so is not printed. */
#ifndef CROWD_TEST_H
#define CROWD_TEST_H
#include "events.h"

enum { KINDS = 16, CROWD_MAX = 32 };

struct crowd {
    struct rdma_event_channel *ch;
    struct rdma_cm_id *listener;
    struct rdma_conn_param param;
    struct ibv_cq *cq; /* one for all: what is tested is not queue pairs */
    struct rdma_cm_id *ids[CROWD_MAX]; /* the clients */
    int clients, up, gone, wrong, seen[KINDS];
};

struct crowd_peer {
    const enum rdma_cm_event_type *next; /* what has to come */
};

static const enum rdma_cm_event_type client_way[] = {RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ROUTE_RESOLVED,
    RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_TIMEWAIT_EXIT};
static const enum rdma_cm_event_type server_way[] = {RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED,
    RDMA_CM_EVENT_TIMEWAIT_EXIT};

HELPER struct crowd_peer *crowd_peer(const enum rdma_cm_event_type *way)
{
    struct crowd_peer *peer = malloc(sizeof *peer);
    MUST(peer);
    peer->next = way;
    return peer;
}

HELPER struct crowd crowd_start(int clients)
{
    struct crowd c = {.ch = new_channel(1), .clients = clients,
        .param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7}};
    c.listener = cm_listen(c.ch, clients + 8);
    MUST(clients <= CROWD_MAX);
    for (int i = 0; i < clients; i++) c.ids[i] = resolving(c.ch, (long)crowd_peer(client_way));
    return c;
}

HELPER void crowd_qp(struct crowd *c, struct rdma_cm_id *id)
{
    if (!c->cq) MUST((c->cq = ibv_create_cq(id->verbs, 256, NULL, NULL, 0)));
    struct ibv_qp_init_attr attr = {.send_cq = c->cq, .recv_cq = c->cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    MUST(!rdma_create_qp(id, NULL, &attr));
}

HELPER void crowd_step(struct crowd *c, struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
    struct crowd_peer *peer = id->context;
    int server = id->route.addr.src_sin.sin_port == htons(lab_port());
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        id->context = crowd_peer(server_way);
        crowd_qp(c, id);
        MUST(!rdma_accept(id, &c->param));
        return;
    }
    if (*peer->next++ != type) c->wrong++;
    if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
        MUST(!rdma_resolve_route(id, SOON));
    } else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
        crowd_qp(c, id);
        MUST(!rdma_connect(id, &c->param));
    } else if (type == RDMA_CM_EVENT_ESTABLISHED) {
        c->up++;
        /* Not sooner: a disconnect may overtake what tells the server that its connection stands. */
        for (int i = 0; c->up == 2 * c->clients && i < c->clients; i++) MUST(!rdma_disconnect(c->ids[i]));
    } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
        if (server) rdma_disconnect(id);
        free(peer);
        cm_drop_id(id);
        c->gone++;
    }
}

/* Take one event and act on it; 0 when there is none now. */
HELPER int crowd_take(struct crowd *c)
{
    struct rdma_cm_event *ev;
    errno = 0;
    if (rdma_get_cm_event(c->ch, &ev)) {
        if (errno != EAGAIN) say("rdma_get_cm_event errno %s", errno_name(errno));
        return 0;
    }
    struct rdma_cm_id *id = ev->id;
    enum rdma_cm_event_type type = ev->event;
    if (ev->status) say("%s %d", rdma_event_str(type), ev->status);
    rdma_ack_cm_event(ev);
    c->seen[type]++;
    crowd_step(c, id, type);
    return 1;
}

HELPER int crowd_done(const struct crowd *c)
{
    return c->gone == 2 * c->clients;
}

HELPER void crowd_end(struct crowd *c)
{
    for (int type = 0; type < KINDS; type++)
        if (c->seen[type]) say("%s %d times", rdma_event_str(type), c->seen[type]);
    say("out of order: %d, more to read: %d", c->wrong, readable(c->ch->fd));
    rdma_destroy_id(c->listener);
    MUST(!ibv_destroy_cq(c->cq));
    rdma_destroy_event_channel(c->ch);
}
#endif
