/* Connection churn: connect, disconnect and destroy, again and again, over one event channel.
 * usage: churn server ADDR PORT CYCLES             ends by itself after CYCLES connections
 *        churn client ADDR PORT CYCLES [TAKE GIVE] in turn with another client: each cycle waits for a byte of the fifo
 *                                                  TAKE, and puts one into GIVE; prints the microseconds of every cycle */
#include <arpa/inet.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RESOLVE_MS = 5000 };

static struct rdma_event_channel *channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* PD and CQ are made once: what is measured is the connection. */
static int make_qp(struct rdma_cm_id *id)
{
    if (!pd) {
        pd = ibv_alloc_pd(id->verbs);
        cq = pd ? ibv_create_cq(id->verbs, 64, NULL, NULL, 0) : NULL;
        if (!cq) die("ibv_create_cq");
    }
    struct ibv_qp_init_attr attr = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
    };
    return rdma_create_qp(id, pd, &attr);
}

static struct rdma_conn_param parameters(void)
{
    return (struct rdma_conn_param){.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
}

static struct rdma_cm_event *next_event(void)
{
    struct rdma_cm_event *event;
    if (rdma_get_cm_event(channel, &event)) die("rdma_get_cm_event");
    return event;
}

static void expect_event(enum rdma_cm_event_type wanted)
{
    struct rdma_cm_event *event;
    for (;;) {
        event = next_event();
        if (event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) break;
        rdma_ack_cm_event(event);
    }
    if (event->event != wanted) {
        fprintf(stderr, "expected %s, got %s status %d\n", rdma_event_str(wanted), rdma_event_str(event->event), event->status);
        exit(1);
    }
    rdma_ack_cm_event(event);
}

static void drop(struct rdma_cm_id *id)
{
    if (id->qp) rdma_destroy_qp(id);
    rdma_destroy_id(id);
}

/* A client that was killed in the middle is gone before its answer: that ends this connection, not the server. */
static void answer(struct rdma_cm_id *id)
{
    struct rdma_conn_param p = parameters();
    if (!make_qp(id) && !rdma_accept(id, &p)) return;
    perror("a request that could not be answered");
    drop(id);
}

static void serve(struct sockaddr_in *sa, int cycles)
{
    struct rdma_cm_id *listener;
    if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP)) die("rdma_create_id");
    if (rdma_bind_addr(listener, (struct sockaddr *)sa)) die("rdma_bind_addr");
    if (rdma_listen(listener, 128)) die("rdma_listen");
    while (cycles > 0) {
        struct rdma_cm_event *event = next_event();
        struct rdma_cm_id *id = event->id;
        enum rdma_cm_event_type type = event->event;
        rdma_ack_cm_event(event);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
            answer(id);
        } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
            rdma_disconnect(id);
            drop(id);
            cycles--;
        }
    }
    rdma_destroy_id(listener);
}

static void one_cycle(struct sockaddr_in *sa)
{
    struct rdma_conn_param p = parameters();
    struct rdma_cm_id *id;
    if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) die("rdma_create_id");
    if (rdma_resolve_addr(id, NULL, (struct sockaddr *)sa, RESOLVE_MS)) die("rdma_resolve_addr");
    expect_event(RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_resolve_route(id, RESOLVE_MS)) die("rdma_resolve_route");
    expect_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
    if (make_qp(id)) die("rdma_create_qp");
    if (rdma_connect(id, &p)) die("rdma_connect");
    expect_event(RDMA_CM_EVENT_ESTABLISHED);
    if (rdma_disconnect(id)) die("rdma_disconnect");
    expect_event(RDMA_CM_EVENT_DISCONNECTED);
    drop(id);
}

/* Opened both ways: neither the first byte nor the last one needs somebody at the other end. */
static int open_fifo(const char *path)
{
    int fd = open(path, O_RDWR);
    if (fd < 0) die(path);
    return fd;
}

static void in_turn(struct sockaddr_in *sa, int cycles, int take, int give)
{
    for (char token; cycles > 0; cycles--) {
        if (read(take, &token, 1) != 1) die("read");
        double begin = now_us();
        one_cycle(sa);
        printf("%.1f\n", now_us() - begin);
        if (write(give, &token, 1) != 1) die("write");
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in sa = {.sin_family = AF_INET};
    int cycles = argc == 5 || argc == 7 ? atoi(argv[4]) : 0;
    if (cycles < 1 || inet_pton(AF_INET, argv[2], &sa.sin_addr) != 1) {
        fprintf(stderr, "usage: churn server|client ADDR PORT CYCLES [TAKE GIVE]\n");
        return 2;
    }
    sa.sin_port = htons(atoi(argv[3]));
    channel = rdma_create_event_channel();
    if (!channel) die("rdma_create_event_channel");
    if (!strcmp(argv[1], "server")) serve(&sa, cycles);
    else if (argc == 7) in_turn(&sa, cycles, open_fifo(argv[5]), open_fifo(argv[6]));
    else while (cycles--) one_cycle(&sa);
    if (cq) ibv_destroy_cq(cq);
    if (pd) ibv_dealloc_pd(pd);
    rdma_destroy_event_channel(channel);
    return 0;
}
