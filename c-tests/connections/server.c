/* A server that answers in one way, chosen by mode.
 * usage: server ADDR PORT MODE [backlog=N] [n=REQUESTS] [delay=MS] [after=FILE] [data=TEXT]
 * accept   accept, wait until the client leaves         leave    accept, then exit as soon as it stands
 * reject   reject (with data, when given)               exit     exit with the request pending
 * deaf     say when a request waits, and never read it  late     wait until after=FILE is there, then accept
 * lateqp   wait, then create the QP                     latereject  wait, then reject */
#include "cm.h"

static const char *option(char **argv, const char *name, const char *otherwise)
{
    size_t n = strlen(name);
    for (; *argv; argv++)
        if (!strncmp(*argv, name, n) && (*argv)[n] == '=') return *argv + n + 1;
    return otherwise;
}

static void wait_for(const char *file, int delay)
{
    while (file && access(file, F_OK)) usleep(20000);
    let_pass(delay);
}

static void answer(struct rdma_cm_id *id, const char *mode, const char *data, const char *after, int delay)
{
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1};
    if (!strcmp(mode, "exit")) _exit(0);
    if (!strcmp(mode, "late")) MUST(cm_qp(id) == 0); /* in time; only the accept is late */
    wait_for(after, delay);
    if (!strcmp(mode, "reject") || !strcmp(mode, "latereject")) {
        TRY(rdma_reject(id, data, data ? strlen(data) : 0));
        TRY(rdma_destroy_id(id));
        return;
    }
    if (!id->qp && TRY(cm_qp(id))) {
        rdma_destroy_id(id);
        return;
    }
    if (data) p.private_data = data, p.private_data_len = strlen(data);
    if (TRY(rdma_accept(id, &p))) cm_drop_id(id);
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    const char *mode = argv[3], *data = option(argv + 4, "data", NULL);
    int left = atoi(option(argv + 4, "n", "1")), delay = atoi(option(argv + 4, "delay", "0"));
    struct sockaddr_in sa = cm_addr(argv[1], atoi(argv[2]));
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *listener;
    struct rdma_cm_event *ev;
    MUST(ch && rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr *)&sa) == 0);
    MUST(rdma_listen(listener, atoi(option(argv + 4, "backlog", "16"))) == 0);
    say("server: listening");
    if (!strcmp(mode, "deaf")) {
        MUST(cm_ready(ch, -1));
        say("server: a request waits");
        for (;;) pause();
    }
    while (left) {
        MUST(rdma_get_cm_event(ch, &ev) == 0);
        struct rdma_cm_id *id = ev->id;
        int type = ev->event, len = ev->param.conn.private_data_len;
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
            say("server: CONNECT_REQUEST private data %d bytes", len);
        else if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
            say("server: %s %d", rdma_event_str(type), ev->status);
        rdma_ack_cm_event(ev);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
            answer(id, mode, data, option(argv + 4, "after", NULL), delay);
            if (strcmp(mode, "accept") && strcmp(mode, "leave")) left--;
        } else if (type == RDMA_CM_EVENT_ESTABLISHED && !strcmp(mode, "leave")) {
            _exit(0);
        } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
            rdma_disconnect(id);
            cm_drop_id(id);
            left--;
        } else if (type != RDMA_CM_EVENT_ESTABLISHED && type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
            cm_drop_id(id);
            left--;
        }
    }
    rdma_destroy_id(listener);
    rdma_destroy_event_channel(ch);
    return 0;
}
