/* covers: rdma_create_srq rdma_create_srq_ex */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *fresh, *id = cm_routed(ch, RDMA_PS_TCP);
    struct ibv_srq_init_attr attr = {.attr = {16, 1, 0}}, huge = {.attr = {1 << 30, 1, 0}};
    struct ibv_srq_init_attr_ex ex = {.attr = {16, 1, 0}, .srq_type = IBV_SRQT_BASIC,
                                      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD};
    MUST(!rdma_create_id(ch, &fresh, NULL, RDMA_PS_TCP));
    TRY(rdma_create_srq(id, NULL, &huge));
    TRY(rdma_create_srq(id, NULL, &attr));
    say("srq %d", id->srq != NULL);
    rdma_destroy_srq(id);
    say("srq %d", id->srq != NULL);
    ex.pd = id->pd;
    TRY(rdma_create_srq_ex(id, &ex));
    say("srq %d", id->srq != NULL);
    rdma_destroy_srq(id);
    ex.attr.max_wr = 1 << 30;
    TRY(rdma_create_srq_ex(id, &ex));
    rdma_destroy_id(fresh);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
