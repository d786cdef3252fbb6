/* covers: rdma_getaddrinfo */
#include "cm.h"

int main(void)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST}, *res = NULL;
    struct rdma_addrinfo passive = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE};
    TRY(rdma_getaddrinfo(lab_addr(), "18515", &hints, &res));
    say("peer address %d, route %d, qp type %d", res && res->ai_dst_len > 0, res && res->ai_route_len > 0, res ? res->ai_qp_type : -1);
    if (res) rdma_freeaddrinfo(res);
    TRY(rdma_getaddrinfo(NULL, "18515", &passive, &res));
    say("own address %d", res && res->ai_src_len > 0);
    if (res) rdma_freeaddrinfo(res);
    TRY(rdma_getaddrinfo("no.such.address", "18515", &hints, &res));
    TRY(rdma_getaddrinfo(NULL, NULL, NULL, &res));
    return 0;
}
