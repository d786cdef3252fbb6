/* covers: rdma_destroy_id */
#include "cm.h"

int main(void)
{
    struct cm_pair p = cm_connected();
    struct rdma_cm_id *id, *sync;
    MUST(!rdma_create_id(p.cc, &id, NULL, RDMA_PS_TCP) && !rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP));
    TRY(rdma_destroy_id(sync)); /* with its own channel */
    TRY(rdma_destroy_id(id));
    rdma_destroy_qp(p.client);
    TRY(rdma_destroy_id(p.client)); /* while connected: the peer is told */
    p.client = NULL;
    cm_next("server", p.sc, NULL);
    TRY(rdma_destroy_id(p.listener)); /* before its connection */
    p.listener = NULL;
    MUST(!rdma_create_id(p.cc, &id, NULL, RDMA_PS_TCP));
    close(p.cc->fd);
    TRY(rdma_destroy_id(id)); /* its channel is closed */
    return 0;
}
