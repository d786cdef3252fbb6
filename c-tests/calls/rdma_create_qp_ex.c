/* covers: rdma_create_qp_ex */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
    struct ibv_qp_init_attr_ex ex = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC, .comp_mask = IBV_QP_INIT_ATTR_PD,
                                     .pd = id->pd}, huge = ex;
    huge.cap.max_send_wr = 1 << 30;
    TRY(rdma_create_qp_ex(id, &huge));
    say("no qp after a failure: %d", id->qp == NULL);
    TRY(rdma_create_qp_ex(id, &ex));
    say("qp %d, own completion queues %d %d", id->qp != NULL, id->send_cq != NULL, id->recv_cq != NULL);
    TRY(rdma_create_qp_ex(id, &ex)); /* twice */
    cm_drop_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
