/* covers: rdma_bind_addr */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id, *other, *third;
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port()), elsewhere = cm_addr("198.51.100.1", 0);
    struct sockaddr_in any_port = cm_addr(lab_addr(), 0);
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) && !rdma_create_id(ch, &other, NULL, RDMA_PS_TCP) &&
         !rdma_create_id(ch, &third, NULL, RDMA_PS_TCP));
    TRY(rdma_bind_addr(id, (struct sockaddr *)&here));
    say("port %d, device %d", ntohs(rdma_get_src_port(id)) == lab_port(), id->verbs != NULL);
    TRY(rdma_bind_addr(id, (struct sockaddr *)&here));       /* twice */
    TRY(rdma_bind_addr(other, (struct sockaddr *)&elsewhere)); /* not our address */
    TRY(rdma_bind_addr(other, (struct sockaddr *)&any_port));
    say("a port was chosen: %d", rdma_get_src_port(other) != 0);
    TRY(rdma_listen(id, 1));
    int bound = rdma_bind_addr(third, (struct sockaddr *)&here), e = errno; /* in use; seen at bind or at listen */
    say("in use: bind %d %s, listen %d", bound, bound ? errno_name(e) : "", bound ? 0 : rdma_listen(third, 1));
    rdma_destroy_id(third);
    rdma_destroy_id(other);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
