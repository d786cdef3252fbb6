/* Two kinds that differ in one thing alone, created in turn, so that ready ones of both lie there: each creation gets its own. */
#include "pool.h"

enum { TURNS = 4 };

struct kind {
    struct ibv_pd *pd;
    struct ibv_qp_init_attr attr;
};

static const char *type_name(enum ibv_qp_type type)
{
    return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "other";
}

/* Is all of it as this kind has it? (What `describe` tells of sizes and sq_sig_all comes from the device.) */
static void one(const char *what, struct kind *kind, int turn)
{
    struct ibv_qp_init_attr given = kind->attr;
    given.qp_context = kind;
    struct ibv_qp_init_attr asked = given;
    struct ibv_qp *qp = ibv_create_qp(kind->pd, &given);
    MUST(qp);
    describe(what, qp, &given, &asked);
    say("%s %d: type %s, own pd %d, send cq %d, recv cq %d, srq %d", what, turn, type_name(qp->qp_type), qp->pd == kind->pd,
        qp->send_cq == asked.send_cq, qp->recv_cq == asked.recv_cq, qp->srq == asked.srq);
    MUST(!ibv_destroy_qp(qp));
}

static void in_turn(const char *what, struct kind first, struct kind second)
{
    for (int turn = 0; turn < TURNS; turn++) {
        one(what, &first, turn);
        one(what, &second, turn);
        let_fill();
    }
}

int main(void)
{
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 16, .max_sge = 1}};
    struct ibv_context *ctx = verbs_open();
    struct ibv_pd *pds[] = {ibv_alloc_pd(ctx), ibv_alloc_pd(ctx)};
    struct ibv_cq *cqs[] = {ibv_create_cq(ctx, 64, NULL, NULL, 0), ibv_create_cq(ctx, 64, NULL, NULL, 0)};
    struct ibv_srq *srqs[] = {ibv_create_srq(pds[0], &shared), ibv_create_srq(pds[0], &shared)};
    MUST(pds[0] && pds[1] && cqs[0] && cqs[1] && srqs[0] && srqs[1]);
    const struct kind plain = {pds[0], verbs_attr(cqs[0])};
    struct kind with = plain, other = plain;

    with.attr.srq = srqs[0];
    in_turn("srq or none", plain, with);
    other.attr.srq = srqs[1];
    in_turn("srq", with, other);
#define DIFFER(what, member, value) (other = plain, other.member = (value), in_turn(what, plain, other))
    DIFFER("recv cq", attr.recv_cq, cqs[1]);
    DIFFER("send cq", attr.send_cq, cqs[1]);
    DIFFER("type", attr.qp_type, IBV_QPT_UC);
    DIFFER("pd", pd, pds[1]);
    DIFFER("sq_sig_all", attr.sq_sig_all, 1);
    DIFFER("max_send_wr", attr.cap.max_send_wr, 40);
    DIFFER("max_recv_wr", attr.cap.max_recv_wr, 40);
    DIFFER("max_send_sge", attr.cap.max_send_sge, 3);
    DIFFER("max_recv_sge", attr.cap.max_recv_sge, 3);
    DIFFER("max_inline_data", attr.cap.max_inline_data, 100);

    for (int i = 0; i < 2; i++) {
        TRY(ibv_destroy_srq(srqs[i]));
        TRY(ibv_destroy_cq(cqs[i]));
    }
    for (int i = 0; i < 2; i++) TRY(ibv_dealloc_pd(pds[i]));
    say_kernel_has("all destroyed");
    TRY(ibv_close_device(ctx));
    return 0;
}
