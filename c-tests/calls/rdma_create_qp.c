/* covers: rdma_create_qp */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC}, huge = attr;
    huge.cap.max_send_wr = 1 << 30;
    TRY(rdma_create_qp(id, NULL, &huge));
    say("no qp after a failure: %d", id->qp == NULL);
    TRY(rdma_create_qp(id, NULL, &attr));
    say("qp %d, state %d, capabilities written back %d", id->qp != NULL, id->qp->state, attr.cap.max_send_wr >= 8);
    say("own completion queues %d %d", id->send_cq != NULL, id->recv_cq != NULL);
    TRY(rdma_create_qp(id, NULL, &attr)); /* twice */
    rdma_destroy_qp(id);
    say("after destroy: qp %d, cq %d", id->qp != NULL, id->send_cq != NULL);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
