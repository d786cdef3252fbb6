/* A client that is allowed, beside a flood of connects that are refused: how long its connects take.
 * usage: tenants ADDR PORT CONNECTS FROM FLOOD_FROM FLOOD SERVER [ARGUMENT…]
 *   FROM        the address of the client that is measured
 *   FLOOD_FROM  the address of the flood; FLOOD connects of it are always on their way, 0 for none
 *   SERVER      serves ADDR:PORT; it is ended afterwards
 * Prints: p50 and p99 of the client's connects in us; refused connects per second; context switches of the server's
 * program threads per refused connect. */
#include "tenant.h"
#include <dirent.h>

static struct sockaddr_storage to, from, flood_from;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
static volatile int over;
static int flood, refused;

static void *pour(void *unused)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_conn_param p = param;
    int open = 0;
    p.qp_num = 0x200000;
    while (!over || open) {
        struct rdma_cm_event *ev;
        struct rdma_cm_id *id;
        for (; !over && open < flood; open++) {
            MUST(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
            MUST(!rdma_resolve_addr(id, (struct sockaddr *)&flood_from, (struct sockaddr *)&to, 4000));
        }
        MUST(cm_ready(ch, 20000) && !rdma_get_cm_event(ch, &ev));
        int type = ev->event;
        id = ev->id;
        if (type == RDMA_CM_EVENT_REJECTED && ev->status == 28) refused++;
        else if (type != RDMA_CM_EVENT_ADDR_RESOLVED && type != RDMA_CM_EVENT_ROUTE_RESOLVED)
            say("unexpected %s %d", rdma_event_str(type), ev->status);
        rdma_ack_cm_event(ev);
        if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
            MUST(!rdma_resolve_route(id, 4000));
        } else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
            p.qp_num++;
            MUST(!rdma_connect(id, &p));
        } else {
            rdma_destroy_id(id);
            open--;
        }
    }
    rdma_destroy_event_channel(ch);
    return unused;
}

/* The time from rdma_connect to ESTABLISHED. */
static long connect_once(struct rdma_event_channel *ch)
{
    struct rdma_cm_id *id;
    MUST(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    MUST(!rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)&to, 4000));
    cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
    MUST(!rdma_resolve_route(id, 4000));
    cm_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
    MUST(!cm_qp(id));
    long begin = now_us();
    MUST(!rdma_connect(id, &param));
    cm_expect(ch, RDMA_CM_EVENT_ESTABLISHED);
    long took = now_us() - begin;
    rdma_disconnect(id);
    cm_expect(ch, RDMA_CM_EVENT_DISCONNECTED);
    cm_drop_id(id);
    return took;
}

/* Of the threads of a process that are not the library's. */
static long switches(int pid)
{
    char path[320], line[128];
    long sum = 0, n;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        int ours = 0;
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", pid, d->d_name);
        FILE *status = fopen(path, "r");
        while (status && fgets(line, sizeof line, status)) {
            if (!strncmp(line, "Name:\tcmshim-", 13)) ours = 1;
            if (!ours && sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1) sum += n;
            if (!ours && sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1) sum += n;
        }
        if (status) fclose(status);
    }
    if (tasks) closedir(tasks);
    return sum;
}

static int by_size(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* The server under the library where BENCH_SERVER_PRELOAD says so; it says a line when it listens. */
static int start(char **argv)
{
    int out[2];
    char byte;
    MUST(!pipe(out));
    int pid = fork();
    if (!pid) {
        const char *library = getenv("BENCH_SERVER_PRELOAD");
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        if (library && *library) setenv("LD_PRELOAD", library, 1);
        execv(argv[0], argv);
        _exit(127);
    }
    close(out[1]);
    MUST(pid > 0 && read(out[0], &byte, 1) == 1);
    return pid;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 8) return 2;
    int connects = atoi(argv[3]);
    to = any_addr(argv[1], atoi(argv[2]));
    from = any_addr(argv[4], 0);
    flood_from = any_addr(argv[5], 0);
    flood = atoi(argv[6]);
    end_if_hung(120);
    int server = start(argv + 7);
    struct rdma_event_channel *ch = rdma_create_event_channel();
    long *times = calloc(connects, sizeof *times);
    MUST(ch && times);
    connect_once(ch);
    if (flood) MUST(!pthread_create(&thread, NULL, pour, NULL));
    while (flood && refused < flood) usleep(10000);
    long begin = now_us(), before = switches(server);
    int refused_before = refused;
    for (int i = 0; i < connects; i++) times[i] = connect_once(ch);
    double seconds = (now_us() - begin) / 1e6;
    long woken = switches(server) - before;
    int number = refused - refused_before;
    over = 1;
    if (flood) pthread_join(thread, NULL);
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    qsort(times, connects, sizeof *times, by_size);
    printf("%ld %ld %.0f %.2f\n", times[connects / 2], times[connects * 99 / 100], number / seconds,
           number ? (double)woken / number : 0.0);
    return 0;
}
