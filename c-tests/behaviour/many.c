/* Two threads, each with many ids at once on a channel of its own, against a third that accepts and rejects in turn. */
#include "cm.h"

enum { EACH = 40 };
static int rejected, established;

static void *serve(void *channel)
{
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1};
    for (int n = 0, gone = 0; gone < EACH;) {
        struct rdma_cm_event *ev;
        MUST(!rdma_get_cm_event(channel, &ev));
        struct rdma_cm_id *id = ev->id;
        int type = ev->event;
        rdma_ack_cm_event(ev);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST && n++ % 2) {
            MUST(!rdma_reject(id, NULL, 0) && !rdma_destroy_id(id));
        } else if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
            MUST(!cm_qp(id) && !rdma_accept(id, &p));
        } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
            rdma_disconnect(id);
            cm_drop_id(id);
            gone++;
        }
    }
    return NULL;
}

static void *connect_many(void *unused)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
    struct rdma_cm_id *ids[EACH];
    MUST(ch);
    for (int i = 0; i < EACH; i++) {
        ids[i] = cm_routed(ch, RDMA_PS_TCP);
        MUST(!cm_qp(ids[i]));
    }
    for (int i = 0; i < EACH; i++) MUST(!rdma_connect(ids[i], &p));
    for (int left = EACH; left;) {
        struct rdma_cm_event *ev;
        MUST(!rdma_get_cm_event(ch, &ev));
        struct rdma_cm_id *id = ev->id;
        int type = ev->event;
        rdma_ack_cm_event(ev);
        if (type == RDMA_CM_EVENT_REJECTED) {
            __atomic_add_fetch(&rejected, 1, __ATOMIC_RELAXED);
            left--;
        } else if (type == RDMA_CM_EVENT_ESTABLISHED) {
            __atomic_add_fetch(&established, 1, __ATOMIC_RELAXED);
            rdma_disconnect(id);
        } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
            left--;
        }
    }
    for (int i = 0; i < EACH; i++) cm_drop_id(ids[i]);
    rdma_destroy_event_channel(ch);
    return unused;
}

int main(void)
{
    pthread_t server, clients[2];
    struct rdma_event_channel *ch = rdma_create_event_channel();
    MUST(ch);
    struct rdma_cm_id *listener = cm_listen(ch, 256);
    pthread_create(&server, NULL, serve, ch);
    for (int i = 0; i < 2; i++) pthread_create(&clients[i], NULL, connect_many, NULL);
    for (int i = 0; i < 2; i++) pthread_join(clients[i], NULL);
    pthread_join(server, NULL);
    say("established %d, rejected %d", established, rejected);
    rdma_destroy_id(listener);
    rdma_destroy_event_channel(ch);
    return 0;
}
