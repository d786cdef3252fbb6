/* covers: rdma_leave_multicast */
#include "cm.h"

int main(void)
{
    struct sockaddr_in here = cm_addr(lab_addr(), 0), group = cm_addr("239.1.2.4", 0);
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_UD};
    struct rdma_cm_id *id;
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_UDP));
    MUST(!rdma_bind_addr(id, (struct sockaddr *)&here) && !rdma_create_qp(id, NULL, &attr));
    TRY(rdma_leave_multicast(id, (struct sockaddr *)&group)); /* never joined */
    MUST(!rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
    cm_next("id", ch, NULL);
    TRY(rdma_leave_multicast(id, (struct sockaddr *)&group));
    TRY(rdma_leave_multicast(id, (struct sockaddr *)&group)); /* twice */
    cm_drop_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
