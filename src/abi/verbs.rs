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

/// `struct ibv_mr` is only handed through.
#[repr(C)]
pub struct IbvMr {
    pub _opaque: [u8; 0],
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

/// `struct ibv_qp_attr`, up to the sequence numbers.
#[repr(C)]
pub struct IbvQpAttr {
    pub qp_state: c_int,
    pub cur_qp_state: c_int,
    pub path_mtu: c_int,
    pub path_mig_state: c_int,
    pub qkey: u32,
    pub rq_psn: u32,
    pub sq_psn: u32,
}

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
