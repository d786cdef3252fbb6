/* covers: rdma_join_multicast */
#include "cm.h"

int main(void)
{
    struct sockaddr_in here = cm_addr(lab_addr(), 0), group = cm_addr("239.1.2.4", 0);
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id, *stream = cm_routed(ch, RDMA_PS_TCP);
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_UD};
    MUST(!rdma_create_id(ch, &id, NULL, RDMA_PS_UDP));
    TRY(rdma_join_multicast(id, (struct sockaddr *)&group, NULL)); /* not bound */
    MUST(!rdma_bind_addr(id, (struct sockaddr *)&here) && !rdma_create_qp(id, NULL, &attr));
    TRY(rdma_join_multicast(stream, (struct sockaddr *)&group, NULL));
    TRY(rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
    cm_next("id", ch, NULL);
    MUST(!rdma_leave_multicast(id, (struct sockaddr *)&group));
    cm_drop_id(id);
    rdma_destroy_id(stream);
    rdma_destroy_event_channel(ch);
    return 0;
}
