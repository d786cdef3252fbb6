/* usage: cancel event|connect|ep    pthread_cancel of a thread that waits inside a call: the clean-up handlers
 * run, and the program goes on. connect and ep: a synchronous id whose server never answers. */
#include "cm.h"

static struct rdma_event_channel *ch;
static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};

static void cleanup(void *what)
{
    say("clean-up handler: %s", (const char *)what);
}

static void *in_event(void *unused)
{
    struct rdma_cm_event *ev;
    pthread_cleanup_push(cleanup, "event");
    rdma_get_cm_event(ch, &ev);
    pthread_cleanup_pop(0);
    return unused;
}

static void *in_connect(void *with_ep)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST}, *to;
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    struct rdma_cm_id *id;
    char port[16];
    pthread_cleanup_push(cleanup, "connect");
    if (with_ep) {
        snprintf(port, sizeof port, "%d", lab_port());
        MUST(!rdma_getaddrinfo(lab_addr(), port, &hints, &to));
        MUST(!rdma_create_ep(&id, to, NULL, &attr));
    } else {
        MUST(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
        MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON));
        MUST(!rdma_resolve_route(id, SOON) && !cm_qp(id));
    }
    say("connecting");
    rdma_connect(id, &param);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "event";
    struct rdma_event_channel *server = rdma_create_event_channel();
    void *result = NULL;
    pthread_t thread;
    MUST((ch = rdma_create_event_channel()) && server);
    struct rdma_cm_id *listener = cm_listen(server, 4); /* its requests are never read */
    if (!strcmp(mode, "event")) pthread_create(&thread, NULL, in_event, NULL);
    else pthread_create(&thread, NULL, in_connect, !strcmp(mode, "ep") ? ch : NULL);
    let_pass(700);
    int cancel = pthread_cancel(thread);
    pthread_join(thread, &result);
    say("cancel: %d, cancelled: %d", cancel, result == PTHREAD_CANCELED);
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP); /* the channel still works */
    say("goes on: %d", id->verbs != NULL);
    rdma_destroy_id(id);
    rdma_destroy_id(listener);
    return 0;
}
