/* covers: rdma_connect */
#include "cm.h"

int main(void)
{
    static char data[64];
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct cm_pair p = cm_connected();
    struct rdma_cm_id *again = cm_routed(ch, RDMA_PS_TCP);
    struct rdma_conn_param lengthy = p.param;
    lengthy.private_data = data;
    lengthy.private_data_len = 57;
    MUST(ch && cm_qp(again) == 0);
    TRY(rdma_connect(p.client, &p.param));  /* connected already */
    TRY(rdma_connect(again, &lengthy));
    TRY(rdma_connect(again, NULL));         /* default parameters */
    struct rdma_cm_id *request;
    cm_next("server", p.sc, &request);
    TRY(rdma_reject(request, NULL, 0));
    cm_next("client", ch, NULL);
    rdma_destroy_id(request);
    cm_drop_id(again);
    cm_close(&p);
    rdma_destroy_event_channel(ch);
    return 0;
}
