/* covers: rdma_migrate_id */
#include "cm.h"

int main(void)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_event_channel *from = rdma_create_event_channel(), *to = rdma_create_event_channel(), broken = {.fd = -1};
    struct rdma_cm_id *id;
    MUST(from && to && !rdma_create_id(from, &id, NULL, RDMA_PS_TCP));
    TRY(rdma_migrate_id(id, &broken));
    say("channel unchanged %d", id->channel == from);
    MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON) && cm_ready(from, SOON));
    TRY(rdma_migrate_id(id, to)); /* takes the queued event along */
    say("channel %d, readable: old %d new %d", id->channel == to, cm_ready(from, 0), cm_ready(to, SOON));
    cm_next("id", to, NULL);
    MUST(!rdma_resolve_route(id, SOON));
    cm_next("id", to, NULL);
    TRY(rdma_migrate_id(id, NULL)); /* becomes synchronous */
    say("own channel %d", id->channel != from && id->channel != to);
    MUST(!cm_qp(id));
    TRY(rdma_connect(id, NULL)); /* nobody listens: the reject becomes an errno */
    cm_drop_id(id);
    rdma_destroy_event_channel(to);
    rdma_destroy_event_channel(from);
    return 0;
}
