/* covers: rdma_destroy_qp */
#include "cm.h"

int main(void)
{
    struct cm_pair p = cm_connected();
    errno = UNTOUCHED;
    rdma_destroy_qp(p.client); /* while connected */
    say("qp %d, queues %d %d, errno %s", p.client->qp != NULL, p.client->send_cq != NULL, p.client->recv_cq != NULL,
        errno_name(errno));
    TRY(rdma_disconnect(p.client));
    cm_next("server", p.sc, NULL);
    TRY(cm_qp(p.client)); /* a new one on the same id */
    rdma_destroy_qp(p.client);
    say("qp %d", p.client->qp != NULL);
    cm_close(&p);
    return 0;
}
