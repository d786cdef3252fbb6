/* Endings that are no errors: a clean disconnect, and rdma_disconnect on an id whose connection is gone or never was. */
#include "cm.h"

int main(void)
{
    struct cm_pair p = cm_connected();
    let_pass(1200); /* longer than a short-lived connection */
    TRY(rdma_disconnect(p.client));
    cm_next("server", p.sc, NULL);
    TRY(rdma_disconnect(p.server));
    cm_next("client", p.cc, NULL);
    TRY(rdma_disconnect(p.client));
    TRY(rdma_disconnect(p.server));
    TRY(rdma_disconnect(p.listener));
    cm_close(&p);
    return 0;
}
