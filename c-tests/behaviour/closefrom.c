/* A daemon that closes every descriptor from 3 on: at its start, and once more between its calls. */
#include "cm.h"

static void round_of_calls(const char *who)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_cm_id *id;
    if (!ch) {
        say("%s: no channel, errno %s", who, errno_name(errno));
        return;
    }
    TRY(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    /* Without a resolved address, rdma_resolve_route of librdmacm 44 would crash. */
    if (!TRY(rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON)) &&
        cm_next(who, ch, NULL) == RDMA_CM_EVENT_ADDR_RESOLVED && !TRY(rdma_resolve_route(id, SOON)))
        cm_next(who, ch, NULL);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
}

int main(void)
{
    closefrom(3);
    round_of_calls("first");
    struct rdma_event_channel *ch = rdma_create_event_channel();
    MUST(ch);
    closefrom(3);
    struct rdma_cm_id *id;
    TRY(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP)); /* its channel is closed */
    round_of_calls("second");
    return 0;
}
