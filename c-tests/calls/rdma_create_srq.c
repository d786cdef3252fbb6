/* covers: rdma_create_srq */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
    struct ibv_srq_init_attr attr = {.attr = {16, 1, 0}}, huge = {.attr = {1 << 30, 1, 0}};
    TRY(rdma_create_srq(id, NULL, &huge));
    TRY(rdma_create_srq(id, NULL, &attr));
    say("srq %d", id->srq != NULL);
    rdma_destroy_srq(id);
    say("srq %d", id->srq != NULL);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
