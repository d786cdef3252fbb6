/* covers: rdma_get_cm_event */
#include "cm.h"
#include <fcntl.h>

int main(void)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_event_channel *ch = rdma_create_event_channel(), broken = {.fd = -1};
    struct rdma_cm_event *ev = NULL;
    struct rdma_cm_id *id;
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    int flags = fcntl(ch->fd, F_GETFL);
    MUST(!fcntl(ch->fd, F_SETFL, flags | O_NONBLOCK));
    TRY(rdma_get_cm_event(ch, &ev)); /* nothing there */
    say("readable: %d", cm_ready(ch, 0));
    MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON));
    say("readable: %d", cm_ready(ch, SOON));
    TRY(rdma_get_cm_event(ch, &ev));
    say("%s %d, right id %d", rdma_event_str(ev->event), ev->status, ev->id == id);
    rdma_ack_cm_event(ev);
    MUST(!fcntl(ch->fd, F_SETFL, flags));
    MUST(!rdma_resolve_route(id, SOON));
    TRY(rdma_get_cm_event(ch, &ev)); /* blocking */
    say("%s %d", rdma_event_str(ev->event), ev->status);
    rdma_ack_cm_event(ev);
    TRY(rdma_get_cm_event(&broken, &ev));
    TRY(rdma_get_cm_event(ch, NULL));
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
