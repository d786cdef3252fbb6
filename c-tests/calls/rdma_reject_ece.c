/* covers: rdma_reject_ece */
#include "cm.h"

int main(void)
{
    struct cm_pair p = cm_request();
    TRY(rdma_reject_ece(p.server, "no option", 9));
    cm_next("client", p.cc, NULL);
    TRY(rdma_reject_ece(p.client, NULL, 0)); /* no request */
    cm_close(&p);
    return 0;
}
