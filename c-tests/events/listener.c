/* parts: 0 3 0-nonblock 3-nonblock 20-nonblock    A listener is destroyed with 50 connect requests, of which so many were read: what
 * the clients see, and that nothing is left. */
#include "events.h"

enum { CLIENTS = 50 };
static int part_number, files;

static void count(struct rdma_event_channel *ch)
{
    int queued = 0, late = 0, other = 0; /* late: it came when the listener was gone */
    while (queued + late + other < CLIENTS && cm_ready(ch, SOON)) {
        struct rdma_cm_event *ev;
        MUST(!rdma_get_cm_event(ch, &ev));
        if (ev->event == RDMA_CM_EVENT_REJECTED && ev->status == 28) queued++;
        else if (ev->event == RDMA_CM_EVENT_REJECTED && ev->status == 8) late++;
        else say("%s %d", rdma_event_str(ev->event), ev->status), other++;
        rdma_ack_cm_event(ev);
    }
    say("REJECTED: %d%s", queued + late, queued ? "" : ", and none was queued");
}

static void part(const char *name)
{
    int taken = atoi(name);
    struct rdma_event_channel *sc = new_channel(is(name, "nonblock")), *cc = new_channel(0);
    struct rdma_cm_id *listener = cm_listen(sc, 64), *ids[CLIENTS], *requests[CLIENTS];
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
    struct ibv_cq *cq = NULL;
    for (int i = 0; i < CLIENTS; i++) {
        ids[i] = cm_routed(cc, RDMA_PS_TCP);
        if (!cq) MUST((cq = ibv_create_cq(ids[i]->verbs, 64, NULL, NULL, 0)));
        struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
        MUST(!rdma_create_qp(ids[i], NULL, &attr));
    }
    for (int i = 0; i < CLIENTS; i++) MUST(!rdma_connect(ids[i], &p));
    await_requests();
    for (int i = 0; i < taken; i++) {
        struct rdma_cm_event *ev;
        MUST(cm_ready(sc, SOON) && !rdma_get_cm_event(sc, &ev) && ev->event == RDMA_CM_EVENT_CONNECT_REQUEST);
        requests[i] = ev->id;
        rdma_ack_cm_event(ev);
    }
    TRY(rdma_destroy_id(listener));
    say("readable %d", readable(sc->fd));
    for (int i = 0; i < taken; i++) MUST(!rdma_reject(requests[i], NULL, 0) && !rdma_destroy_id(requests[i]));
    count(cc);
    for (int i = 0; i < CLIENTS; i++) cm_drop_id(ids[i]);
    ibv_destroy_cq(cq);
    rdma_destroy_event_channel(cc);
    rdma_destroy_event_channel(sc);
    /* Some open late, and reading ahead takes one descriptor for the whole process. */
    say("more files open than after the part before: %d", part_number++ > 2 && open_files() - files > 1);
    files = open_files();
}

int main(int argc, char **argv)
{
    int status = play_parts(argc, argv, part);
    say("kernel ids %d", kernel_ids());
    return status;
}
