/* Helpers for the tests of verbs calls. */
#ifndef VERBS_TEST_H
#define VERBS_TEST_H
#include "cm.h"

/* The lab's own device: other tests may add and remove theirs meanwhile. The list is never freed. */
HELPER struct ibv_device *verbs_device(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    MUST(list && list[0]);
    for (int i = 0; list[i]; i++)
        if (!strcmp(ibv_get_device_name(list[i]), "rxe0")) return list[i];
    return list[0];
}

HELPER struct ibv_context *verbs_open(void)
{
    struct ibv_context *ctx = ibv_open_device(verbs_device());
    MUST(ctx);
    return ctx;
}

HELPER struct ibv_qp_init_attr verbs_attr(struct ibv_cq *cq)
{
    return (struct ibv_qp_init_attr){.send_cq = cq, .recv_cq = cq, .cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC};
}

/* A completion queue that was overrun: eight flushed receives into room for one. CQ_ERR follows.
 * The queue pair is gone again, the queue is left to the caller. */
HELPER struct ibv_cq *verbs_overrun(struct ibv_context *ctx)
{
    static char buffer[64];
    struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_sge sge = {(uintptr_t)buffer, sizeof buffer, mr ? mr->lkey : 0};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    MUST(cq && pd && mr && qp);
    MUST(!ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    for (int i = 0; i < 8; i++) MUST(!ibv_post_recv(qp, &wr, &bad));
    to.qp_state = IBV_QPS_ERR;
    MUST(!ibv_modify_qp(qp, &to, IBV_QP_STATE));
    let_pass(200);
    MUST(!ibv_destroy_qp(qp));
    return cq;
}

#endif
