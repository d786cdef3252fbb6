/* covers: rdma_init_qp_attr */
#include "cm.h"

static void attributes(struct rdma_cm_id *id, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask = 0;
    if (TRY(rdma_init_qp_attr(id, &attr, &mask))) return;
    say("state %d, mask %#x, port %d, traffic class %d", attr.qp_state, mask, attr.port_num, attr.ah_attr.grh.traffic_class);
}

/* The kernel takes a queue pair's number for stale if it has seen the same one just before. */
static struct rdma_conn_param numbered(void)
{
    static int last = 0x4000;
    return (struct rdma_conn_param){
        .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .qp_num = ++last << 8 | (lab_port() & 0xff),
    };
}

int main(void)
{
    end_if_hung(30);
    struct rdma_event_channel *cc, *sc = rdma_create_event_channel();
    struct rdma_cm_id *listener = cm_listen(sc, 4), *unbound, *client, *request, *late;
    MUST(cc = rdma_create_event_channel());
    MUST(!rdma_create_id(cc, &unbound, NULL, RDMA_PS_TCP));
    attributes(unbound, IBV_QPS_INIT);
    attributes(client = cm_routed(cc, RDMA_PS_TCP), IBV_QPS_INIT);
    attributes(client, IBV_QPS_RTR); /* no answer yet */
    struct rdma_conn_param param = numbered();
    MUST(!rdma_connect(client, &param));
    cm_next("server", sc, &request);
    attributes(request, IBV_QPS_INIT);
    attributes(request, IBV_QPS_RTR);
    param = numbered();
    MUST(!rdma_accept(request, &param));
    cm_next("client", cc, NULL);
    attributes(client, IBV_QPS_RTR);
    attributes(client, IBV_QPS_RTS);
    rdma_destroy_id(client);
    cm_next("server", sc, NULL);

    /* A client that has gone before the answer. */
    client = cm_routed(cc, RDMA_PS_TCP);
    param = numbered();
    MUST(!rdma_connect(client, &param));
    cm_next("server", sc, &late);
    rdma_destroy_id(client);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
    int mask, tries = SOON / 10;
    while (!rdma_init_qp_attr(late, &attr, &mask) && tries--) usleep(10000);
    attributes(late, IBV_QPS_INIT);
    say("queue pair: %d, errno %s", cm_qp(late), errno_name(errno));
    cm_drop_id(late);
    cm_drop_id(request);
    rdma_destroy_id(unbound);
    rdma_destroy_id(listener);
    rdma_destroy_event_channel(cc);
    rdma_destroy_event_channel(sc);
    return 0;
}
