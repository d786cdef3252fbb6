/* The commands, as ucma.c, cma.c and cm.c answer them. */
#include "null.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma_abi.h>

const int null_kernel = 1; /* programs look for this name */
enum { CONSUMER_DEFINED = 28, NO_SUCH_SERVICE = 8 };

static int valid(const struct channel *file, uint32_t handle)
{
    if (handle >= IDS || !world->ids[handle].used) return -ENOENT;
    return world->ids[handle].file == file ? 0 : -EINVAL;
}

static int new_id(struct channel *file, uint64_t uid)
{
    for (int i = 0; i < IDS; i++)
        if (!world->ids[i].used) {
            world->ids[i] = (struct id){.used = 1, .file = file, .uid = uid, .peer = NOBODY};
            return i;
        }
    return -ENOMEM;
}

static uint16_t port_of(const struct sockaddr_storage *a) { return ((const struct sockaddr_in *)a)->sin_port; }
static uint32_t host_of(const struct sockaddr_storage *a) { return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr); }
static int is_local(uint32_t host) { return host == 0 || host >> 24 == 127 || (host >> 8 == 0x0a4d00 && (host & 255) != 99); }

static int taken(uint16_t port, int but)
{
    for (int i = 0; i < IDS; i++)
        if (i != but && world->ids[i].used && concerns_us(world->ids[i].file) && world->ids[i].state != IDLE && port_of(&world->ids[i].src) == port &&
            world->ids[i].dst.ss_family == 0)
            return 1;
    return 0;
}

static int bind_to(int handle, const struct sockaddr_storage *to)
{
    struct id *id = &world->ids[handle];
    if (id->state != IDLE) return -EINVAL;
    if (to->ss_family == AF_IB) return 0; /* how librdmacm asks whether it may use the newer commands */
    if (to->ss_family != AF_INET) return -EAFNOSUPPORT;
    if (!is_local(host_of(to))) return -EADDRNOTAVAIL;
    if (port_of(to) && taken(port_of(to), handle)) return -EADDRINUSE;
    id->src = *to;
    if (!port_of(to)) ((struct sockaddr_in *)&id->src)->sin_port = htons(world->next_port++);
    id->state = BOUND;
    return 0;
}

static int resolve_addr(int handle, const struct sockaddr_storage *src, const struct sockaddr_storage *dst)
{
    struct id *id = &world->ids[handle];
    if (id->state != IDLE && id->state != BOUND) return -EINVAL;
    if (dst->ss_family != AF_INET) return -EAFNOSUPPORT;
    if (!is_local(host_of(dst))) return -ENETUNREACH;
    if (id->state == IDLE) {
        struct sockaddr_storage any = {.ss_family = AF_INET};
        int failed = bind_to(handle, src->ss_family ? src : &any);
        if (failed) return failed;
    }
    id->dst = *dst;
    if (!host_of(&id->src)) ((struct sockaddr_in *)&id->src)->sin_addr.s_addr = htonl(0x0a4d0001);
    id->state = ADDRESS;
    return post(handle, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, NOBODY);
}

static int resolve_route(int handle)
{
    if (world->ids[handle].state != ADDRESS) return -EINVAL;
    world->ids[handle].state = ROUTE;
    return post(handle, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, NOBODY);
}

static int listener_at(uint16_t port)
{
    for (int i = 0; i < IDS; i++)
        if (world->ids[i].used && world->ids[i].state == LISTENS && concerns_us(world->ids[i].file) && port_of(&world->ids[i].src) == port) return i;
    return NOBODY;
}

static int connect_to(int handle, struct ucma_abi_conn_param conn)
{
    struct id *id = &world->ids[handle];
    if (id->state != ROUTE) return -EINVAL;
    if (conn.private_data_len > 56) return -EINVAL;
    conn.private_data_len = 56;
    int listener = listener_at(port_of(&id->dst));
    id->state = ASKED;
    if (listener == NOBODY) {
        id->state = GONE;
        return post(handle, RDMA_CM_EVENT_REJECTED, NO_SUCH_SERVICE, NULL, NOBODY);
    }
    if (!world->ids[listener].backlog) return 0; /* dropped: the kernel would ask again, and the peer never hears of it here */
    world->ids[listener].backlog--;
    return post(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &conn, handle);
}

/* Of the server's side, with a request; and of the client's, when it has seen the answer. */
static int accept_it(int handle, uint64_t uid, const struct ucma_abi_conn_param *conn)
{
    struct id *id = &world->ids[handle];
    int peer = id->peer;
    if (id->state == REQUESTED && peer != NOBODY) {
        id->uid = uid;
        id->state = ANSWERED;
        struct ucma_abi_conn_param answer = *conn;
        answer.private_data_len = 196;
        return post(peer, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, &answer, NOBODY);
    }
    if (id->state != ASKED || peer == NOBODY || world->ids[peer].state != ANSWERED) return -EINVAL;
    id->state = world->ids[peer].state = CONNECTED;
    return post(peer, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, NOBODY);
}

static void refuse(int client, const void *data, uint8_t length)
{
    struct ucma_abi_conn_param why = {.private_data_len = 148};
    memcpy(why.private_data, data, length);
    world->ids[client].state = GONE;
    world->ids[client].peer = NOBODY;
    post(client, RDMA_CM_EVENT_REJECTED, CONSUMER_DEFINED, &why, NOBODY);
}

static int reject(int handle, const void *data, uint8_t length)
{
    struct id *id = &world->ids[handle];
    if (id->state != REQUESTED || id->peer == NOBODY) return -EINVAL;
    refuse(id->peer, data, length);
    id->state = GONE;
    id->peer = NOBODY;
    return 0;
}

/* Asks the peer for the end, or answers a peer that has asked. */
static void leave(int handle)
{
    struct id *id = &world->ids[handle];
    struct id *peer = id->peer == NOBODY ? NULL : &world->ids[id->peer];
    if (peer && peer->leaving) {
        peer->leaving = 0;
        peer->state = DISCONNECTED;
        post(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, NOBODY);
    } else if (peer && id->state == CONNECTED && !id->leaving) {
        id->leaving = 1;
        peer->state = DISCONNECTED;
        post(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, NOBODY);
    }
}

static int disconnect(int handle)
{
    if (world->ids[handle].state != CONNECTED && world->ids[handle].state != DISCONNECTED) return -EINVAL;
    leave(handle);
    return 0;
}

static void refuse_waiting(int listener)
{
    struct channel *file = world->ids[listener].file;
    for (int i = 0; i < file->count; i++)
        if (file->queue[i].owner == listener && file->queue[i].client != NOBODY) refuse(file->queue[i].client, "", 0);
}

static uint32_t destroy(int handle)
{
    struct id *id = &world->ids[handle];
    int peer = id->peer;
    if (id->state == LISTENS) refuse_waiting(handle);
    if (id->state == REQUESTED && peer != NOBODY) refuse(peer, "", 0);
    if (id->state == CONNECTED || id->state == DISCONNECTED) leave(handle);
    if (id->state == ASKED && peer != NOBODY && world->ids[peer].state == ANSWERED) {
        world->ids[peer].state = GONE;
        post(peer, RDMA_CM_EVENT_REJECTED, CONSUMER_DEFINED, NULL, NOBODY);
    }
    if (id->state == ANSWERED && peer != NOBODY && world->ids[peer].state == ASKED) refuse(peer, "", 0);
    gone_client(handle);
    if (peer != NOBODY) world->ids[peer].peer = NOBODY;
    discard(id->file, handle);
    id->used = 0;
    return id->reported;
}

void release(struct channel *file)
{
    for (int i = 0; i < IDS; i++)
        if (world->ids[i].used && world->ids[i].file == file && world->ids[i].state == LISTENS) refuse_waiting(i);
    for (int i = 0; i < IDS; i++)
        if (world->ids[i].used && world->ids[i].file == file) {
            file->count = 0; /* its descriptor is gone */
            destroy(i);
        }
}

static int migrate(struct channel *to, const struct ucma_abi_migrate_id *c)
{
    struct channel *from = channel_of(c->fd);
    if (!from) return -ENOENT;
    int failed = valid(from, c->id);
    if (failed) return failed;
    world->ids[c->id].file = to;
    move(from, to, c->id); /* to its own channel, too: behind what waits there (kernel 5.10 and later) */
    ((struct ucma_abi_migrate_resp *)(uintptr_t)c->response)->events_reported = world->ids[c->id].reported;
    return 0;
}

static int query(const struct ucma_abi_query *c)
{
    const struct id *id = &world->ids[c->id];
    memset((void *)(uintptr_t)c->response, 0, c->out);
    if (c->option == UCMA_QUERY_PATH) {
        ((struct ucma_abi_query_path_resp *)(uintptr_t)c->response)->num_paths = 0;
    } else if (c->option == UCMA_QUERY_ADDR) {
        struct ucma_abi_query_addr_resp *r = (void *)(uintptr_t)c->response;
        r->node_guid = id->state == IDLE || !host_of(&id->src) ? 0 : htobe64(NULL_GUID);
        r->port_num = 1;
        r->pkey = htobe16(0xffff);
        r->src_size = r->dst_size = sizeof(struct sockaddr_in);
        r->src_addr = id->src;
        r->dst_addr = id->dst;
    }
    return 0;
}

static int init_qp_attr(const struct ucma_abi_init_qp_attr *c)
{
    struct ib_uverbs_qp_attr *r = (void *)(uintptr_t)c->response;
    if (world->ids[c->id].state == IDLE) return -EINVAL;
    memset(r, 0, sizeof *r);
    r->qp_state = c->qp_state;
    r->port_num = 1;
    r->qp_attr_mask = IBV_QP_STATE;
    if (c->qp_state == IBV_QPS_INIT) r->qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    else if (c->qp_state == IBV_QPS_RTR) r->qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    else r->qp_attr_mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return 0;
}

static int listen_at(int handle, int backlog)
{
    struct id *id = &world->ids[handle];
    if (id->state != BOUND && id->state != IDLE) return -EINVAL;
    if (id->state == IDLE) {
        struct sockaddr_storage any = {.ss_family = AF_INET};
        bind_to(handle, &any);
    }
    id->state = LISTENS;
    id->backlog = backlog > 0 && backlog < 1024 ? backlog : 1024;
    return 0;
}

/* A connect request gets its id when it is read. */
int deliver(struct channel *file, const struct event *event, const struct ucma_abi_get_event *to)
{
    struct ucma_abi_event_resp answer = {.uid = event->uid, .id = event->owner, .event = event->kind, .status = event->status};
    answer.param.conn = event->conn;
    if (event->kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
        int made = new_id(file, 0);
        if (made < 0) return made;
        world->ids[event->owner].backlog++;
        world->ids[made].state = REQUESTED;
        world->ids[made].peer = event->client;
        world->ids[made].src = world->ids[event->owner].src;
        world->ids[made].dst = event->from;
        if (event->client != NOBODY) world->ids[event->client].peer = made;
        answer.id = made;
    }
    memcpy((void *)(uintptr_t)to->response, &answer, to->out < sizeof answer ? to->out : sizeof answer);
    return 0;
}

#define AS(type) const struct type *c = buf; int failed = valid(file, c->id); if (failed) return failed

static int do_destroy(struct channel *file, const void *buf)
{
    AS(ucma_abi_destroy_id);
    ((struct ucma_abi_destroy_id_resp *)(uintptr_t)c->response)->events_reported = destroy(c->id);
    return 0;
}

static int do_create(struct channel *file, const void *buf)
{
    const struct ucma_abi_create_id *c = buf;
    int made = new_id(file, c->uid);
    if (made < 0) return made;
    ((struct ucma_abi_create_id_resp *)(uintptr_t)c->response)->id = made;
    return 0;
}

static int do_bind(struct channel *file, const void *buf) { AS(ucma_abi_bind); return bind_to(c->id, &c->addr); }
static int do_resolve(struct channel *file, const void *buf) { AS(ucma_abi_resolve_addr); return resolve_addr(c->id, &c->src_addr, &c->dst_addr); }
static int do_route(struct channel *file, const void *buf) { AS(ucma_abi_resolve_route); return resolve_route(c->id); }
static int do_connect(struct channel *file, const void *buf) { AS(ucma_abi_connect); return connect_to(c->id, c->conn_param); }
static int do_listen(struct channel *file, const void *buf) { AS(ucma_abi_listen); return listen_at(c->id, c->backlog); }
static int do_accept(struct channel *file, const void *buf) { AS(ucma_abi_accept); return accept_it(c->id, c->uid, &c->conn_param); }
static int do_reject(struct channel *file, const void *buf) { AS(ucma_abi_reject); return reject(c->id, c->private_data, c->private_data_len); }
static int do_disconnect(struct channel *file, const void *buf) { AS(ucma_abi_disconnect); return disconnect(c->id); }
static int do_attr(struct channel *file, const void *buf) { AS(ucma_abi_init_qp_attr); return init_qp_attr(c); }
static int do_query(struct channel *file, const void *buf) { AS(ucma_abi_query); return query(c); }
static int do_option(struct channel *file, const void *buf) { AS(ucma_abi_set_option); return 0; }
static int do_notify(struct channel *file, const void *buf) { AS(ucma_abi_notify); return 0; }
static int do_migrate(struct channel *file, const void *buf) { return migrate(file, buf); }

int command(struct channel *file, const void *buf, size_t size)
{
    static int (*const table[])(struct channel *, const void *) = {
        [UCMA_CMD_CREATE_ID] = do_create, [UCMA_CMD_DESTROY_ID] = do_destroy,
        [UCMA_CMD_RESOLVE_ROUTE] = do_route, [UCMA_CMD_CONNECT] = do_connect,
        [UCMA_CMD_LISTEN] = do_listen, [UCMA_CMD_ACCEPT] = do_accept, [UCMA_CMD_REJECT] = do_reject,
        [UCMA_CMD_DISCONNECT] = do_disconnect, [UCMA_CMD_INIT_QP_ATTR] = do_attr, [UCMA_CMD_SET_OPTION] = do_option,
        [UCMA_CMD_NOTIFY] = do_notify, [UCMA_CMD_MIGRATE_ID] = do_migrate, [UCMA_CMD_QUERY] = do_query, [UCMA_CMD_BIND] = do_bind,
        [UCMA_CMD_RESOLVE_ADDR] = do_resolve,
    };
    const struct ucma_abi_cmd_hdr *header = buf;
    if (size < sizeof *header + header->in || header->cmd >= sizeof table / sizeof *table || !table[header->cmd]) return -ENOSYS;
    return table[header->cmd](file, buf);
}
