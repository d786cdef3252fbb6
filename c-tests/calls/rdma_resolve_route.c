/* covers: rdma_resolve_route */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id;
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port()), any = cm_addr(lab_addr(), 0);
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    MUST(!rdma_bind_addr(id, (struct sockaddr *)&any)); /* without a device librdmacm 44 crashes here */
    TRY(rdma_resolve_route(id, 1000)); /* before the address */
    MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON));
    cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
    TRY(rdma_resolve_route(id, 1000));
    cm_next("id", ch, NULL);
    say("paths %d", id->route.num_paths);
    TRY(rdma_resolve_route(id, 1000)); /* twice */
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
