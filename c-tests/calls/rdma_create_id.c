/* covers: rdma_create_id */
#include "cm.h"

int main(void)
{
    static int context;
    struct rdma_event_channel *ch = rdma_create_event_channel(), broken = {.fd = -1};
    struct rdma_cm_id *id, *sync, *none = NULL;
    MUST(ch);
    TRY(rdma_create_id(ch, &id, &context, RDMA_PS_TCP));
    say("channel %d, context %d, port space %x, qp %d", id->channel == ch, id->context == &context, id->ps, id->qp != NULL);
    TRY(rdma_create_id(NULL, &sync, NULL, RDMA_PS_UDP));
    say("own channel %d", sync->channel && sync->channel != ch);
    TRY(rdma_create_id(ch, &none, NULL, (enum rdma_port_space)0x7777));
    TRY(rdma_create_id(&broken, &none, NULL, RDMA_PS_TCP));
    say("id untouched on failure: %d", none == NULL);
    MUST(!rdma_destroy_id(sync));
    MUST(!rdma_destroy_id(id));
    rdma_destroy_event_channel(ch);
    return 0;
}
