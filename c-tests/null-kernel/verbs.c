/* One device, whose objects are memory. What librdmacm and cmshim ask of it, and no data path. */
#include "null.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#undef ibv_query_port
#undef ibv_reg_mr

static struct ibv_device device = {
    .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "null0", .dev_name = "uverbs0"};
static atomic_uint next_number = 17;

static int notify(struct ibv_cq *cq, int solicited) { (void)cq; (void)solicited; return 0; }
static int no_completion(struct ibv_cq *cq, int most, struct ibv_wc *to) { (void)cq; (void)most; (void)to; return 0; }
static int no_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad) { (void)qp; *bad = wr; return ENOSYS; }
static int no_receive(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) { (void)qp; *bad = wr; return ENOSYS; }

static void *made(size_t size) { return calloc(1, size); }

/* The same for an object that is counted. */
static void *counted(size_t size, enum object kind)
{
    void *object = made(size);
    if (object) holds(kind, 1);
    return object;
}

static int ended(void *object, enum object kind)
{
    holds(kind, -1);
    free(object);
    return 0;
}

struct ibv_device **ibv_get_device_list(int *count)
{
    struct ibv_device **list = calloc(2, sizeof *list);
    if (list) list[0] = &device;
    if (count) *count = 1;
    return list;
}

void ibv_free_device_list(struct ibv_device **list) { free(list); }
const char *ibv_get_device_name(struct ibv_device *d) { return d->name; }
__be64 ibv_get_device_guid(struct ibv_device *d) { (void)d; return htobe64(NULL_GUID); }
int ibv_get_device_index(struct ibv_device *d) { (void)d; return 0; }

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
    struct ibv_context *c = made(sizeof *c);
    if (!c) return NULL;
    c->device = d;
    c->ops.req_notify_cq = notify;
    c->ops.poll_cq = no_completion;
    c->ops.post_send = no_send;
    c->ops.post_recv = no_receive;
    c->cmd_fd = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
    c->async_fd = eventfd(0, EFD_CLOEXEC);
    return c;
}

int ibv_close_device(struct ibv_context *c)
{
    syscall(SYS_close, c->cmd_fd);
    syscall(SYS_close, c->async_fd);
    free(c);
    return 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
    (void)c;
    *a = (struct ibv_device_attr){.phys_port_cnt = 1, .max_qp_wr = 1 << 14, .max_qp = 1 << 16, .max_cq = 1 << 16, .max_sge = 16,
        .max_qp_init_rd_atom = 16, .max_qp_rd_atom = 16, .max_cqe = 1 << 16, .max_pd = 1 << 16, .max_mr = 1 << 16};
    return 0;
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a)
{
    (void)c;
    (void)port;
    ((struct ibv_port_attr *)a)->link_layer = IBV_LINK_LAYER_ETHERNET;
    return 0;
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
    (void)c;
    (void)port;
    memset(gid, index, sizeof *gid);
    return 0;
}

int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
    (void)c;
    (void)port;
    *pkey = index ? 0 : htobe16(0xffff);
    return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    struct ibv_pd *pd = counted(sizeof *pd, PDS);
    if (pd) pd->context = c;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd) { return ended(pd, PDS); }

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
    struct ibv_comp_channel *channel = made(sizeof *channel);
    if (!channel) return NULL;
    channel->context = c;
    channel->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); /* nobody else has one: files.c knows it by its name */
    if (channel->fd >= 0) return channel;
    free(channel);
    return NULL;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    syscall(SYS_close, channel->fd);
    free(channel);
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int entries, void *with, struct ibv_comp_channel *channel, int vector)
{
    (void)vector;
    struct ibv_cq *cq = counted(sizeof *cq, CQS);
    if (cq) *cq = (struct ibv_cq){.context = c, .cqe = entries, .cq_context = with, .channel = channel};
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq) { return ended(cq, CQS); }

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
    struct ibv_qp *qp = counted(sizeof *qp, QPS);
    if (!qp) return NULL;
    *qp = (struct ibv_qp){.context = pd->context, .pd = pd, .send_cq = a->send_cq, .recv_cq = a->recv_cq, .srq = a->srq,
        .qp_context = a->qp_context, .qp_type = a->qp_type, .qp_num = next_number++};
    return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp) { return ended(qp, QPS); }

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
    if (mask & IBV_QP_STATE) qp->state = a->qp_state;
    return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask, struct ibv_qp_init_attr *init)
{
    (void)mask;
    *a = (struct ibv_qp_attr){.qp_state = qp->state};
    *init = (struct ibv_qp_init_attr){.send_cq = qp->send_cq, .recv_cq = qp->recv_cq, .qp_type = qp->qp_type};
    return 0;
}

static struct ibv_mr *registered(struct ibv_pd *pd, void *address, size_t length)
{
    struct ibv_mr *mr = counted(sizeof *mr, MRS);
    if (mr) *mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = length};
    return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    (void)access;
    return registered(pd, address, length);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned access)
{
    (void)iova;
    (void)access;
    return registered(pd, address, length);
}

int ibv_dereg_mr(struct ibv_mr *mr) { return ended(mr, MRS); }

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece) { (void)qp; (void)ece; return EOPNOTSUPP; }
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece) { (void)qp; (void)ece; return EOPNOTSUPP; }
