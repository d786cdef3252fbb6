//! `<infiniband/verbs.h>`.

use libc::{c_char, c_int, c_uint, c_void};

/// `struct ibv_device`, up to the name.
#[repr(C)]
pub struct IbvDevice {
    pub ops: [*mut c_void; 2],
    pub node_type: c_int,
    pub transport_type: c_int,
    pub name: [c_char; 64],
}

/// `IBV_TRANSPORT_IWARP` of `enum ibv_transport_type`.
pub const TRANSPORT_IWARP: c_int = 1;

/// `struct ibv_context`, up to the descriptor of asynchronous events.
#[repr(C)]
pub struct IbvContext {
    pub device: *mut IbvDevice,
    pub ops: [*mut c_void; 32],
    pub cmd_fd: c_int,
    pub async_fd: c_int,
}

/// `struct ibv_pd`.
#[repr(C)]
pub struct IbvPd {
    pub context: *mut IbvContext,
    pub handle: u32,
}

/// `struct ibv_qp`, up to the type.
#[repr(C)]
pub struct IbvQp {
    pub context: *mut IbvContext,
    pub qp_context: *mut c_void,
    pub pd: *mut IbvPd,
    pub send_cq: *mut IbvCq,
    pub recv_cq: *mut IbvCq,
    pub srq: *mut IbvSrq,
    pub handle: u32,
    pub qp_num: u32,
    pub state: c_int,
    pub qp_type: c_int,
}

/// `struct ibv_cq`, up to the program's own context.
#[repr(C)]
pub struct IbvCq {
    pub context: *mut IbvContext,
    pub channel: *mut IbvCompChannel,
    pub cq_context: *mut c_void,
}

/// `struct ibv_srq`, up to the context.
#[repr(C)]
pub struct IbvSrq {
    pub context: *mut IbvContext,
}

/// `struct ibv_comp_channel`, up to the descriptor.
#[repr(C)]
pub struct IbvCompChannel {
    pub context: *mut IbvContext,
    pub fd: c_int,
}

/// `struct ibv_srq_init_attr` is only handed through.
#[repr(C)]
pub struct IbvSrqInitAttr {
    pub _opaque: [u8; 0],
}

/// So is `struct ibv_srq_init_attr_ex`.
#[repr(C)]
pub struct IbvSrqInitAttrEx {
    pub _opaque: [u8; 0],
}

/// `struct ibv_qp_cap`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IbvQpCap {
    pub max_send_wr: u32,
    pub max_recv_wr: u32,
    pub max_send_sge: u32,
    pub max_recv_sge: u32,
    pub max_inline_data: u32,
}

/// `struct ibv_qp_init_attr`; the first members of `struct ibv_qp_init_attr_ex` are the same.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IbvQpInitAttr {
    pub qp_context: *mut c_void,
    pub send_cq: *mut IbvCq,
    pub recv_cq: *mut IbvCq,
    pub srq: *mut IbvSrq,
    pub cap: IbvQpCap,
    pub qp_type: c_int,
    pub sq_sig_all: c_int,
}

/// `struct ibv_qp_init_attr_ex`, up to the protection domain. Its mask stands where the plain structure
/// ends in four unused bytes.
#[repr(C)]
pub struct IbvQpInitAttrEx {
    pub qp_context: *mut c_void,
    pub send_cq: *mut IbvCq,
    pub recv_cq: *mut IbvCq,
    pub srq: *mut IbvSrq,
    pub cap: IbvQpCap,
    pub qp_type: c_int,
    pub sq_sig_all: c_int,
    pub comp_mask: u32,
    pub pd: *mut IbvPd,
}

/// `IBV_QP_INIT_ATTR_PD` of `enum ibv_qp_init_attr_mask`.
pub const INIT_ATTR_PD: u32 = 1;

/// Room for a whole `struct ibv_qp_attr` (144 bytes), which ibv_query_qp fills.
#[repr(C)]
pub struct QueryBuffer {
    pub attr: IbvQpAttr,
    pub _rest: [u64; 32],
}

/// `IBV_QP_AV` of `enum ibv_qp_attr_mask`: the address vector is valid.
pub const QP_AV: c_int = 1 << 7;
/// `IBV_QP_STATE` of `enum ibv_qp_attr_mask`.
pub const QP_STATE: c_int = 1;
/// `IBV_QP_RQ_PSN` and `IBV_QP_SQ_PSN`.
pub const QP_RQ_PSN: c_int = 1 << 12;
pub const QP_SQ_PSN: c_int = 1 << 16;

/// `struct ibv_async_event`; the element is a pointer, or a port number in its first four bytes.
#[repr(C)]
pub struct IbvAsyncEvent {
    pub element: *mut c_void,
    pub event_type: c_int,
}

/// `struct ibv_device_attr`, whole, because the library fills it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IbvDeviceAttr {
    pub fw_ver: [c_char; 64],
    pub node_guid: u64,
    pub sys_image_guid: u64,
    pub max_mr_size: u64,
    pub page_size_cap: u64,
    pub vendor_id: u32,
    pub vendor_part_id: u32,
    pub hw_ver: u32,
    pub max_qp: c_int,
    pub max_qp_wr: c_int,
    pub device_cap_flags: c_uint,
    pub max_sge: c_int,
    pub max_sge_rd: c_int,
    pub max_cq: c_int,
    pub max_cqe: c_int,
    pub max_mr: c_int,
    pub max_pd: c_int,
    pub rd_atom_and_atomic_cap: [c_int; 6],
    pub max_ee: c_int,
    pub max_rdd: c_int,
    pub max_mw: c_int,
    pub max_raw_ipv6_qp: c_int,
    pub max_raw_ethy_qp: c_int,
    pub max_mcast_grp: c_int,
    pub max_mcast_qp_attach: c_int,
    pub max_total_mcast_qp_attach: c_int,
    pub max_ah: c_int,
    pub max_fmr: c_int,
    pub max_map_per_fmr: c_int,
    pub max_srq: c_int,
    pub max_srq_wr: c_int,
    pub max_srq_sge: c_int,
    pub max_pkeys: u16,
    pub local_ca_ack_delay: u8,
    pub phys_port_cnt: u8,
}

/// Element kinds of an asynchronous event (`ibv_get_async_event(3)`).
pub mod async_event {
    pub const CQ_ERR: i32 = 0;
    pub const QP_FATAL: i32 = 1;
    pub const PATH_MIG_ERR: i32 = 7;
    pub const DEVICE_FATAL: i32 = 8;
    pub const PORT_ACTIVE: i32 = 9;
    pub const SM_CHANGE: i32 = 13;
    pub const QP_LAST_WQE_REACHED: i32 = 16;
    pub const CLIENT_REREGISTER: i32 = 17;
    pub const GID_CHANGE: i32 = 18;

    /// Does the event's element point to a queue pair?
    pub fn is_qp(event: i32) -> bool {
        (QP_FATAL..=PATH_MIG_ERR).contains(&event) || event == QP_LAST_WQE_REACHED
    }

    /// Is the event's element a port number?
    pub fn is_port(event: i32) -> bool {
        (PORT_ACTIVE..=SM_CHANGE).contains(&event)
            || event == CLIENT_REREGISTER
            || event == GID_CHANGE
    }
}

// What the reuse probe of the pool needs to connect two queue pairs of its own and to send over them. The program's own data
// path is never touched.

/// `struct ibv_global_route` and the rest of `struct ibv_ah_attr`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct IbvAhAttr {
    pub dgid: [u64; 2],
    pub flow_label: u32,
    pub sgid_index: u8,
    pub hop_limit: u8,
    pub traffic_class: u8,
    pub dlid: u16,
    pub sl: u8,
    pub src_path_bits: u8,
    pub static_rate: u8,
    pub is_global: u8,
    pub port_num: u8,
}

/// `struct ibv_qp_attr`, whole.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IbvQpAttr {
    pub qp_state: c_int,
    pub cur_qp_state: c_int,
    pub path_mtu: c_int,
    pub path_mig_state: c_int,
    pub qkey: u32,
    pub rq_psn: u32,
    pub sq_psn: u32,
    pub dest_qp_num: u32,
    pub qp_access_flags: c_uint,
    pub cap: IbvQpCap,
    pub ah_attr: IbvAhAttr,
    pub alt_ah_attr: IbvAhAttr,
    pub pkey_index: u16,
    pub alt_pkey_index: u16,
    pub en_sqd_async_notify: u8,
    pub sq_draining: u8,
    pub max_rd_atomic: u8,
    pub max_dest_rd_atomic: u8,
    pub min_rnr_timer: u8,
    pub port_num: u8,
    pub timeout: u8,
    pub retry_cnt: u8,
    pub rnr_retry: u8,
    pub alt_port_num: u8,
    pub alt_timeout: u8,
    pub rate_limit: u32,
}

/// `enum ibv_qp_state`.
pub const RESET: c_int = 0;
pub const INIT: c_int = 1;
pub const RTR: c_int = 2;
pub const RTS: c_int = 3;
pub const ERR: c_int = 6;

/// Masks of `enum ibv_qp_attr_mask` for the moves of a reliable connection: state, P_Key, port and access; state, path, MTU,
/// peer, PSN, atomics and RNR timer; state, timeout, retries, PSN, atomics.
pub const TO_INIT: c_int = 1 | 1 << 4 | 1 << 5 | 1 << 3;
pub const TO_RTR: c_int = 1 | 1 << 7 | 1 << 8 | 1 << 20 | 1 << 12 | 1 << 17 | 1 << 15;
pub const TO_RTS: c_int = 1 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 16 | 1 << 13;

/// `struct ibv_sge`.
#[repr(C)]
pub struct IbvSge {
    pub addr: u64,
    pub length: u32,
    pub lkey: u32,
}

/// `struct ibv_send_wr`; of its unions only zeros are needed.
#[repr(C)]
pub struct IbvSendWr {
    pub wr_id: u64,
    pub next: *mut IbvSendWr,
    pub sg_list: *mut IbvSge,
    pub num_sge: c_int,
    pub opcode: c_int,
    pub send_flags: c_uint,
    pub imm_data: u32,
    pub rest: [u64; 11],
}

/// `IBV_WR_SEND` and `IBV_SEND_SIGNALED`.
pub const WR_SEND: c_int = 2;
pub const SEND_SIGNALED: c_uint = 2;

/// `struct ibv_recv_wr`.
#[repr(C)]
pub struct IbvRecvWr {
    pub wr_id: u64,
    pub next: *mut IbvRecvWr,
    pub sg_list: *mut IbvSge,
    pub num_sge: c_int,
}

/// `struct ibv_wc`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct IbvWc {
    pub wr_id: u64,
    pub status: c_int,
    pub opcode: c_int,
    pub rest: [u32; 8],
}

/// `struct ibv_mr`, up to the key.
#[repr(C)]
pub struct IbvMr {
    pub context: *mut IbvContext,
    pub pd: *mut c_void,
    pub addr: *mut c_void,
    pub length: usize,
    pub handle: u32,
    pub lkey: u32,
}

/// What ibv_query_port fills (`struct ibv_port_attr`, of which `link_layer` and `flags` are the last ones that the
/// exported function knows), with room.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct IbvPortAttr {
    pub state: c_int,
    pub max_mtu: c_int,
    pub active_mtu: c_int,
    pub gid_tbl_len: c_int,
    pub counts: [u32; 4],
    pub pkey_tbl_len: u16,
    pub lid: u16,
    pub sm_lid: u16,
    pub bytes: [u8; 8],
    pub link_layer: u8,
    pub flags: u8,
    pub room: [u64; 8],
}

/// `IBV_PORT_ACTIVE` and `IBV_LINK_LAYER_ETHERNET`.
pub const PORT_ACTIVE: c_int = 4;
pub const ETHERNET: u8 = 2;

/// Places of functions in `struct ibv_context_ops`.
pub const OPS_POLL_CQ: usize = 11;
pub const OPS_POST_SEND: usize = 25;
pub const OPS_POST_RECV: usize = 26;

pub type PollCq = unsafe extern "C-unwind" fn(*mut IbvCq, c_int, *mut IbvWc) -> c_int;
pub type PostSend =
    unsafe extern "C-unwind" fn(*mut IbvQp, *mut IbvSendWr, *mut *mut IbvSendWr) -> c_int;
pub type PostRecv =
    unsafe extern "C-unwind" fn(*mut IbvQp, *mut IbvRecvWr, *mut *mut IbvRecvWr) -> c_int;
