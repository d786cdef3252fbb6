/* A client that does step by step what its arguments say, from any of this host's addresses.
 *   to=ADDR port=N from=ADDR|- data=TEXT    of the connects that follow
 *   own=1        they use a queue pair of their own and rdma_init_qp_attr
 *   try          connect; when it stands, disconnect. Prints the outcome, and of a refusal the reason in it.
 *   tries=N      the same N times; prints how often each outcome came
 *   keep[=N]     connect N times and stay; class: print the traffic class of the one made last
 *   drop, destroy, drop=all   the connection kept longest is disconnected, or destroyed without that; all of them
 *   reject       rdma_reject on the one kept longest, which is too late: prints the errno
 *   ep           connect with rdma_create_ep
 *   until=OUTCOME  try until the outcome begins so, at most 10 s; its time goes to stderr
 *   flood=N at=W   N connects without queue pair, W of them at a time, all refused; sums
 *   flow=FILE    connect and disconnect until it is there; sums
 *   again        what the last refusal said as its time to wait, is waited for
 *   hex          prints the private data of the last refusal
 *   sleep=MS, say=TEXT, die (SIGKILL), line (a line of input is waited for)
 * Refusals on the way (rdma_resolve_addr, rdma_connect) are outcomes too. */
#include "tenant.h"

enum { KEPT = 256, OUTCOMES = 64 };

struct link {
    struct rdma_event_channel *ch;
    struct rdma_cm_id *id;
    struct ibv_qp *own;
};

static const char *to = "10.77.0.1", *from = "-", *data = "";
static int port, own, kept, unseen, number_made = 0x10000; /* unseen: links before it are gone */
static struct link links[KEPT];
static struct reason last;
static unsigned char bytes[256];
static int bytes_length;
static struct { char text[128]; int count; } sums[OUTCOMES];
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};

static void leave(struct link *l)
{
    if (l->own) own_gone(l->own);
    cm_drop_id(l->id);
    if (l->ch) rdma_destroy_event_channel(l->ch);
    *l = (struct link){0};
}

/* What came of it in words; the words of a refusal are kept. */
static const char *outcome(const struct rdma_cm_event *ev)
{
    static char text[128];
    const struct rdma_conn_param *got = &ev->param.conn;
    if (ev->event != RDMA_CM_EVENT_REJECTED) {
        snprintf(text, sizeof text, "%s %d", rdma_event_str(ev->event) + strlen("RDMA_CM_EVENT_"), ev->status);
        return text;
    }
    last = reason_of(got->private_data, got->private_data_len);
    bytes_length = got->private_data_len;
    memcpy(bytes, got->private_data, got->private_data ? bytes_length : 0);
    int n = snprintf(text, sizeof text, "REJECTED %d, %s", ev->status, reason_name(last.code));
    if (last.code) n += snprintf(text + n, sizeof text - n, ", tenant '%s'", last.tenant);
    if (last.limit) n += snprintf(text + n, sizeof text - n, ", limit %u", last.limit);
    if (last.code == 3) n += snprintf(text + n, sizeof text - n, ", used %u", last.used);
    if (last.code && last.retry_ms != ~0u) snprintf(text + n, sizeof text - n, ", again later");
    return text;
}

static const char *event(struct link *l)
{
    struct rdma_cm_event *ev;
    if (!cm_ready(l->ch, SOON)) return "no event";
    MUST(!rdma_get_cm_event(l->ch, &ev));
    const char *text = outcome(ev);
    rdma_ack_cm_event(ev);
    return text;
}

static const char *failed(const char *call)
{
    static char text[64];
    snprintf(text, sizeof text, "%s errno %s", call, errno_name(errno));
    return text;
}

static const char *attempt(struct link *l)
{
    struct sockaddr_storage dst = any_addr(to, port), src;
    const char *text;
    *l = (struct link){.ch = rdma_create_event_channel()};
    MUST(l->ch && !rdma_create_id(l->ch, &l->id, NULL, RDMA_PS_TCP));
    if (strcmp(from, "-")) src = any_addr(from, 0);
    if (rdma_resolve_addr(l->id, strcmp(from, "-") ? (struct sockaddr *)&src : NULL, (struct sockaddr *)&dst, SOON))
        return failed("rdma_resolve_addr");
    if (strcmp(text = event(l), "ADDR_RESOLVED 0")) return text;
    MUST(!rdma_resolve_route(l->id, SOON));
    if (strcmp(text = event(l), "ROUTE_RESOLVED 0")) return text;
    param.private_data = *data ? data : NULL;
    param.private_data_len = strlen(data);
    if (own) l->own = own_qp(l->id);
    else MUST(!cm_qp(l->id));
    param.qp_num = own ? l->own->qp_num : 0;
    if (rdma_connect(l->id, &param)) return failed("rdma_connect");
    text = event(l);
    if (own && !strcmp(text, "CONNECT_RESPONSE 0")) {
        MUST(!own_step(l->id, l->own, IBV_QPS_RTR) && !own_step(l->id, l->own, IBV_QPS_RTS));
        MUST(!rdma_establish(l->id));
        return "ESTABLISHED 0";
    }
    return text;
}

static int stands(const char *text) { return !strcmp(text, "ESTABLISHED 0"); }

static const char *attempt_and_leave(void)
{
    static char text[128];
    struct link l;
    snprintf(text, sizeof text, "%s", attempt(&l));
    if (stands(text)) {
        rdma_disconnect(l.id);
        event(&l);
    }
    leave(&l);
    return text;
}

static void count(const char *text)
{
    int i = 0;
    while (i < OUTCOMES - 1 && sums[i].count && strcmp(sums[i].text, text)) i++;
    snprintf(sums[i].text, sizeof sums[i].text, "%s", text);
    sums[i].count++;
}

static void say_sums(void)
{
    for (int i = 0; i < OUTCOMES; i++)
        if (sums[i].count) say("%s -> %s: %d times %s", from, to, sums[i].count, sums[i].text);
    memset(sums, 0, sizeof sums);
}

static void keep(int times)
{
    for (int i = 0; i < times; i++) {
        MUST(kept < KEPT);
        const char *text = attempt(&links[kept]);
        if (times == 1) say("%s -> %s: kept, %s", from, to, text);
        else count(text);
        if (stands(text)) kept++;
        else leave(&links[kept]);
    }
    say_sums();
}

static void drop(int disconnect)
{
    MUST(unseen < kept);
    struct link *l = &links[unseen++];
    if (disconnect) {
        MUST(!rdma_disconnect(l->id));
        event(l);
    }
    leave(l);
}

/* Addresses are resolved one by one, connects run side by side. Nobody accepts them. */
static void flood(int number, int at_once)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct sockaddr_storage dst = any_addr(to, port), src;
    int begun = 0, open = 0, done = 0;
    if (strcmp(from, "-")) src = any_addr(from, 0);
    param.private_data_len = 0;
    while (done < number) {
        struct rdma_cm_event *ev;
        struct rdma_cm_id *id;
        for (; begun < number && open < at_once; begun++, open++) {
            MUST(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
            MUST(!rdma_resolve_addr(id, strcmp(from, "-") ? (struct sockaddr *)&src : NULL, (struct sockaddr *)&dst, SOON));
        }
        MUST(cm_ready(ch, SOON) && !rdma_get_cm_event(ch, &ev));
        id = ev->id;
        int type = ev->event;
        if (type == RDMA_CM_EVENT_ADDR_RESOLVED) MUST(!rdma_resolve_route(id, SOON));
        else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
            param.qp_num = ++number_made & 0xffffff;
            MUST(!rdma_connect(id, &param));
        } else count(outcome(ev));
        rdma_ack_cm_event(ev);
        if (type == RDMA_CM_EVENT_ADDR_RESOLVED || type == RDMA_CM_EVENT_ROUTE_RESOLVED) continue;
        rdma_destroy_id(id);
        open--;
        done++;
    }
    rdma_destroy_event_channel(ch);
    say_sums();
}

static void flow(const char *file)
{
    while (access(file, F_OK)) count(attempt_and_leave());
    say_sums();
}

static void until(const char *wanted)
{
    long begin = now_us(), end = begin + 1000L * within(10000);
    const char *text;
    do text = attempt_and_leave();
    while (strncmp(text, wanted, strlen(wanted)) && now_us() < end && !usleep(20000));
    say("%s -> %s: in the end %s", from, to, text);
    fprintf(stderr, "%s after %ld ms\n", text, (now_us() - begin) / 1000);
}

/* A synchronous id: what comes of it is what the calls return. */
static void endpoint(void)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST}, *info;
    struct ibv_qp_init_attr attr = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    struct rdma_cm_id *id;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    MUST(!rdma_getaddrinfo(to, service, &hints, &info));
    param.private_data_len = param.qp_num = 0;
    if (rdma_create_ep(&id, info, NULL, &attr)) {
        say("endpoint: rdma_create_ep errno %s", errno_name(errno));
    } else {
        if (rdma_connect(id, &param)) say("endpoint: rdma_connect errno %s", errno_name(errno));
        else say("endpoint: connected");
        rdma_disconnect(id);
        rdma_destroy_ep(id);
    }
    rdma_freeaddrinfo(info);
}

static void print_hex(void)
{
    char text[600];
    int all = last.code ? (int)big_endian(bytes + 6, 2) : bytes_length;
    hex(bytes, all, text);
    say("private data of %d bytes: %s", bytes_length, text);
}

static int step(char *arg)
{
    char *value = strchr(arg, '=');
    static char none[] = "";
    static int at_once = 8;
    if (value) *value++ = 0;
    else value = none;
    int n = atoi(value);
    if (!strcmp(arg, "to")) to = value;
    else if (!strcmp(arg, "from")) from = value;
    else if (!strcmp(arg, "data")) data = value;
    else if (!strcmp(arg, "port")) port = n;
    else if (!strcmp(arg, "own")) own = n;
    else if (!strcmp(arg, "at")) at_once = n;
    else if (!strcmp(arg, "try")) say("%s -> %s: %s", from, to, attempt_and_leave());
    else if (!strcmp(arg, "tries")) {
        while (n-- > 0) count(attempt_and_leave());
        say_sums();
    } else if (!strcmp(arg, "keep")) keep(n ? n : 1);
    else if (!strcmp(arg, "class")) say("traffic class %d", class_of(own ? links[kept - 1].own : links[kept - 1].id->qp));
    else if (!strcmp(arg, "drop") && strcmp(value, "all")) drop(1);
    else if (!strcmp(arg, "drop")) while (unseen < kept) drop(1);
    else if (!strcmp(arg, "destroy")) drop(0);
    else if (!strcmp(arg, "reject")) TRY(rdma_reject(links[unseen].id, NULL, 0));
    else if (!strcmp(arg, "ep")) endpoint();
    else if (!strcmp(arg, "until")) until(value);
    else if (!strcmp(arg, "flood")) flood(n, at_once);
    else if (!strcmp(arg, "flow")) flow(value);
    else if (!strcmp(arg, "again")) {
        MUST(last.retry_ms != ~0u && last.retry_ms <= 10000);
        usleep(last.retry_ms * 1000 + 5000);
    } else if (!strcmp(arg, "hex")) print_hex();
    else if (!strcmp(arg, "sleep")) usleep(n * 1000);
    else if (!strcmp(arg, "say")) say("%s", value);
    else if (!strcmp(arg, "die")) raise(SIGKILL);
    else if (!strcmp(arg, "line")) MUST(read(0, bytes, 1) == 1);
    else return 0;
    return 1;
}

int main(int argc, char **argv)
{
    port = lab_port();
    end_if_hung(120);
    for (int i = 1; i < argc; i++)
        if (!step(argv[i])) {
            say("unknown step %s", argv[i]);
            return 2;
        }
    while (unseen < kept) drop(1);
    return 0;
}
