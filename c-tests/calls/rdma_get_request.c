/* covers: rdma_get_request */
#include "cm.h"

int main(void)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *listener, *async, *request = NULL, *client;
    struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
    MUST(ch && !rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP) && !rdma_create_id(ch, &async, NULL, RDMA_PS_TCP));
    MUST(!rdma_bind_addr(listener, (struct sockaddr *)&here) && !rdma_listen(listener, 4));
    TRY(rdma_get_request(async, &request)); /* not a synchronous id */
    client = cm_routed(ch, RDMA_PS_TCP);
    MUST(!cm_qp(client) && !rdma_connect(client, &param));
    TRY(rdma_get_request(listener, &request));
    say("event on the request: %s", request && request->event ? rdma_event_str(request->event->event) : "none");
    TRY(rdma_reject(request, NULL, 0));
    TRY(rdma_destroy_id(request));
    cm_next("client", ch, NULL);
    cm_drop_id(client);
    rdma_destroy_id(async);
    rdma_destroy_id(listener);
    rdma_destroy_event_channel(ch);
    return 0;
}
