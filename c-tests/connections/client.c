/* A client that makes one connection after the other and prints every event.
 * usage: client ADDR PORT [n=TIMES] [timeout=MS for resolving] [data=BYTES] [until=FILE: wait for the answer until it is there]
 *               [hold=MS connected before disconnecting] [stay=1: wait for the peer to leave] [quiet=1: sums only] */
#include "cm.h"

static const char *option(char **argv, const char *name, const char *otherwise)
{
    size_t n = strlen(name);
    for (; *argv; argv++)
        if (!strncmp(*argv, name, n) && (*argv)[n] == '=') return *argv + n + 1;
    return otherwise;
}

static int quiet, sums[16];

static int event(struct rdma_event_channel *ch, const char *until)
{
    struct rdma_cm_event *ev;
    while (until && !cm_ready(ch, 100)) {
        if (access(until, F_OK)) continue;
        say("client: no event until now");
        return -1;
    }
    MUST(rdma_get_cm_event(ch, &ev) == 0);
    int type = ev->event, len = ev->param.conn.private_data_len;
    const char *data = ev->param.conn.private_data;
    sums[type & 15]++;
    if (!quiet) {
        if ((type == RDMA_CM_EVENT_REJECTED || type == RDMA_CM_EVENT_ESTABLISHED) && len)
            say("client: %s %d private data %d bytes '%.40s'", rdma_event_str(type), ev->status, len, data ? data : "");
        else
            say("client: %s %d", rdma_event_str(type), ev->status);
    }
    rdma_ack_cm_event(ev);
    return type;
}

static void attempt(struct rdma_event_channel *ch, struct sockaddr_in *sa, char **opt)
{
    static char bytes[256];
    int timeout = atoi(option(opt, "timeout", "0"));
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
                                .private_data = bytes, .private_data_len = atoi(option(opt, "data", "0"))};
    struct rdma_cm_id *id;
    memset(bytes, 'p', sizeof bytes);
    if (!timeout) timeout = SOON;
    MUST(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) == 0);
    if (rdma_resolve_addr(id, NULL, (struct sockaddr *)sa, timeout))
        say("client: rdma_resolve_addr errno %s", errno_name(errno));
    else if (event(ch, NULL) == RDMA_CM_EVENT_ADDR_RESOLVED) {
        MUST(rdma_resolve_route(id, timeout) == 0);
        MUST(event(ch, NULL) == RDMA_CM_EVENT_ROUTE_RESOLVED);
        MUST(cm_qp(id) == 0);
        if (rdma_connect(id, &p))
            say("client: rdma_connect errno %s", errno_name(errno));
        else if (event(ch, option(opt, "until", NULL)) == RDMA_CM_EVENT_ESTABLISHED) {
            if (!atoi(option(opt, "stay", "0"))) {
                let_pass(atoi(option(opt, "hold", "0")));
                MUST(rdma_disconnect(id) == 0);
            }
            event(ch, NULL);
        }
    }
    cm_drop_id(id);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    struct sockaddr_in sa = cm_addr(argv[1], atoi(argv[2]));
    struct rdma_event_channel *ch = rdma_create_event_channel();
    MUST(ch);
    quiet = atoi(option(argv + 3, "quiet", "0"));
    for (int i = atoi(option(argv + 3, "n", "1")); i > 0; i--) attempt(ch, &sa, argv + 3);
    if (quiet)
        for (int i = 0; i < 16; i++)
            if (sums[i]) say("client: %s %d times", rdma_event_str(i), sums[i]);
    rdma_destroy_event_channel(ch);
    return 0;
}
