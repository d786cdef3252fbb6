/* The commands of an event channel's descriptor stand where the library looks for their members (src/abi/ucm.rs):
 * checked by the compiler against the installed header. */
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <stddef.h>
#include <stdio.h>

#define HEADER sizeof(struct rdma_ucm_cmd_hdr)
#define AT(type, member, offset) _Static_assert(HEADER + offsetof(struct type, member) == offset, #type "." #member)
#define SIZE(type, size) _Static_assert(HEADER + sizeof(struct type) == size, #type)
#define CMD(name, number) _Static_assert(RDMA_USER_CM_CMD_##name == number, #name)

_Static_assert(HEADER == 8, "header");
CMD(CREATE_ID, 0); CMD(DESTROY_ID, 1); CMD(LISTEN, 7); CMD(ACCEPT, 8); CMD(GET_EVENT, 12); CMD(JOIN_IP_MCAST, 16);
CMD(REJECT, 9); CMD(DISCONNECT, 10); CMD(INIT_QP_ATTR, 11);
CMD(LEAVE_MCAST, 17); CMD(MIGRATE_ID, 18); CMD(QUERY, 19); CMD(JOIN_MCAST, 22);
AT(rdma_ucm_create_id, uid, 8); AT(rdma_ucm_create_id, response, 16);
AT(rdma_ucm_destroy_id, response, 8); AT(rdma_ucm_destroy_id, id, 16); SIZE(rdma_ucm_destroy_id, 24);
AT(rdma_ucm_listen, id, 8); AT(rdma_ucm_listen, backlog, 12);
AT(rdma_ucm_accept, uid, 8); AT(rdma_ucm_accept, id, 288);
AT(rdma_ucm_join_ip_mcast, response, 8); AT(rdma_ucm_join_ip_mcast, uid, 16); AT(rdma_ucm_join_ip_mcast, id, 52);
AT(rdma_ucm_join_mcast, response, 8); AT(rdma_ucm_join_mcast, uid, 16); AT(rdma_ucm_join_mcast, id, 24);
AT(rdma_ucm_get_event, response, 8); SIZE(rdma_ucm_get_event, 16);
AT(rdma_ucm_migrate_id, response, 8); AT(rdma_ucm_migrate_id, id, 16); AT(rdma_ucm_migrate_id, fd, 20);
SIZE(rdma_ucm_migrate_id, 24);
AT(rdma_ucm_reject, id, 8); AT(rdma_ucm_reject, private_data_len, 12); AT(rdma_ucm_reject, private_data, 16);
SIZE(rdma_ucm_reject, 272);
AT(rdma_ucm_disconnect, id, 8);
AT(rdma_ucm_init_qp_attr, response, 8); AT(rdma_ucm_init_qp_attr, id, 16);
AT(rdma_ucm_query, response, 8); AT(rdma_ucm_query, id, 16); AT(rdma_ucm_query, option, 20); SIZE(rdma_ucm_query, 24);
_Static_assert(RDMA_USER_CM_QUERY_ADDR == 0 && RDMA_USER_CM_QUERY_GID == 2, "options");
_Static_assert(offsetof(struct rdma_ucm_query_addr_resp, pkey) == 10, "pkey");
_Static_assert(offsetof(struct rdma_ucm_query_addr_resp, src_addr) == 16, "src_addr");
_Static_assert(offsetof(struct rdma_ucm_query_addr_resp, dst_addr) == 144, "dst_addr");
_Static_assert(sizeof(struct rdma_ucm_query_addr_resp) == 280, "the answer");
_Static_assert(offsetof(struct ib_uverbs_qp_attr, qp_attr_mask) == 0, "mask");
_Static_assert(offsetof(struct ib_uverbs_qp_attr, ah_attr.grh.traffic_class) == 62, "traffic class");
_Static_assert(offsetof(struct rdma_ucm_event_resp, uid) == 0, "uid");
_Static_assert(offsetof(struct rdma_ucm_event_resp, id) == 8, "id");
_Static_assert(offsetof(struct rdma_ucm_event_resp, event) == 12, "event");
_Static_assert(sizeof(struct rdma_ucm_event_resp) - 12 == 324, "the least answer");
_Static_assert(sizeof(struct rdma_ucm_event_resp) <= 384, "the buffer for one event");

int main(void)
{
    puts("as the header has it");
    return 0;
}
