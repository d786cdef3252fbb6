/* covers: rdma_disconnect */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *fresh;
    MUST(ch && !rdma_create_id(ch, &fresh, NULL, RDMA_PS_TCP));
    TRY(rdma_disconnect(fresh)); /* no device */
    struct cm_pair p = cm_connected();
    TRY(rdma_disconnect(p.listener));
    TRY(rdma_disconnect(p.client));
    cm_next("server", p.sc, NULL);
    TRY(rdma_disconnect(p.server));
    cm_next("client", p.cc, NULL);
    TRY(rdma_disconnect(p.client)); /* twice */
    say("client qp state %d", p.client->qp->state);
    cm_close(&p);
    rdma_destroy_id(fresh);
    rdma_destroy_event_channel(ch);
    return 0;
}
