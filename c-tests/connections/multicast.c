/* Joining a multicast group on an id that cannot: a stream id, and a datagram id that is bound to nothing. */
#include "cm.h"

int main(void)
{
    struct sockaddr_in group = cm_addr("239.1.2.3", 0);
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *stream = cm_routed(ch, RDMA_PS_TCP), *unbound;
    MUST(rdma_create_id(ch, &unbound, NULL, RDMA_PS_UDP) == 0);
    TRY(rdma_join_multicast(stream, (struct sockaddr *)&group, NULL));
    TRY(rdma_join_multicast(unbound, (struct sockaddr *)&group, NULL));
    rdma_destroy_id(stream);
    rdma_destroy_id(unbound);
    rdma_destroy_event_channel(ch);
    return 0;
}
