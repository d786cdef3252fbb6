/* Objects of the extended calls, which go past every preload library, mixed with plain ones: all work, and none is
 * pinned when it is destroyed. */
#include "pool.h"

enum { ROUNDS = 6 };

static void extended(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct ibv_qp_init_attr_ex attr = {
            .send_cq = cq, .recv_cq = cq, .cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC, .pd = pd,
            .comp_mask = IBV_QP_INIT_ATTR_PD | (i % 2 ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
            .send_ops_flags = i % 2 ? IBV_QP_EX_WITH_SEND : 0,
        };
        struct ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);
        say("extended %d: %s, to INIT %d", i, qp ? "made" : errno_name(errno), qp ? to_init(qp) : -1);
        if (qp) MUST(!ibv_destroy_qp(qp));
        let_fill();
    }
}

static void plain(struct ibv_pd *pd, struct ibv_cq *cq)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct ibv_qp_init_attr attr = verbs_attr(cq);
        struct ibv_qp *qp = ibv_create_qp(pd, &attr);
        say("plain %d: to INIT %d", i, qp ? to_init(qp) : -1);
        if (qp) MUST(!ibv_destroy_qp(qp));
        let_fill();
    }
}

int main(void)
{
    struct ibv_cq_init_attr_ex wide = {.cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS};
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
    struct ibv_cq_ex *cq_ex = ibv_create_cq_ex(ctx, &wide);
    MUST(pd && cq && cq_ex);
    extended(ctx, pd, cq);
    plain(pd, cq);
    extended(ctx, pd, ibv_cq_ex_to_cq(cq_ex));
    plain(pd, ibv_cq_ex_to_cq(cq_ex));
    /* A destruction that fails does not make it one that is known. */
    struct ibv_qp_init_attr attr = verbs_attr(ibv_cq_ex_to_cq(cq_ex));
    struct ibv_qp *kept = ibv_create_qp(pd, &attr);
    TRY(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)));
    plain(pd, ibv_cq_ex_to_cq(cq_ex));
    MUST(kept && !ibv_destroy_qp(kept));
    TRY(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)));
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dealloc_pd(pd));
    say_kernel_has("all destroyed");
    TRY(ibv_close_device(ctx));
    return 0;
}
