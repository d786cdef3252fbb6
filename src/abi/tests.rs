//! Sizes and offsets against rdma-sys, which bindgen makes from the installed headers.

use super::{cm::*, data, verbs::*};
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
    assert_eq!(QP_AV as u32, c::ibv_qp_attr_mask::IBV_QP_AV.0);
    assert_eq!(QP_RQ_PSN as u32, c::ibv_qp_attr_mask::IBV_QP_RQ_PSN.0);
    assert_eq!(QP_SQ_PSN as u32, c::ibv_qp_attr_mask::IBV_QP_SQ_PSN.0);
}

#[test]
fn what_the_reuse_probe_works_with_is_that_of_the_headers() {
    same_size!(
        data::AhAttr = c::ibv_ah_attr,
        data::QpAttr = c::ibv_qp_attr,
        data::Sge = c::ibv_sge,
        data::SendWr = c::ibv_send_wr,
        data::RecvWr = c::ibv_recv_wr,
        data::Wc = c::ibv_wc,
    );
    assert_eq!(
        offset_of!(data::AhAttr, traffic_class),
        offset_of!(c::ibv_global_route, traffic_class)
    );
    assert!(size_of::<data::PortAttr>() > size_of::<c::ibv_port_attr>());
    same_offset!(
        data::AhAttr = c::ibv_ah_attr { dgid = grh, dlid = dlid, is_global = is_global, port_num = port_num }
        data::QpAttr = c::ibv_qp_attr {
            qp_state = qp_state, path_mtu = path_mtu, dest_qp_num = dest_qp_num, ah_attr = ah_attr,
            max_rd_atomic = max_rd_atomic, max_dest_rd_atomic = max_dest_rd_atomic, min_rnr_timer = min_rnr_timer,
            port_num = port_num, timeout = timeout, retry_cnt = retry_cnt, rnr_retry = rnr_retry,
        }
        data::SendWr = c::ibv_send_wr {
            next = next, sg_list = sg_list, num_sge = num_sge, opcode = opcode, send_flags = send_flags,
        }
        data::RecvWr = c::ibv_recv_wr { sg_list = sg_list, num_sge = num_sge }
        data::Wc = c::ibv_wc { status = status, opcode = opcode }
        data::Mr = c::ibv_mr { lkey = lkey }
        data::PortAttr = c::ibv_port_attr { state = state, gid_tbl_len = gid_tbl_len, lid = lid, link_layer = link_layer }
    );
    assert_eq!(
        [data::RESET, data::INIT, data::RTR, data::RTS, data::ERR],
        [
            c::ibv_qp_state::IBV_QPS_RESET as i32,
            c::ibv_qp_state::IBV_QPS_INIT as i32,
            c::ibv_qp_state::IBV_QPS_RTR as i32,
            c::ibv_qp_state::IBV_QPS_RTS as i32,
            c::ibv_qp_state::IBV_QPS_ERR as i32,
        ]
    );
    let mask = |bits: &[c::ibv_qp_attr_mask]| bits.iter().map(|b| b.0).sum::<u32>() as i32;
    use c::ibv_qp_attr_mask as m;
    assert_eq!(
        data::TO_INIT,
        mask(&[
            m::IBV_QP_STATE,
            m::IBV_QP_PKEY_INDEX,
            m::IBV_QP_PORT,
            m::IBV_QP_ACCESS_FLAGS
        ])
    );
    assert_eq!(
        data::TO_RTR,
        mask(&[
            m::IBV_QP_STATE,
            m::IBV_QP_AV,
            m::IBV_QP_PATH_MTU,
            m::IBV_QP_DEST_QPN,
            m::IBV_QP_RQ_PSN,
            m::IBV_QP_MAX_DEST_RD_ATOMIC,
            m::IBV_QP_MIN_RNR_TIMER,
        ])
    );
    assert_eq!(
        data::TO_RTS,
        mask(&[
            m::IBV_QP_STATE,
            m::IBV_QP_TIMEOUT,
            m::IBV_QP_RETRY_CNT,
            m::IBV_QP_RNR_RETRY,
            m::IBV_QP_SQ_PSN,
            m::IBV_QP_MAX_QP_RD_ATOMIC,
        ])
    );
    let place = |offset: usize| offset / size_of::<*mut u8>();
    assert_eq!(
        data::OPS_POLL_CQ,
        place(offset_of!(c::ibv_context_ops, poll_cq))
    );
    assert_eq!(
        data::OPS_POST_SEND,
        place(offset_of!(c::ibv_context_ops, post_send))
    );
    assert_eq!(
        data::OPS_POST_RECV,
        place(offset_of!(c::ibv_context_ops, post_recv))
    );
    assert_eq!(data::WR_SEND, c::ibv_wr_opcode::IBV_WR_SEND as i32);
    assert_eq!(data::SEND_SIGNALED, c::ibv_send_flags::IBV_SEND_SIGNALED.0);
    assert_eq!(data::PORT_ACTIVE, c::ibv_port_state::IBV_PORT_ACTIVE as i32);
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
