/* The destruction of an id, its queue pair, completion queue, channel and protection domain in every order. The queue pair
 * goes through rdma_destroy_qp while the id is there. */
#include "orders.h"

enum { ID, QP, CQ, CHANNEL, PD, KINDS };
static const char *const names[KINDS] = {"id", "qp", "cq", "channel", "pd"};

struct set {
    struct rdma_cm_id *id;
    struct ibv_comp_channel *channel;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
};

/* The second queue pair of a kind starts the pool. */
static void warm_up(struct set *s)
{
    struct ibv_qp *some[2];
    for (int i = 0; i < 2; i++) {
        struct ibv_qp_init_attr attr = verbs_attr(s->cq);
        MUST((some[i] = ibv_create_qp(s->pd, &attr)));
    }
    let_pass(3);
    MUST(!ibv_destroy_qp(some[0]) && !ibv_destroy_qp(some[1]));
}

static struct set make(struct rdma_event_channel *events)
{
    struct set s;
    struct sockaddr_in sa = cm_addr(lab_addr(), 0);
    MUST(!rdma_create_id(events, &s.id, NULL, RDMA_PS_TCP));
    MUST(!rdma_bind_addr(s.id, (struct sockaddr *)&sa));
    MUST((s.channel = ibv_create_comp_channel(s.id->verbs)));
    MUST((s.pd = ibv_alloc_pd(s.id->verbs)));
    MUST((s.cq = ibv_create_cq(s.id->verbs, 16, NULL, s.channel, 0)));
    warm_up(&s);
    struct ibv_qp_init_attr attr = verbs_attr(s.cq);
    MUST(!rdma_create_qp(s.id, s.pd, &attr));
    s.qp = s.id->qp;
    return s;
}

static int destroy(void *set, int kind)
{
    struct set *s = set;
    int rc = 0;
    switch (kind) {
    case ID:
        rc = rdma_destroy_id(s->id) ? errno : 0;
        if (!rc) s->id = NULL;
        return rc;
    case QP:
        if (!s->id) return ibv_destroy_qp(s->qp);
        rdma_destroy_qp(s->id);
        return 0;
    case CQ: return ibv_destroy_cq(s->cq);
    case CHANNEL: return ibv_destroy_comp_channel(s->channel);
    default: return ibv_dealloc_pd(s->pd);
    }
}

static void in_order(void *events, const int *order)
{
    struct set s = make(events);
    destroy_in_order(order, KINDS, names, destroy, &s);
}

int main(void)
{
    int order[KINDS] = {ID, QP, CQ, CHANNEL, PD};
    struct rdma_event_channel *events = rdma_create_event_channel();
    MUST(events);
    permute(in_order, events, order, 0, KINDS);
    rdma_destroy_event_channel(events);
    return 0;
}
