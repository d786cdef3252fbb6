/* covers: rdma_accept */
#include "cm.h"

int main(void)
{
    static char data[256];
    struct cm_pair p = cm_request();
    struct rdma_conn_param lengthy = p.param;
    lengthy.private_data = data;
    lengthy.private_data_len = 197; /* 196 is the most on IB and RoCE */
    TRY(rdma_accept(p.listener, &p.param)); /* no request */
    TRY(rdma_accept(p.server, &p.param));
    cm_next("client", p.cc, NULL);
    cm_next("server", p.sc, NULL);
    TRY(rdma_accept(p.server, &p.param)); /* twice */
    cm_close(&p);
    p = cm_request();
    TRY(rdma_accept(p.server, &lengthy));
    cm_close(&p);
    p = cm_request();
    cm_drop_id(p.client); /* gave up */
    p.client = NULL;
    let_pass(200);
    TRY(rdma_accept(p.server, &p.param));
    cm_close(&p);
    return 0;
}
