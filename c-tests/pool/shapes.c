/* Queue pairs of one kind again and again: whatever can be seen of them is the same bare and from the pool.
 * usage: shapes KIND */
#include "pool.h"

enum { ROUNDS = 8 };

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq, *cq2;
static char buffer[4096];
static struct ibv_mr *mr;

static void set_up(void)
{
    ctx = verbs_open();
    MUST((pd = ibv_alloc_pd(ctx)));
    MUST((cq = ibv_create_cq(ctx, 64, &cq, NULL, 0)));
    MUST((cq2 = ibv_create_cq(ctx, 64, &cq2, NULL, 0)));
    MUST((mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE)));
}

static void tear_down(void)
{
    TRY(ibv_dereg_mr(mr));
    TRY(ibv_destroy_cq(cq));
    TRY(ibv_destroy_cq(cq2));
    TRY(ibv_dealloc_pd(pd));
    say_kernel_has("all destroyed");
    TRY(ibv_close_device(ctx));
}

/* Several alive at once, then gone, then again. */
static void rounds(struct ibv_qp_init_attr attr)
{
    struct ibv_qp *qps[ROUNDS];
    char what[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < ROUNDS; i++) {
            struct ibv_qp_init_attr asked = attr;
            asked.qp_context = &qps[i];
            struct ibv_qp_init_attr given = asked;
            errno = UNTOUCHED;
            qps[i] = ibv_create_qp(pd, &given);
            snprintf(what, sizeof what, "%d.%d", round, i);
            describe(what, qps[i], &given, &asked);
            if (i % 3 == 1) let_fill();
        }
        for (int i = 0; i < ROUNDS; i++)
            for (int j = 0; j < i; j++)
                if (qps[i] && qps[j] && (qps[i] == qps[j] || qps[i]->qp_num == qps[j]->qp_num)) say("given out twice");
        for (int i = 0; i < ROUNDS; i++)
            if (qps[i]) MUST(!ibv_destroy_qp(qps[i]));
        let_fill();
    }
}

static void send_one(struct ibv_qp *from, struct ibv_qp *to, int flags)
{
    struct ibv_sge out = {(uintptr_t)buffer, 16, mr->lkey}, in = {(uintptr_t)buffer + 2048, 64, mr->lkey};
    struct ibv_recv_wr recv = {.wr_id = 7, .sg_list = &in, .num_sge = 1}, *bad_recv;
    struct ibv_send_wr send = {.wr_id = 8, .sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags}, *bad;
    struct ibv_wc wc;
    if (to->srq) MUST(!ibv_post_srq_recv(to->srq, &recv, &bad_recv));
    else MUST(!ibv_post_recv(to, &recv, &bad_recv));
    MUST(!ibv_post_send(from, &send, &bad));
    int n = poll_for(cq2, &wc, 2000);
    say("received %d, id %d, status %d, own %d", n, n ? (int)wc.wr_id : 0, n ? wc.status : 0, n && wc.qp_num == to->qp_num);
    n = poll_for(cq, &wc, flags || from->send_cq != cq ? 2000 : 60);
    say("sent %d, id %d, status %d, own %d", n, n ? (int)wc.wr_id : 0, n ? wc.status : 0, n && wc.qp_num == from->qp_num);
}

/* Data goes over each, and no completion comes from elsewhere. */
static void data(struct ibv_qp_init_attr attr, int flags, int back)
{
    struct ibv_wc wc;
    for (int i = 0; i < 4; i++) {
        struct ibv_qp_init_attr one = attr, two = attr;
        struct ibv_qp *a = ibv_create_qp(pd, &one), *b = ibv_create_qp(pd, &two);
        MUST(a && b);
        join_qps(a, b);
        send_one(a, b, flags);
        say("left over: %d %d", ibv_poll_cq(cq, 1, &wc), ibv_poll_cq(cq2, 1, &wc));
        struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
        if (back) MUST(!ibv_modify_qp(a, &reset, IBV_QP_STATE) && !ibv_modify_qp(b, &reset, IBV_QP_STATE));
        MUST(!ibv_destroy_qp(a));
        MUST(!ibv_destroy_qp(b));
        let_fill();
    }
}

/* Some are created, others fail, in one run: a failure stays one. */
static void refused(struct ibv_qp_init_attr attr)
{
    rounds(attr);
    attr.cap.max_send_wr = 1 << 30;
    rounds(attr);
    attr.cap.max_send_wr = 8;
    attr.cap.max_recv_sge = 1 << 20;
    rounds(attr);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    set_up();
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    attr.recv_cq = cq2;
    if (!strcmp(kind, "shared")) {
        attr.recv_cq = cq;
        rounds(attr);
    } else if (!strcmp(kind, "two-cqs")) {
        rounds(attr);
    } else if (!strcmp(kind, "caps")) {
        unsigned sizes[][5] = {{1, 1, 1, 1, 0}, {3, 5, 2, 3, 20}, {100, 33, 4, 1, 64}, {0, 0, 0, 0, 0}, {17, 1, 1, 1, 96}};
        for (int i = 0; i < 5; i++) {
            memcpy(&attr.cap, sizes[i], sizeof sizes[i]);
            rounds(attr);
        }
    } else if (!strcmp(kind, "sig-all")) {
        for (attr.sq_sig_all = 0; attr.sq_sig_all < 2; attr.sq_sig_all++) {
            rounds(attr);
            data(attr, 0, 0);
        }
    } else if (!strcmp(kind, "back")) { /* to RESET, as if nothing had been */
        data(attr, IBV_SEND_SIGNALED, 1);
    } else if (!strcmp(kind, "data")) {
        data(attr, IBV_SEND_SIGNALED, 0);
        attr.qp_type = IBV_QPT_UC;
        data(attr, IBV_SEND_SIGNALED, 0);
    } else if (!strcmp(kind, "types")) {
        attr.qp_type = IBV_QPT_UC;
        rounds(attr);
        attr.qp_type = IBV_QPT_UD;
        rounds(attr);
        attr.qp_type = 77;
        rounds(attr);
    } else if (!strcmp(kind, "srq")) {
        struct ibv_srq_init_attr shared = {.attr = {.max_wr = 16, .max_sge = 1}};
        struct ibv_srq *srq = ibv_create_srq(pd, &shared);
        MUST(srq);
        attr.srq = srq;
        rounds(attr);
        data(attr, IBV_SEND_SIGNALED, 0);
        TRY(ibv_destroy_srq(srq));
    } else if (!strcmp(kind, "refused")) {
        refused(attr);
    } else {
        fprintf(stderr, "usage: shapes shared|two-cqs|caps|sig-all|data|back|types|srq|refused\n");
        return 2;
    }
    tear_down();
    return 0;
}
