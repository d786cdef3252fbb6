/* covers: rdma_reject */
#include "cm.h"

int main(void)
{
    struct cm_pair p = cm_request();
    TRY(rdma_reject(p.listener, NULL, 0)); /* no request */
    TRY(rdma_reject(p.server, "no room", 7));
    cm_next("client", p.cc, NULL);
    TRY(rdma_reject(p.server, NULL, 0)); /* twice */
    cm_close(&p);
    return 0;
}
