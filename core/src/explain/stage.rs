//! Which stage a call or an event belongs to, and what was attempted, in two words.

use super::query::EventQuery;
use crate::codes::event as ev;
use crate::model::{Role, Stage};

/// The stage of a CM event.
pub fn stage_of_event(event: i32, role: Role) -> Stage {
    match event {
        ev::ADDR_RESOLVED | ev::ADDR_ERROR | ev::ADDRINFO_RESOLVED | ev::ADDRINFO_ERROR => {
            Stage::Address
        }
        ev::ROUTE_RESOLVED | ev::ROUTE_ERROR => Stage::Route,
        ev::ESTABLISHED | ev::DISCONNECTED => Stage::Established,
        ev::DEVICE_REMOVAL | ev::ADDR_CHANGE => Stage::Device,
        ev::MULTICAST_JOIN | ev::MULTICAST_ERROR => Stage::Multicast,
        ev::TIMEWAIT_EXIT => Stage::Teardown,
        ev::USER | ev::INTERNAL => Stage::Setup,
        _ if role == Role::Server => Stage::Accept,
        _ => Stage::Connect,
    }
}

/// Stage of an event, and what was going on, by its circumstances.
pub fn place(q: &EventQuery) -> (Stage, &'static str) {
    if q.event == ev::UNREACHABLE && q.since_established.is_some() {
        return (Stage::Established, "connection");
    }
    let stage = stage_of_event(q.event, q.role);
    if q.listener && stage == Stage::Device {
        return (stage, "listener");
    }
    (stage, what_of_event(q.event, q.role))
}

/// The table behind [`stage_of_call`] and [`what_of_call`].
#[rustfmt::skip]
const CALLS: &[(&str, Stage, &str)] = &[
    ("rdma_create_event_channel", Stage::Setup, "create event channel"),
    ("rdma_create_id", Stage::Setup, "create id"),
    ("rdma_create_ep", Stage::Setup, "create endpoint"),
    ("rdma_getaddrinfo", Stage::Address, "look up address"),
    ("rdma_set_option", Stage::Setup, "set option"),
    ("rdma_set_local_ece", Stage::Setup, "set connection options"),
    ("rdma_migrate_id", Stage::Setup, "migrate id"),
    ("rdma_get_cm_event", Stage::Setup, "get event"),
    ("rdma_ack_cm_event", Stage::Setup, "acknowledge event"),
    ("rdma_bind_addr", Stage::Bind, "bind"),
    ("rdma_listen", Stage::Listen, "listen"),
    ("rdma_get_request", Stage::Listen, "wait for a request"),
    ("rdma_resolve_addr", Stage::Address, "resolve address"),
    ("rdma_resolve_addrinfo", Stage::Address, "resolve address"),
    ("rdma_resolve_route", Stage::Route, "resolve route"),
    ("rdma_create_qp", Stage::Qp, "create QP"),
    ("rdma_create_qp_ex", Stage::Qp, "create QP"),
    ("rdma_create_srq", Stage::Qp, "create SRQ"),
    ("rdma_create_srq_ex", Stage::Qp, "create SRQ"),
    ("rdma_init_qp_attr", Stage::Qp, "prepare QP"),
    ("rdma_connect", Stage::Connect, "connect"),
    ("rdma_connect_ece", Stage::Connect, "connect"),
    ("rdma_establish", Stage::Connect, "establish"),
    ("rdma_accept", Stage::Accept, "accept"),
    ("rdma_accept_ece", Stage::Accept, "accept"),
    ("rdma_reject", Stage::Accept, "reject"),
    ("rdma_reject_ece", Stage::Accept, "reject"),
    ("rdma_notify", Stage::Established, "notify"),
    ("rdma_disconnect", Stage::Teardown, "disconnect"),
    ("rdma_destroy_id", Stage::Teardown, "destroy id"),
    ("rdma_destroy_qp", Stage::Teardown, "destroy QP"),
    ("rdma_destroy_ep", Stage::Teardown, "destroy endpoint"),
    ("rdma_join_multicast", Stage::Multicast, "join multicast group"),
    ("rdma_join_multicast_ex", Stage::Multicast, "join multicast group"),
    ("rdma_leave_multicast", Stage::Multicast, "leave multicast group"),
    ("ibv_attach_mcast", Stage::Multicast, "attach QP to multicast group"),
    ("ibv_get_device_list", Stage::Setup, "list devices"),
    ("ibv_open_device", Stage::Setup, "open device"),
    ("ibv_query_device", Stage::Setup, "query device"),
    ("ibv_query_port", Stage::Setup, "query port"),
    ("ibv_alloc_pd", Stage::Setup, "create PD"),
    ("ibv_create_ah", Stage::Qp, "create address handle"),
    ("ibv_create_cq", Stage::Cq, "create CQ"),
    ("ibv_create_comp_channel", Stage::Cq, "create completion channel"),
    ("ibv_resize_cq", Stage::Cq, "resize CQ"),
    ("ibv_create_qp", Stage::Qp, "create QP"),
    ("ibv_create_qp_ex", Stage::Qp, "create QP"),
    ("ibv_modify_qp", Stage::Qp, "modify QP"),
    ("ibv_query_qp", Stage::Qp, "query QP"),
    ("ibv_create_srq", Stage::Qp, "create SRQ"),
    ("ibv_create_srq_ex", Stage::Qp, "create SRQ"),
    ("ibv_reg_mr", Stage::Memory, "register memory"),
    ("ibv_reg_mr_iova", Stage::Memory, "register memory"),
    ("ibv_reg_mr_iova2", Stage::Memory, "register memory"),
    ("ibv_reg_dmabuf_mr", Stage::Memory, "register dma-buf memory"),
    ("ibv_rereg_mr", Stage::Memory, "change memory registration"),
    ("ibv_dereg_mr", Stage::Teardown, "deregister memory"),
    ("ibv_dealloc_pd", Stage::Teardown, "destroy PD"),
    ("ibv_destroy_cq", Stage::Teardown, "destroy CQ"),
    ("ibv_destroy_comp_channel", Stage::Teardown, "destroy completion channel"),
    ("ibv_destroy_qp", Stage::Teardown, "destroy QP"),
    ("ibv_destroy_srq", Stage::Teardown, "destroy SRQ"),
    ("ibv_close_device", Stage::Teardown, "close device"),
];

fn find(call: &str) -> Option<&'static (&'static str, Stage, &'static str)> {
    CALLS.iter().find(|(name, _, _)| *name == call)
}

/// The names of all calls that are known, in the order of the table.
pub fn calls() -> impl Iterator<Item = &'static str> {
    CALLS.iter().map(|(name, _, _)| *name)
}

/// The stage of a call; `Setup` for one that is not known.
pub fn stage_of_call(call: &str) -> Stage {
    find(call).map_or(Stage::Setup, |(_, stage, _)| *stage)
}

/// What the call attempts, as it stands at the beginning of a line: "register memory".
pub fn what_of_call(call: &str) -> &'static str {
    find(call).map_or("call", |(_, _, what)| *what)
}

/// What was going on when an event came, as it stands at the beginning of a line.
pub fn what_of_event(event: i32, role: Role) -> &'static str {
    match stage_of_event(event, role) {
        Stage::Address => "resolve address",
        Stage::Route => "resolve route",
        Stage::Established | Stage::Device | Stage::Teardown => "connection",
        Stage::Multicast => "join multicast group",
        Stage::Accept => "accept",
        Stage::Connect => "connect",
        _ => "event",
    }
}
