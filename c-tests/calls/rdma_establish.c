/* covers: rdma_establish */
#include "cm.h"

int main(void)
{
    struct cm_pair p = cm_connected();
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *bare = cm_routed(ch, RDMA_PS_TCP), *request;
    struct rdma_conn_param param = p.param;
    param.qp_num = 0x4000 + lab_port();
    TRY(rdma_establish(p.client)); /* librdmacm did it, since the id has a QP */
    TRY(rdma_establish(bare));     /* too early */
    TRY(rdma_connect(bare, &param));
    cm_next("server", p.sc, &request);
    MUST(cm_qp(request) == 0);
    TRY(rdma_accept(request, &p.param));
    cm_next("client", ch, NULL);
    TRY(rdma_establish(bare));
    cm_next("server", p.sc, NULL);
    cm_drop_id(request);
    rdma_destroy_id(bare);
    rdma_destroy_event_channel(ch);
    cm_close(&p);
    return 0;
}
