/* covers: rdma_destroy_ep
 * Releases the queue pair and the id of rdma_create_ep, connected to nobody or listening. */
#include "cm.h"

int main(void)
{
    char port[16];
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST}, *to, *at;
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    struct rdma_cm_id *listener, *again, *client;
    snprintf(port, sizeof port, "%d", lab_port());
    MUST(!rdma_getaddrinfo(lab_addr(), port, &hints, &to));
    hints.ai_flags |= RAI_PASSIVE;
    MUST(!rdma_getaddrinfo(lab_addr(), port, &hints, &at));
    MUST(!rdma_create_ep(&listener, at, NULL, NULL) && !rdma_listen(listener, 1));
    MUST(!rdma_create_ep(&client, to, NULL, &attr));
    errno = UNTOUCHED;
    rdma_destroy_ep(client);
    rdma_destroy_ep(listener);
    say("errno %s", errno_name(errno));
    MUST(!rdma_create_ep(&again, at, NULL, NULL)); /* the port is free again */
    TRY(rdma_listen(again, 1));
    rdma_destroy_ep(again);
    rdma_freeaddrinfo(to);
    rdma_freeaddrinfo(at);
    return 0;
}
