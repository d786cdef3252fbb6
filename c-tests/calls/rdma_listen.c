/* covers: rdma_listen */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_cm_id *unbound, *id, *client = cm_routed(ch, RDMA_PS_TCP);
    MUST(!rdma_create_id(ch, &unbound, NULL, RDMA_PS_TCP) && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    TRY(rdma_listen(unbound, 4)); /* takes every address and a free port */
    say("port chosen %d", rdma_get_src_port(unbound) != 0);
    MUST(!rdma_bind_addr(id, (struct sockaddr *)&here));
    TRY(rdma_listen(id, 1));
    TRY(rdma_listen(id, 4000)); /* twice */
    TRY(rdma_listen(client, 0)); /* a client id */
    rdma_destroy_id(client);
    rdma_destroy_id(id);
    rdma_destroy_id(unbound);
    rdma_destroy_event_channel(ch);
    return 0;
}
