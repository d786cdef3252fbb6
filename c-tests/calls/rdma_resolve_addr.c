/* covers: rdma_resolve_addr */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id;
    char silent[32];
    snprintf(silent, sizeof silent, "%.*s.98", (int)(strrchr(lab_addr(), '.') - lab_addr()), lab_addr());
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port()), mute = cm_addr(silent, 1), far = cm_addr("203.0.113.9", 1);
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    TRY(rdma_resolve_addr(id, NULL, (struct sockaddr *)&far, 1000));
    TRY(rdma_resolve_addr(id, NULL, (struct sockaddr *)&mute, 300));
    cm_next("id", ch, NULL);
    TRY(rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON)); /* again, after the failure */
    cm_next("id", ch, NULL);
    say("device %d, peer port %d", id->verbs != NULL, ntohs(rdma_get_dst_port(id)) == lab_port());
    TRY(rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON)); /* twice */
    rdma_destroy_id(id);
    MUST(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
    TRY(rdma_resolve_addr(id, NULL, (struct sockaddr *)&mute, 300)); /* synchronous: the event becomes an errno */
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
