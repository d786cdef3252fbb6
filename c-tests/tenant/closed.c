/* A server that closes its event channel with its ids on it, and begins anew: the kernel destroys them, and their
 * connections are over. usage: closed destroy|close|migrate [N]: N connections each time (3) */
#include "cm.h"
#include <fcntl.h>

static struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
static struct rdma_event_channel *cc;
static int refused;

static void accept_one(struct rdma_event_channel *sc, struct rdma_event_channel *to)
{
    struct rdma_cm_event *ev;
    struct rdma_cm_id *client = cm_routed(cc, RDMA_PS_TCP), *id;
    MUST(!cm_qp(client) && !rdma_connect(client, &param));
    for (;;) {
        if (cm_ready(cc, 20)) { /* nothing but a refusal comes before the server has accepted */
            cm_next("client", cc, NULL);
            refused++;
            return;
        }
        if (cm_ready(sc, 20) && !rdma_get_cm_event(sc, &ev)) break;
    }
    MUST(ev->event == RDMA_CM_EVENT_CONNECT_REQUEST);
    id = ev->id;
    rdma_ack_cm_event(ev);
    MUST(!cm_qp(id) && !rdma_accept(id, &param));
    cm_expect(cc, RDMA_CM_EVENT_ESTABLISHED);
    MUST(cm_ready(sc, SOON));
    cm_expect(sc, RDMA_CM_EVENT_ESTABLISHED);
    if (to) MUST(!rdma_migrate_id(id, to));
}

int main(int argc, char **argv)
{
    int number = argc > 2 ? atoi(argv[2]) : 3;
    end_if_hung(20);
    for (int round = 1; round <= 3; round++) {
        struct rdma_event_channel *sc = rdma_create_event_channel(), *to = NULL;
        MUST(sc && (cc = rdma_create_event_channel()));
        if (!strcmp(argv[1], "migrate")) MUST((to = rdma_create_event_channel()));
        fcntl(sc->fd, F_SETFL, O_NONBLOCK);
        cm_listen(sc, 8);
        for (int i = 0; i < number; i++) accept_one(sc, to);
        say("round %d: %d refused", round, refused);
        if (!strcmp(argv[1], "close")) close(sc->fd);
        else rdma_destroy_event_channel(sc);
        if (to) rdma_destroy_event_channel(to);
        close(cc->fd);
    }
    _exit(0); /* all is left as it is */
}
