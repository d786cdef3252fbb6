/* covers: rdma_create_ep */
#include "cm.h"

static void *serve(void *listener)
{
    struct rdma_cm_id *request;
    struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
    MUST(!rdma_get_request(listener, &request));
    MUST(!rdma_accept(request, &param));
    let_pass(300);
    rdma_disconnect(request);
    rdma_destroy_ep(request);
    return NULL;
}

int main(void)
{
    char port[16];
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST}, *to, *at;
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC}, huge = attr;
    struct rdma_cm_id *listener, *client;
    pthread_t thread;
    snprintf(port, sizeof port, "%d", lab_port());
    MUST(!rdma_getaddrinfo(lab_addr(), port, &hints, &to));
    TRY(rdma_create_ep(&client, to, NULL, &attr));
    TRY(rdma_connect(client, NULL)); /* nobody listens */
    rdma_destroy_ep(client);
    hints.ai_flags |= RAI_PASSIVE;
    MUST(!rdma_getaddrinfo(lab_addr(), port, &hints, &at));
    TRY(rdma_create_ep(&listener, at, NULL, &attr));
    TRY(rdma_listen(listener, 4));
    pthread_create(&thread, NULL, serve, listener);
    huge.cap.max_send_wr = 1 << 30;
    TRY(rdma_create_ep(&client, to, NULL, &huge));
    attr = (struct ibv_qp_init_attr){.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    TRY(rdma_create_ep(&client, to, NULL, &attr));
    TRY(rdma_connect(client, NULL));
    TRY(rdma_disconnect(client)); /* answered by the server's own */
    pthread_join(thread, NULL);
    rdma_destroy_ep(client);
    rdma_destroy_ep(listener);
    rdma_freeaddrinfo(to);
    rdma_freeaddrinfo(at);
    return 0;
}
