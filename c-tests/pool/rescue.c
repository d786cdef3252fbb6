/* Something is created while queue pairs lie ready; a preload beneath makes one of these creations fail.
 * usage: rescue cq|qp */
#include "pool.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void queues(void)
{
    for (int i = 0; i < 10; i++) {
        struct ibv_qp_init_attr attr = verbs_attr(cq);
        struct ibv_qp *qp = ibv_create_qp(pd, &attr);
        let_fill();
        struct ibv_cq *more = ibv_create_cq(ctx, 16, NULL, NULL, 0);
        say("cq %d: %s", i, more ? "made" : errno_name(errno));
        MUST(qp && !ibv_destroy_qp(qp));
        if (more) MUST(!ibv_destroy_cq(more));
    }
}

/* The second kind is created through librdmacm, whose own attributes go on behind those of ibv_create_qp. */
static void pairs(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr one = verbs_attr(cq), other = verbs_attr(cq);
    MUST(ibv_create_qp(pd, &one));
    let_pass(800);
    other.cap.max_send_wr = 3;
    other.qp_context = &other;
    TRY(rdma_create_qp(id, pd, &other));
    if (id->qp) describe("of the id", id->qp, &other, &(struct ibv_qp_init_attr){.send_cq = cq, .recv_cq = cq, .qp_context = &other, .qp_type = IBV_QPT_RC});
    cm_drop_id(id);
}

int main(int argc, char **argv)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id = cm_routed(channel, RDMA_PS_TCP);
    ctx = id->verbs;
    MUST((pd = ibv_alloc_pd(ctx)) && (cq = ibv_create_cq(ctx, 16, NULL, NULL, 0)));
    if (argc > 1 && !strcmp(argv[1], "qp")) pairs(id);
    else queues();
    return 0;
}
