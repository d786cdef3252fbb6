//! Each number of `abi`, and those of `cmshim_core` that stand in the same headers.

use super::assert_that;
use crate::abi::{cm, ucm, verbs};
use cmshim_core::codes::{async_event, event, qp_state};
use cmshim_core::pool;

pub fn equal(ours: &str, value: i64, theirs: &str) -> String {
    assert_that(
        &format!("({theirs}) == {value}"),
        &format!("{ours} is {value}"),
    )
}

macro_rules! constants {
    ($name:ident: $($ours:path = $theirs:literal;)*) => {
        fn $name() -> String {
            [$(equal(stringify!($ours), i64::try_from($ours).expect("a small number"), $theirs)),*].concat()
        }
    };
}

constants! { of_the_libraries:
    cm::port_space::IPOIB = "RDMA_PS_IPOIB";
    cm::port_space::TCP = "RDMA_PS_TCP";
    cm::port_space::UDP = "RDMA_PS_UDP";
    cm::port_space::IB = "RDMA_PS_IB";

    verbs::TRANSPORT_IWARP = "IBV_TRANSPORT_IWARP";
    verbs::INIT_ATTR_PD = "IBV_QP_INIT_ATTR_PD";
    verbs::QP_AV = "IBV_QP_AV";
    verbs::QP_STATE = "IBV_QP_STATE";
    verbs::QP_RQ_PSN = "IBV_QP_RQ_PSN";
    verbs::QP_SQ_PSN = "IBV_QP_SQ_PSN";
    verbs::async_event::CQ_ERR = "IBV_EVENT_CQ_ERR";
    verbs::async_event::QP_FATAL = "IBV_EVENT_QP_FATAL";
    verbs::async_event::PATH_MIG_ERR = "IBV_EVENT_PATH_MIG_ERR";
    verbs::async_event::DEVICE_FATAL = "IBV_EVENT_DEVICE_FATAL";
    verbs::async_event::PORT_ACTIVE = "IBV_EVENT_PORT_ACTIVE";
    verbs::async_event::SM_CHANGE = "IBV_EVENT_SM_CHANGE";
    verbs::async_event::QP_LAST_WQE_REACHED = "IBV_EVENT_QP_LAST_WQE_REACHED";
    verbs::async_event::CLIENT_REREGISTER = "IBV_EVENT_CLIENT_REREGISTER";
    verbs::async_event::GID_CHANGE = "IBV_EVENT_GID_CHANGE";

    verbs::RESET = "IBV_QPS_RESET";
    verbs::INIT = "IBV_QPS_INIT";
    verbs::RTR = "IBV_QPS_RTR";
    verbs::RTS = "IBV_QPS_RTS";
    verbs::ERR = "IBV_QPS_ERR";
    verbs::TO_INIT = "IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS";
    verbs::TO_RTR = "IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN \
        | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER";
    verbs::TO_RTS = "IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN \
        | IBV_QP_MAX_QP_RD_ATOMIC";
    verbs::WR_SEND = "IBV_WR_SEND";
    verbs::SEND_SIGNALED = "IBV_SEND_SIGNALED";
    verbs::PORT_ACTIVE = "IBV_PORT_ACTIVE";
    verbs::ETHERNET = "IBV_LINK_LAYER_ETHERNET";
    verbs::OPS_POLL_CQ = "offsetof(struct ibv_context_ops, poll_cq) / sizeof(void *)";
    verbs::OPS_POST_SEND = "offsetof(struct ibv_context_ops, post_send) / sizeof(void *)";
    verbs::OPS_POST_RECV = "offsetof(struct ibv_context_ops, post_recv) / sizeof(void *)";

    pool::QPT_RC = "IBV_QPT_RC";
    pool::QPT_UC = "IBV_QPT_UC";
}

constants! { commands:
    ucm::HEADER = "sizeof(struct rdma_ucm_cmd_hdr)";
    ucm::cmd::CREATE_ID = "RDMA_USER_CM_CMD_CREATE_ID";
    ucm::cmd::DESTROY_ID = "RDMA_USER_CM_CMD_DESTROY_ID";
    ucm::cmd::LISTEN = "RDMA_USER_CM_CMD_LISTEN";
    ucm::cmd::ACCEPT = "RDMA_USER_CM_CMD_ACCEPT";
    ucm::cmd::REJECT = "RDMA_USER_CM_CMD_REJECT";
    ucm::cmd::DISCONNECT = "RDMA_USER_CM_CMD_DISCONNECT";
    ucm::cmd::INIT_QP_ATTR = "RDMA_USER_CM_CMD_INIT_QP_ATTR";
    ucm::cmd::GET_EVENT = "RDMA_USER_CM_CMD_GET_EVENT";
    ucm::cmd::JOIN_IP_MCAST = "RDMA_USER_CM_CMD_JOIN_IP_MCAST";
    ucm::cmd::LEAVE_MCAST = "RDMA_USER_CM_CMD_LEAVE_MCAST";
    ucm::cmd::MIGRATE_ID = "RDMA_USER_CM_CMD_MIGRATE_ID";
    ucm::cmd::QUERY = "RDMA_USER_CM_CMD_QUERY";
    ucm::cmd::JOIN_MCAST = "RDMA_USER_CM_CMD_JOIN_MCAST";
    ucm::CREATE_ID_UID = "COMMAND(rdma_ucm_create_id, uid)";
    ucm::CREATE_ID_RESPONSE = "COMMAND(rdma_ucm_create_id, response)";
    ucm::DESTROY_ID_RESPONSE = "COMMAND(rdma_ucm_destroy_id, response)";
    ucm::DESTROY_ID_ID = "COMMAND(rdma_ucm_destroy_id, id)";
    ucm::DESTROY_ID_SIZE = "COMMAND_SIZE(rdma_ucm_destroy_id)";
    ucm::LISTEN_ID = "COMMAND(rdma_ucm_listen, id)";
    ucm::LISTEN_BACKLOG = "COMMAND(rdma_ucm_listen, backlog)";
    ucm::ACCEPT_UID = "COMMAND(rdma_ucm_accept, uid)";
    ucm::ACCEPT_ID = "COMMAND(rdma_ucm_accept, id)";
    ucm::REJECT_ID = "COMMAND(rdma_ucm_reject, id)";
    ucm::REJECT_LENGTH = "COMMAND(rdma_ucm_reject, private_data_len)";
    ucm::REJECT_DATA = "COMMAND(rdma_ucm_reject, private_data)";
    ucm::REJECT_SIZE = "COMMAND_SIZE(rdma_ucm_reject)";
    ucm::DISCONNECT_ID = "COMMAND(rdma_ucm_disconnect, id)";
    ucm::INIT_QP_ATTR_RESPONSE = "COMMAND(rdma_ucm_init_qp_attr, response)";
    ucm::INIT_QP_ATTR_ID = "COMMAND(rdma_ucm_init_qp_attr, id)";
    ucm::QP_ATTR_MASK = "offsetof(struct ib_uverbs_qp_attr, qp_attr_mask)";
    ucm::QP_ATTR_TRAFFIC_CLASS = "offsetof(struct ib_uverbs_qp_attr, ah_attr.grh.traffic_class)";
    ucm::QP_ATTR_AV = "IBV_QP_AV";
    ucm::QUERY_RESPONSE = "COMMAND(rdma_ucm_query, response)";
    ucm::QUERY_ID = "COMMAND(rdma_ucm_query, id)";
    ucm::QUERY_OPTION = "COMMAND(rdma_ucm_query, option)";
    ucm::QUERY_SIZE = "COMMAND_SIZE(rdma_ucm_query)";
    ucm::QUERY_ADDR = "RDMA_USER_CM_QUERY_ADDR";
    ucm::QUERY_GID = "RDMA_USER_CM_QUERY_GID";
    ucm::SOCKADDR_IB_GID = "offsetof(struct sockaddr_ib, sib_addr)";
    ucm::JOIN_IP_MCAST_RESPONSE = "COMMAND(rdma_ucm_join_ip_mcast, response)";
    ucm::JOIN_IP_MCAST_UID = "COMMAND(rdma_ucm_join_ip_mcast, uid)";
    ucm::JOIN_IP_MCAST_ID = "COMMAND(rdma_ucm_join_ip_mcast, id)";
    ucm::JOIN_MCAST_RESPONSE = "COMMAND(rdma_ucm_join_mcast, response)";
    ucm::JOIN_MCAST_UID = "COMMAND(rdma_ucm_join_mcast, uid)";
    ucm::JOIN_MCAST_ID = "COMMAND(rdma_ucm_join_mcast, id)";
    ucm::GET_EVENT_RESPONSE = "COMMAND(rdma_ucm_get_event, response)";
    ucm::GET_EVENT_SIZE = "COMMAND_SIZE(rdma_ucm_get_event)";
    ucm::GET_EVENT_LEAST_ANSWER = "offsetof(struct rdma_ucm_event_resp, reserved)";
    ucm::MIGRATE_ID_RESPONSE = "COMMAND(rdma_ucm_migrate_id, response)";
    ucm::MIGRATE_ID_ID = "COMMAND(rdma_ucm_migrate_id, id)";
    ucm::MIGRATE_ID_FD = "COMMAND(rdma_ucm_migrate_id, fd)";
    ucm::MIGRATE_ID_SIZE = "COMMAND_SIZE(rdma_ucm_migrate_id)";
}

/// Where `cmshim_core::event_queue::Event` reads, and how much room it has.
fn event_of_the_kernel() -> String {
    let room = cmshim_core::event_queue::BYTES;
    [
        equal(
            "event_queue::Event::uid",
            0,
            "offsetof(struct rdma_ucm_event_resp, uid)",
        ),
        equal(
            "event_queue::Event::handle",
            8,
            "offsetof(struct rdma_ucm_event_resp, id)",
        ),
        equal(
            "event_queue::Event::kind",
            12,
            "offsetof(struct rdma_ucm_event_resp, event)",
        ),
        assert_that(
            &format!("sizeof(struct rdma_ucm_event_resp) <= {room}"),
            "event_queue::Event has room for one",
        ),
        // What is above is no command.
        assert_that(
            &format!("RDMA_USER_CM_CMD_JOIN_MCAST < {}", ucm::cmd::LIMIT),
            "ucm::cmd::LIMIT is above the last command",
        ),
    ]
    .concat()
}

/// Symbol and number of both kinds of events.
fn events() -> impl Iterator<Item = (&'static str, i32)> {
    let cm = event::ALL.iter().map(|e| (e.symbol, e.number));
    cm.chain(async_event::ALL.iter().map(|e| (e.symbol, e.number)))
}

/// Did it come later than rdma-core 44, the oldest that we compare with?
fn is_newer(symbol: &str, number: i32) -> bool {
    let last = match symbol.starts_with("RDMA_CM_") {
        true => event::TIMEWAIT_EXIT,
        false => 19, // IBV_EVENT_WQ_FATAL
    };
    number > last
}

pub fn of_the_kernel() -> String {
    commands() + &event_of_the_kernel()
}

pub fn of_the_library() -> String {
    let mut lines = of_the_libraries();
    for (symbol, number) in events().filter(|(symbol, number)| !is_newer(symbol, *number)) {
        lines += &equal(symbol, number.into(), symbol);
    }
    for (number, name) in (0..).zip(qp_state::NAMES) {
        lines += &equal(name, number, &format!("IBV_QPS_{name}"));
    }
    lines
}

/// Events of a newer rdma-core, where the headers have them.
pub fn newer(has: impl Fn(&str) -> bool) -> String {
    events()
        .filter(|(symbol, number)| is_newer(symbol, *number) && has(symbol))
        .map(|(symbol, number)| equal(symbol, number.into(), symbol))
        .collect()
}
