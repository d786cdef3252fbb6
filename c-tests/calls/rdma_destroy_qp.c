/* covers: rdma_destroy_qp */
#include "cm.h"

int main(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id = cm_routed(ch, RDMA_PS_TCP);
    MUST(cm_qp(id) == 0);
    errno = UNTOUCHED;
    rdma_destroy_qp(id);
    say("qp %d, queues %d %d, errno %s", id->qp != NULL, id->send_cq != NULL, id->recv_cq != NULL, errno_name(errno));
    TRY(cm_qp(id)); /* a new one on the same id */
    rdma_destroy_qp(id);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    struct cm_pair p = cm_connected();
    rdma_destroy_qp(p.client); /* while connected */
    say("qp %d", p.client->qp != NULL);
    TRY(rdma_disconnect(p.client));
    cm_next("server", p.sc, NULL);
    cm_close(&p);
    return 0;
}
