/* How connect requests reach a server's event thread: a non-blocking channel in an epoll loop, and clients of the same
 * process in another thread.
 * usage: events burst|single ADDR PORT CONNECTS
 *   burst: all connect at once; single: one after the other
 * Prints the line: wall switches p50 p99 calls fetches
 *   wall      us from the first connect to the last established connection
 *   switches  voluntary context switches of the server's thread, for each connection
 *   p50 p99   us from the client's rdma_connect to the server's having its request (in a burst most of it is waiting in
 *             line)
 *   calls     system calls of the server's thread, for each connection, and
 *   fetches   those of them, and of threads of the library, that take events or keep a descriptor truthful, for each
 *             event (see include/syscalls.h: the kernel's tracepoints count, which needs root) */
#include "syscalls.h"
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

static struct rdma_event_channel *server_channel, *client_channel;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
static struct rdma_cm_id **clients, **servers;
static double *began, *waited;
static struct ibv_cq *cq;
static int connects, events, thread_id;
static long switches;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void make_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    MUST(!rdma_create_qp(id, NULL, &attr));
}

static int serve_one(void)
{
    struct rdma_cm_event *event;
    if (rdma_get_cm_event(server_channel, &event)) return 0;
    int established = event->event == RDMA_CM_EVENT_ESTABLISHED;
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
        int number;
        memcpy(&number, event->param.conn.private_data, sizeof number);
        waited[number] = now_us() - began[number];
        servers[number] = event->id;
    } else if (!established) {
        say("unexpected %s", rdma_event_str(event->event));
    }
    struct rdma_cm_id *id = event->id;
    rdma_ack_cm_event(event);
    events++;
    if (established) return 2;
    make_qp(id);
    MUST(!rdma_accept(id, &param));
    return 1;
}

static void *serve(void *set)
{
    struct epoll_event ready;
    struct rusage before, after;
    __atomic_store_n(&thread_id, syscall(SYS_gettid), __ATOMIC_RELEASE);
    getrusage(RUSAGE_THREAD, &before);
    for (int left = connects; left > 0;) {
        int n = epoll_wait(*(int *)set, &ready, 1, 30000), got;
        MUST(n == 1);
        while ((got = serve_one())) left -= got == 2;
    }
    getrusage(RUSAGE_THREAD, &after);
    switches = after.ru_nvcsw - before.ru_nvcsw;
    return NULL;
}

static void expect(enum rdma_cm_event_type want)
{
    MUST(cm_ready(client_channel, 30000));
    cm_expect(client_channel, want);
}

static void connect_one(int i)
{
    struct rdma_conn_param with_number = param;
    with_number.private_data = &i;
    with_number.private_data_len = sizeof i;
    began[i] = now_us();
    MUST(!rdma_connect(clients[i], &with_number));
}

static int smaller(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct syscalls count_all(void)
{
    int others[16], n = count_others(thread_id, others, 16);
    struct syscalls sum = count_thread(thread_id);
    for (int i = 0; i < n; i++) {
        struct syscalls more = count_thread(others[i]);
        more.all = 0;
        count_add(&sum, more, 1);
    }
    return sum;
}

static void prepare(struct sockaddr_in *to)
{
    clients = calloc(connects, sizeof *clients);
    servers = calloc(connects, sizeof *servers);
    began = calloc(connects, sizeof *began);
    waited = calloc(connects, sizeof *waited);
    MUST(clients && servers && began && waited);
    for (int i = 0; i < connects; i++) {
        MUST(!rdma_create_id(client_channel, &clients[i], NULL, RDMA_PS_TCP));
        MUST(!rdma_resolve_addr(clients[i], NULL, (struct sockaddr *)to, 5000));
        expect(RDMA_CM_EVENT_ADDR_RESOLVED);
        MUST(!rdma_resolve_route(clients[i], 5000));
        expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
        if (!cq) MUST((cq = ibv_create_cq(clients[i]->verbs, 64, NULL, NULL, 0)));
        make_qp(clients[i]);
    }
}

int main(int argc, char **argv)
{
    int burst = argc > 1 && !strcmp(argv[1], "burst");
    if (argc != 5 || (connects = atoi(argv[4])) < 1) return 2;
    struct sockaddr_in sa = cm_addr(argv[2], atoi(argv[3]));
    struct epoll_event interest = {.events = EPOLLIN};
    struct rdma_cm_id *listener;
    pthread_t thread;
    int set = epoll_create1(0);
    MUST(set >= 0 && (server_channel = rdma_create_event_channel()) && (client_channel = rdma_create_event_channel()));
    MUST(!fcntl(server_channel->fd, F_SETFL, fcntl(server_channel->fd, F_GETFL) | O_NONBLOCK));
    MUST(!rdma_create_id(server_channel, &listener, NULL, RDMA_PS_TCP) && !rdma_bind_addr(listener, (struct sockaddr *)&sa));
    MUST(!rdma_listen(listener, 1024) && !epoll_ctl(set, EPOLL_CTL_ADD, server_channel->fd, &interest));
    prepare(&sa);
    count_begin();
    pthread_create(&thread, NULL, serve, &set);
    while (!__atomic_load_n(&thread_id, __ATOMIC_ACQUIRE)) usleep(1000);
    struct syscalls before = count_all();
    double start = now_us();
    for (int i = 0; i < connects; i++) {
        connect_one(i);
        if (!burst) expect(RDMA_CM_EVENT_ESTABLISHED);
    }
    for (int i = 0; burst && i < connects; i++) expect(RDMA_CM_EVENT_ESTABLISHED);
    double wall = now_us() - start;
    pthread_join(thread, NULL);
    struct syscalls calls = count_all();
    count_end();
    count_add(&calls, before, -1);
    qsort(waited, connects, sizeof *waited, smaller);
    printf("%.0f %.2f %.0f %.0f %.1f %.3f\n", wall, (double)switches / connects, waited[connects / 2], waited[connects * 99 / 100],
           (double)calls.all / connects, (double)count_fetches(&calls) / events);
    return 0;
}
