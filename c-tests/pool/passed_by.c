/* Creations that the pool has no say in, each kind so many times: all work as bare, and each is counted under its own reason.
 * usage: passed_by extended|type|plain|allocators */
#include "pool.h"
#include <infiniband/mlx5dv.h>

static struct rdma_event_channel *channel;

/* An id has one queue pair at a time. */
static void gone(struct rdma_cm_id *id)
{
    rdma_destroy_qp(id);
    let_fill();
}

/* Attributes beyond the plain ones: with completion queues of librdmacm's own, and with one of the program's. */
static void extended(struct rdma_cm_id *id, struct ibv_cq *cq)
{
    for (int i = 0; i < 5; i++) {
        struct ibv_qp_init_attr_ex wide = {
            .send_cq = i < 3 ? NULL : cq, .recv_cq = i < 3 ? NULL : cq, .cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC, .pd = id->pd,
            .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = IBV_QP_EX_WITH_SEND,
        };
        int rc = rdma_create_qp_ex(id, &wide);
        say("extended %d: %d, to use by ibv_wr_start: %d", i, rc, !rc && ibv_qp_to_qp_ex(id->qp));
        MUST(!rc);
        gone(id);
    }
    /* With the protection domain alone it is a plain one. */
    for (int i = 0; i < 3; i++) {
        struct ibv_qp_init_attr_ex narrow = {
            .send_cq = cq, .recv_cq = cq, .cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC, .pd = id->pd, .comp_mask = IBV_QP_INIT_ATTR_PD,
        };
        TRY(rdma_create_qp_ex(id, &narrow));
        gone(id);
    }
}

/* UD on its own, and by librdmacm with completion queues of its making. */
static void type(struct rdma_cm_id *id, struct ibv_cq *cq)
{
    for (int i = 0; i < 4; i++) {
        struct ibv_qp_init_attr attr = verbs_attr(cq);
        attr.qp_type = IBV_QPT_UD;
        struct ibv_qp *qp = ibv_create_qp(id->pd, &attr);
        MUST(qp);
        say("UD %d: type %d, to INIT %d", i, qp->qp_type, to_init(qp));
        MUST(!ibv_destroy_qp(qp));
        let_fill();
    }
    struct rdma_cm_id *datagrams = cm_routed(channel, RDMA_PS_UDP);
    for (int i = 0; i < 2; i++) {
        struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_UD};
        TRY(rdma_create_qp(datagrams, NULL, &attr));
        gone(datagrams);
    }
    rdma_destroy_id(datagrams);
}

/* A kind that would be kept; what a creation changes of its attributes is shown. */
static void plain(struct rdma_cm_id *id, struct ibv_cq *cq)
{
    for (int i = 0; i < 6; i++) {
        struct ibv_qp_init_attr attr = verbs_attr(cq);
        struct ibv_qp *qp = ibv_create_qp(id->pd, &attr);
        MUST(qp);
        say("plain %d: sq_sig_all is %d now, to INIT %d", i, attr.sq_sig_all, to_init(qp));
        MUST(!ibv_destroy_qp(qp));
        let_fill();
    }
}

static void *never_called(size_t size, void *data)
{
    (void)size;
    (void)data;
    abort();
}

static void never_called_either(void *at, void *data)
{
    (void)at;
    (void)data;
    abort();
}

/* As `plain`, and again after functions of the program were set to allocate the device's buffers. */
static void allocators(struct rdma_cm_id *id, struct ibv_cq *cq)
{
    struct mlx5dv_ctx_allocators own = {.alloc = never_called, .free = never_called_either};
    plain(id, cq);
    say("allocators: %d", mlx5dv_set_context_attr(id->verbs, MLX5DV_CTX_ATTR_BUF_ALLOCATORS, &own));
    say_kernel_has("with allocators");
    plain(id, cq);
}

int main(int argc, char **argv)
{
    MUST(argc > 1 && (channel = rdma_create_event_channel()));
    struct rdma_cm_id *id = cm_routed(channel, RDMA_PS_TCP);
    struct ibv_cq *cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
    MUST(cq);
    if (!strcmp(argv[1], "extended")) extended(id, cq);
    else if (!strcmp(argv[1], "type")) type(id, cq);
    else if (!strcmp(argv[1], "allocators")) allocators(id, cq);
    else plain(id, cq);
    TRY(ibv_destroy_cq(cq));
    rdma_destroy_id(id);
    say_kernel_has("all destroyed");
    rdma_destroy_event_channel(channel);
    return 0;
}
