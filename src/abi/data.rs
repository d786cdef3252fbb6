//! `<infiniband/verbs.h>`: what the reuse probe of the pool needs to connect two queue pairs of its own and
//! to send over them. The program's own data path is never touched.

use super::verbs::{IbvContext, IbvCq, IbvQp, IbvQpCap};
use libc::{c_int, c_uint, c_void};

/// `struct ibv_global_route` and the rest of `struct ibv_ah_attr`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct AhAttr {
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
pub struct QpAttr {
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
    pub ah_attr: AhAttr,
    pub alt_ah_attr: AhAttr,
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
pub struct Sge {
    pub addr: u64,
    pub length: u32,
    pub lkey: u32,
}

/// `struct ibv_send_wr`; of its unions only zeros are needed.
#[repr(C)]
pub struct SendWr {
    pub wr_id: u64,
    pub next: *mut SendWr,
    pub sg_list: *mut Sge,
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
pub struct RecvWr {
    pub wr_id: u64,
    pub next: *mut RecvWr,
    pub sg_list: *mut Sge,
    pub num_sge: c_int,
}

/// `struct ibv_wc`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Wc {
    pub wr_id: u64,
    pub status: c_int,
    pub opcode: c_int,
    pub rest: [u32; 8],
}

/// `struct ibv_mr`, up to the key.
#[repr(C)]
pub struct Mr {
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
pub struct PortAttr {
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

pub type PollCq = unsafe extern "C-unwind" fn(*mut IbvCq, c_int, *mut Wc) -> c_int;
pub type PostSend = unsafe extern "C-unwind" fn(*mut IbvQp, *mut SendWr, *mut *mut SendWr) -> c_int;
pub type PostRecv = unsafe extern "C-unwind" fn(*mut IbvQp, *mut RecvWr, *mut *mut RecvWr) -> c_int;
