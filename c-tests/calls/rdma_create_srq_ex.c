/* covers: rdma_create_srq_ex */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
    struct ibv_srq_init_attr_ex ex = {.attr = {16, 1, 0}, .srq_type = IBV_SRQT_BASIC, .pd = id->pd,
                                      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD}, huge = ex;
    huge.attr.max_wr = 1 << 30;
    TRY(rdma_create_srq_ex(id, &huge));
    TRY(rdma_create_srq_ex(id, &ex));
    say("srq %d", id->srq != NULL);
    rdma_destroy_srq(id);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
