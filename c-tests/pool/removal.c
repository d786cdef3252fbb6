/* The device goes away under a connection and under queue pairs of the same kind, while more of them lie ready.
 * Whoever runs this deletes the device that carries LAB_ADDR; rxe waits for its users. */
#include "pool.h"

static struct ibv_pd *pd;
static struct ibv_cq *cq;

static int make(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = verbs_attr(cq);
    return rdma_create_qp(id, pd, &attr);
}

int main(void)
{
    struct cm_pair p = cm_connected();
    struct ibv_context *verbs = p.client->verbs;
    struct rdma_cm_id *more[6];
    MUST((pd = ibv_alloc_pd(verbs)) && (cq = ibv_create_cq(verbs, 64, NULL, NULL, 0)));
    for (int i = 0; i < 6; i++) {
        more[i] = cm_routed(p.cc, RDMA_PS_TCP);
        MUST(!make(more[i]));
        let_fill();
    }
    say("connected on %s", ibv_get_device_name(verbs->device));
    for (int left = 7; left;) {
        struct rdma_cm_event *event;
        MUST(!rdma_get_cm_event(p.cc, &event));
        left -= event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
        rdma_ack_cm_event(event);
    }
    say("all told");
    for (int i = 0; i < 6; i++) cm_drop_id(more[i]);
    ibv_destroy_cq(cq);
    ibv_dealloc_pd(pd);
    cm_drop_id(p.client);
    cm_drop_id(p.server);
    cm_drop_id(p.listener);
    say("done");
    return 0;
}
