/* The destruction of queue pair, completion queue, shared receive queue, channel and protection domain in every order,
 * each tried until it works: the same calls fail with the same errno bare and with a pool that stands on them. */
#include "orders.h"

enum { QP, CQ, SRQ, CHANNEL, PD, KINDS };
static const char *const names[KINDS] = {"qp", "cq", "srq", "channel", "pd"};

struct set {
    struct ibv_comp_channel *channel;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *qp;
};

static struct set make(struct ibv_context *ctx)
{
    struct set s;
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 8, .max_sge = 1}};
    MUST((s.channel = ibv_create_comp_channel(ctx)));
    MUST((s.pd = ibv_alloc_pd(ctx)));
    MUST((s.cq = ibv_create_cq(ctx, 16, NULL, s.channel, 0)));
    MUST((s.srq = ibv_create_srq(s.pd, &shared)));
    struct ibv_qp_init_attr attr = verbs_attr(s.cq);
    attr.srq = s.srq;
    /* The second creation of a kind starts the pool. */
    struct ibv_qp_init_attr again = attr, third = attr;
    struct ibv_qp *first = ibv_create_qp(s.pd, &again);
    MUST((s.qp = ibv_create_qp(s.pd, &attr)));
    let_pass(3);
    struct ibv_qp *last = ibv_create_qp(s.pd, &third);
    MUST(first && last && !ibv_destroy_qp(first) && !ibv_destroy_qp(last));
    return s;
}

static int destroy(void *set, int kind)
{
    struct set *s = set;
    switch (kind) {
    case QP: return ibv_destroy_qp(s->qp);
    case CQ: return ibv_destroy_cq(s->cq);
    case SRQ: return ibv_destroy_srq(s->srq);
    case CHANNEL: return ibv_destroy_comp_channel(s->channel);
    default: return ibv_dealloc_pd(s->pd);
    }
}

static void in_order(void *ctx, const int *order)
{
    struct set s = make(ctx);
    destroy_in_order(order, KINDS, names, destroy, &s);
}

int main(void)
{
    int order[KINDS] = {QP, CQ, SRQ, CHANNEL, PD};
    struct ibv_context *ctx = verbs_open();
    permute(in_order, ctx, order, 0, KINDS);
    say_kernel_has("all destroyed");
    TRY(ibv_close_device(ctx));
    return 0;
}
