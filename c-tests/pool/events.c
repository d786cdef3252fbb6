/* Asynchronous events of a completion queue while the pool's queue pairs stand on it: the same events come, they name the
 * same object, and nothing is busy afterwards. */
#include "pool.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static char buffer[64];

static void show_events(void)
{
    struct ibv_async_event event;
    struct pollfd ready = {.fd = ctx->async_fd, .events = POLLIN};
    while (poll(&ready, 1, 300) == 1) {
        MUST(!ibv_get_async_event(ctx, &event));
        say("event: %s, own %d", ibv_event_type_str(event.event_type), event.element.cq == cq);
        ibv_ack_async_event(&event);
    }
}

/* More flushed receives than the completion queue holds. */
static void overrun(struct ibv_qp *qp)
{
    struct ibv_sge sge = {(uintptr_t)buffer, sizeof buffer, mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};
    for (int i = 0; i < 8; i++) MUST(!ibv_post_recv(qp, &wr, &bad));
    MUST(!ibv_modify_qp(qp, &to, IBV_QP_STATE));
}

int main(void)
{
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 16, .max_sge = 1}};
    struct ibv_qp *qps[6];
    ctx = verbs_open();
    pd = ibv_alloc_pd(ctx);
    mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
    cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
    struct ibv_srq *srq = ibv_create_srq(pd, &shared);
    MUST(mr && cq && srq);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 6; i++) {
            struct ibv_qp_init_attr attr = verbs_attr(cq);
            if (i >= 3) attr.srq = srq;
            MUST((qps[i] = ibv_create_qp(pd, &attr)) && !to_init(qps[i]));
            let_fill();
        }
        overrun(qps[0]);
        show_events();
        for (int i = 0; i < 6; i++) MUST(!ibv_destroy_qp(qps[i]));
    }
    TRY(ibv_destroy_srq(srq));
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_dereg_mr(mr));
    TRY(ibv_dealloc_pd(pd));
    TRY(ibv_close_device(ctx));
    return 0;
}
