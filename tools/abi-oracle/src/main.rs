//! A second opinion on `src/abi`: sizes and offsets against rdma-sys, which bindgen makes from the installed
//! headers. The first one, complete and without libclang, is `src/headers`.

#[allow(dead_code)]
#[path = "../../../src/abi/mod.rs"]
mod abi;

use abi::{cm::*, verbs::*};
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
        IbvAsyncEvent = c::ibv_async_event { element = element, event_type = event_type }
        IbvDeviceAttr = c::ibv_device_attr {
            max_qp = max_qp, max_qp_wr = max_qp_wr, max_sge = max_sge, max_cq = max_cq,
            max_cqe = max_cqe, max_mr = max_mr, max_srq_wr = max_srq_wr, phys_port_cnt = phys_port_cnt,
        }
    );
}

fn what_the_reuse_probe_works_with_is_that_of_the_headers() {
    same_size!(
        IbvAhAttr = c::ibv_ah_attr,
        IbvQpAttr = c::ibv_qp_attr,
        IbvSge = c::ibv_sge,
        IbvSendWr = c::ibv_send_wr,
        IbvRecvWr = c::ibv_recv_wr,
        IbvWc = c::ibv_wc,
    );
    assert_eq!(
        offset_of!(IbvAhAttr, traffic_class),
        offset_of!(c::ibv_global_route, traffic_class)
    );
    assert!(size_of::<IbvPortAttr>() > size_of::<c::ibv_port_attr>());
    same_offset!(
        IbvAhAttr = c::ibv_ah_attr { dgid = grh, dlid = dlid, is_global = is_global, port_num = port_num }
        IbvQpAttr = c::ibv_qp_attr {
            qp_state = qp_state, cur_qp_state = cur_qp_state, path_mtu = path_mtu, rq_psn = rq_psn, sq_psn = sq_psn, dest_qp_num = dest_qp_num, ah_attr = ah_attr,
            max_rd_atomic = max_rd_atomic, max_dest_rd_atomic = max_dest_rd_atomic, min_rnr_timer = min_rnr_timer,
            port_num = port_num, timeout = timeout, retry_cnt = retry_cnt, rnr_retry = rnr_retry,
        }
        IbvSendWr = c::ibv_send_wr {
            next = next, sg_list = sg_list, num_sge = num_sge, opcode = opcode, send_flags = send_flags,
        }
        IbvRecvWr = c::ibv_recv_wr { sg_list = sg_list, num_sge = num_sge }
        IbvWc = c::ibv_wc { status = status, opcode = opcode }
        IbvMr = c::ibv_mr { lkey = lkey }
        IbvPortAttr = c::ibv_port_attr { state = state, gid_tbl_len = gid_tbl_len, lid = lid, link_layer = link_layer }
    );
}

fn main() {
    whole_structures_have_the_size_of_the_headers();
    cm_members_stand_where_the_headers_put_them();
    verbs_members_stand_where_the_headers_put_them();
    what_the_reuse_probe_works_with_is_that_of_the_headers();
    println!("rdma-sys agrees");
}
