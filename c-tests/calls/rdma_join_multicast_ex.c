/* covers: rdma_join_multicast_ex */
#include "cm.h"

int main(void)
{
    struct sockaddr_in here = cm_addr(lab_addr(), 0), group = cm_addr("239.1.2.5", 0);
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_join_mc_attr_ex ex = {.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
                                         .join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER, .addr = (struct sockaddr *)&group};
    struct rdma_cm_join_mc_attr_ex empty = {.comp_mask = 0};
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_UD};
    struct rdma_cm_id *id;
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_UDP));
    MUST(!rdma_bind_addr(id, (struct sockaddr *)&here) && !rdma_create_qp(id, NULL, &attr));
    TRY(rdma_join_multicast_ex(id, &empty, NULL));
    TRY(rdma_join_multicast_ex(id, &ex, NULL));
    cm_next("id", ch, NULL);
    MUST(!rdma_leave_multicast(id, (struct sockaddr *)&group));
    cm_drop_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
