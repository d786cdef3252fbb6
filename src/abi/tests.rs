//! Sizes and offsets against rdma-sys, which bindgen makes from the installed headers.

use super::{cm::*, verbs::*};
use cmshim_core::codes::event;
use rdma_sys as c;
use std::mem::{offset_of, size_of};

macro_rules! same_size {
    ($($ours:ty = $theirs:ty),* $(,)?) => { $(
        assert_eq!(size_of::<$ours>(), size_of::<$theirs>(), stringify!($ours));
    )* };
}

macro_rules! same_offset {
    ($($ours:ty = $theirs:ty { $($o:ident = $t:ident),* $(,)? })*) => { $( $(
        assert_eq!(offset_of!($ours, $o), offset_of!($theirs, $t), concat!(stringify!($ours), ".", stringify!($o)));
    )* )* };
}

#[test]
fn whole_structures_have_the_size_of_the_headers() {
    same_size!(
        RdmaEventChannel = c::rdma_event_channel,
        RdmaIbAddr = c::rdma_ib_addr,
        RdmaAddr = c::rdma_addr,
        RdmaRoute = c::rdma_route,
        RdmaCmId = c::rdma_cm_id,
        RdmaConnParam = c::rdma_conn_param,
        IbvPd = c::ibv_pd,
        IbvQpCap = c::ibv_qp_cap,
        IbvQpInitAttr = c::ibv_qp_init_attr,
        IbvAsyncEvent = c::ibv_async_event,
        IbvDeviceAttr = c::ibv_device_attr,
    );
}

#[test]
fn cm_members_stand_where_the_headers_put_them() {
    same_offset!(
        RdmaAddr = c::rdma_addr { ib = addr }
        RdmaRoute = c::rdma_route { addr = addr, path_rec = path_rec, num_paths = num_paths }
        RdmaCmId = c::rdma_cm_id {
            verbs = verbs, channel = channel, context = context, qp = qp, route = route, ps = ps,
            port_num = port_num, event = event, send_cq_channel = send_cq_channel, send_cq = send_cq,
            recv_cq_channel = recv_cq_channel, recv_cq = recv_cq, srq = srq, pd = pd, qp_type = qp_type,
        }
        RdmaConnParam = c::rdma_conn_param {
            private_data = private_data, private_data_len = private_data_len,
            retry_count = retry_count, qp_num = qp_num,
        }
        RdmaAddrInfo = c::rdma_addrinfo {
            ai_flags = ai_flags, ai_port_space = ai_port_space, ai_src_len = ai_src_len,
            ai_src_addr = ai_src_addr, ai_dst_addr = ai_dst_addr,
        }
        RdmaCmEvent = c::rdma_cm_event {
            id = id, listen_id = listen_id, event = event, status = status, conn = param,
        }
    );
}

#[test]
fn verbs_members_stand_where_the_headers_put_them() {
    same_offset!(
        IbvDevice = c::ibv_device { node_type = node_type, transport_type = transport_type, name = name }
        IbvContext = c::ibv_context { device = device, ops = ops, cmd_fd = cmd_fd, async_fd = async_fd }
        IbvPd = c::ibv_pd { context = context }
        IbvQp = c::ibv_qp {
            context = context, qp_context = qp_context, pd = pd, send_cq = send_cq, recv_cq = recv_cq, srq = srq,
            qp_num = qp_num, state = state, qp_type = qp_type,
        }
        IbvCq = c::ibv_cq { context = context, channel = channel, cq_context = cq_context }
        IbvCompChannel = c::ibv_comp_channel { context = context, fd = fd }
        IbvQpInitAttrEx = c::ibv_qp_init_attr_ex { sq_sig_all = sq_sig_all, comp_mask = comp_mask, pd = pd }
        IbvSrq = c::ibv_srq { context = context }
        IbvQpInitAttr = c::ibv_qp_init_attr {
            qp_context = qp_context, send_cq = send_cq, recv_cq = recv_cq, srq = srq, cap = cap, qp_type = qp_type,
            sq_sig_all = sq_sig_all,
        }
        IbvQpAttr = c::ibv_qp_attr {
            qp_state = qp_state, cur_qp_state = cur_qp_state, rq_psn = rq_psn, sq_psn = sq_psn,
        }
        IbvAsyncEvent = c::ibv_async_event { element = element, event_type = event_type }
        IbvDeviceAttr = c::ibv_device_attr {
            max_qp = max_qp, max_qp_wr = max_qp_wr, max_sge = max_sge, max_cq = max_cq,
            max_cqe = max_cqe, max_mr = max_mr, max_srq_wr = max_srq_wr, phys_port_cnt = phys_port_cnt,
        }
    );
}

#[test]
fn the_query_buffer_holds_a_whole_structure() {
    assert!(size_of::<QueryBuffer>() >= size_of::<c::ibv_qp_attr>());
    assert_eq!(QP_RQ_PSN as u32, c::ibv_qp_attr_mask::IBV_QP_RQ_PSN.0);
    assert_eq!(QP_SQ_PSN as u32, c::ibv_qp_attr_mask::IBV_QP_SQ_PSN.0);
}

#[test]
fn queue_pair_types_are_those_of_the_headers() {
    use cmshim_core::pool::{QPT_RC, QPT_UC};
    assert_eq!(QPT_RC, c::ibv_qp_type::IBV_QPT_RC as i32);
    assert_eq!(QPT_UC, c::ibv_qp_type::IBV_QPT_UC as i32);
    assert_eq!(
        INIT_ATTR_PD,
        c::ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_PD.0
    );
}

#[test]
fn event_numbers_are_those_of_the_headers() {
    assert_eq!(
        event::ADDR_ERROR,
        c::rdma_cm_event_type::RDMA_CM_EVENT_ADDR_ERROR as i32
    );
    assert_eq!(
        event::REJECTED,
        c::rdma_cm_event_type::RDMA_CM_EVENT_REJECTED as i32
    );
    assert_eq!(
        event::TIMEWAIT_EXIT,
        c::rdma_cm_event_type::RDMA_CM_EVENT_TIMEWAIT_EXIT as i32
    );
    assert_eq!(port_space::TCP, c::rdma_port_space::RDMA_PS_TCP as i32);
    assert_eq!(port_space::UDP, c::rdma_port_space::RDMA_PS_UDP as i32);
    assert_eq!(
        async_event::QP_LAST_WQE_REACHED,
        c::ibv_event_type::IBV_EVENT_QP_LAST_WQE_REACHED as i32
    );
    assert_eq!(
        async_event::CQ_ERR,
        c::ibv_event_type::IBV_EVENT_CQ_ERR as i32
    );
    assert_eq!(
        async_event::DEVICE_FATAL,
        c::ibv_event_type::IBV_EVENT_DEVICE_FATAL as i32
    );
    assert_eq!(
        async_event::GID_CHANGE,
        c::ibv_event_type::IBV_EVENT_GID_CHANGE as i32
    );
}
