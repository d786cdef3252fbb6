/* covers: rdma_set_option */
#include "cm.h"

int main(void)
{
    uint8_t tos = 32, timeout = 18;
    int on = 1;
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *id;
    MUST(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
    TRY(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos));
    TRY(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof on));
    TRY(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout));
    TRY(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &on, sizeof on)); /* wrong length */
    TRY(rdma_set_option(id, RDMA_OPTION_ID, 99, &on, sizeof on));
    TRY(rdma_set_option(id, 99, 0, &on, sizeof on));
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
