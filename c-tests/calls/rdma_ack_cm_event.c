/* covers: rdma_ack_cm_event */
#include "cm.h"

int main(void)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_event *first, *second;
    struct rdma_cm_id *id;
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    TRY(rdma_ack_cm_event(NULL));
    MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON) && !rdma_get_cm_event(ch, &first));
    MUST(!rdma_resolve_route(id, SOON) && !rdma_get_cm_event(ch, &second));
    TRY(rdma_ack_cm_event(second)); /* in any order */
    TRY(rdma_ack_cm_event(first));
    TRY(rdma_destroy_id(id)); /* all acked: does not wait */
    rdma_destroy_event_channel(ch);
    return 0;
}
