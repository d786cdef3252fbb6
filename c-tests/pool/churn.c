/* Connections one after another, both ends in one process, with a pause between them.
 * usage: churn KIND COUNT PAUSE_US           prints what the process grew by, after the first tenth
 *        churn KIND COUNT PAUSE_US times     prints microseconds, without the first tenth: rdma_create_qp p50 p99, connect
 *                                            p50 p99 (connect: the client's queue pair included, up to ESTABLISHED)
 * KIND: shared, one completion queue for all; own, librdmacm's own ones for each; raw, ibv_create_qp and no connection;
 *       evict, ibv_create_qp and, in place of connect, the destruction of its completion queue after the pause */
#include "pool.h"
#include <dirent.h>
#include <time.h>

static struct rdma_event_channel *sc, *cc;
static struct rdma_cm_id *listener;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static int own;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    MUST(f && fscanf(f, "%*d %ld", &pages) == 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    MUST(dir);
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

static void make(struct rdma_cm_id *id)
{
    if (!pd) MUST((pd = ibv_alloc_pd(id->verbs)) && (cq = ibv_create_cq(id->verbs, 64, NULL, NULL, 0)));
    struct ibv_qp_init_attr attr = verbs_attr(own ? NULL : cq);
    MUST(!rdma_create_qp(id, own ? NULL : pd, &attr));
}

static void await(struct rdma_event_channel *ch, enum rdma_cm_event_type want, struct rdma_cm_id **id)
{
    struct rdma_cm_event *event;
    enum rdma_cm_event_type got;
    do {
        MUST(!rdma_get_cm_event(ch, &event));
        got = event->event;
        if (id) *id = event->id;
        rdma_ack_cm_event(event);
    } while (got == RDMA_CM_EVENT_TIMEWAIT_EXIT);
    if (got != want) say("expected %s, got %s", rdma_event_str(want), rdma_event_str(got));
    MUST(got == want);
}

struct times {
    double create, connect;
};

static struct times connection(void)
{
    struct rdma_cm_id *client = cm_routed(cc, RDMA_PS_TCP), *server;
    struct times took;
    double begin = now_us();
    make(client);
    took.create = now_us() - begin;
    MUST(!rdma_connect(client, &param));
    await(sc, RDMA_CM_EVENT_CONNECT_REQUEST, &server);
    make(server);
    MUST(!rdma_accept(server, &param));
    await(cc, RDMA_CM_EVENT_ESTABLISHED, NULL);
    took.connect = now_us() - begin;
    await(sc, RDMA_CM_EVENT_ESTABLISHED, NULL);
    MUST(!rdma_disconnect(client));
    await(sc, RDMA_CM_EVENT_DISCONNECTED, NULL);
    MUST(!rdma_disconnect(server));
    await(cc, RDMA_CM_EVENT_DISCONNECTED, NULL);
    cm_drop_id(client);
    cm_drop_id(server);
    return took;
}

static struct times bare_qp(void)
{
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    double begin = now_us();
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    double took = now_us() - begin;
    MUST(qp && !ibv_destroy_qp(qp));
    return (struct times){took, took};
}

static struct times evicted_cq(int pause)
{
    struct ibv_cq *mine = ibv_create_cq(listener->verbs, 64, NULL, NULL, 0);
    MUST(mine);
    struct ibv_qp_init_attr attr = verbs_attr(mine);
    double begin = now_us();
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    double create = now_us() - begin;
    MUST(qp && !ibv_destroy_qp(qp));
    usleep(pause);
    begin = now_us();
    MUST(!ibv_destroy_cq(mine));
    return (struct times){create, now_us() - begin};
}

static int smaller(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show(double *took, int count)
{
    took += count / 10; /* libraries, first pages, and what the pool learns from */
    count -= count / 10;
    qsort(took, count, sizeof *took, smaller);
    printf("%.0f %.0f ", took[count / 2], took[count * 99 / 100]);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 3 ? argv[1] : "";
    int count = argc > 3 ? atoi(argv[2]) : 0, pause = argc > 3 ? atoi(argv[3]) : 0, raw = !strcmp(kind, "raw"), evict = !strcmp(kind, "evict");
    double *create = calloc(count + 1, sizeof *create), *connect = calloc(count + 1, sizeof *connect);
    long resident = 0;
    int open = 0;
    own = !strcmp(kind, "own");
    MUST(count >= 10 && create && connect && (sc = rdma_create_event_channel()) && (cc = rdma_create_event_channel()));
    listener = cm_listen(sc, 128);
    if (raw || evict) MUST((pd = ibv_alloc_pd(listener->verbs)) && (cq = ibv_create_cq(listener->verbs, 64, NULL, NULL, 0)));
    for (int i = 0; i < count; i++) {
        struct times took = raw ? bare_qp() : evict ? evicted_cq(pause) : connection();
        create[i] = took.create;
        connect[i] = took.connect;
        if (i == count / 10) resident = resident_kib(), open = descriptors();
        if (pause && !evict) usleep(pause);
    }
    if (argc > 4) {
        show(create, count);
        show(connect, count);
        printf("\n");
    } else {
        say("connections %d", count);
        say("descriptors grew by %d", descriptors() - open);
        say("memory grew by more than 1 MiB: %d (%ld KiB)", resident_kib() - resident > 1024, resident_kib() - resident);
    }
    rdma_destroy_id(listener);
    MUST(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd));
    rdma_destroy_event_channel(sc);
    rdma_destroy_event_channel(cc);
    free(create);
    free(connect);
    return 0;
}
