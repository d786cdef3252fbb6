/* covers: rdma_notify */
#include "cm.h"

int main(void)
{
    struct cm_pair p = cm_request();
    TRY(rdma_notify(p.listener, IBV_EVENT_COMM_EST));
    TRY(rdma_notify(p.client, IBV_EVENT_QP_FATAL)); /* nothing to do with connecting */
    TRY(rdma_accept(p.server, &p.param));
    cm_next("client", p.cc, NULL);
    cm_next("server", p.sc, NULL);
    TRY(rdma_notify(p.server, IBV_EVENT_COMM_EST)); /* established already */
    cm_close(&p);
    return 0;
}
