//! `<rdma/rdma_cma.h>`.

use super::verbs::{IbvCompChannel, IbvContext, IbvCq, IbvPd, IbvQp, IbvSrq};
use libc::{c_int, c_void, sockaddr, sockaddr_storage, socklen_t};

/// `struct rdma_event_channel`.
#[repr(C)]
pub struct RdmaEventChannel {
    pub fd: c_int,
}

/// `union ibv_gid`, which is aligned for its 64-bit members.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct IbvGid {
    pub raw: [u8; 16],
}

/// `struct rdma_ib_addr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RdmaIbAddr {
    pub sgid: IbvGid,
    pub dgid: IbvGid,
    pub pkey: u16,
}

/// `struct rdma_addr`; the two address unions are as large as a `sockaddr_storage`.
#[repr(C)]
pub struct RdmaAddr {
    pub src: sockaddr_storage,
    pub dst: sockaddr_storage,
    pub ib: RdmaIbAddr,
}

/// `struct rdma_route`.
#[repr(C)]
pub struct RdmaRoute {
    pub addr: RdmaAddr,
    pub path_rec: *mut c_void,
    pub num_paths: c_int,
}

/// `struct rdma_cm_id`.
#[repr(C)]
pub struct RdmaCmId {
    pub verbs: *mut IbvContext,
    pub channel: *mut RdmaEventChannel,
    pub context: *mut c_void,
    pub qp: *mut IbvQp,
    pub route: RdmaRoute,
    pub ps: c_int,
    pub port_num: u8,
    pub event: *mut RdmaCmEvent,
    pub send_cq_channel: *mut IbvCompChannel,
    pub send_cq: *mut IbvCq,
    pub recv_cq_channel: *mut IbvCompChannel,
    pub recv_cq: *mut IbvCq,
    pub srq: *mut IbvSrq,
    pub pd: *mut IbvPd,
    pub qp_type: c_int,
}

/// `struct rdma_conn_param`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RdmaConnParam {
    pub private_data: *const c_void,
    pub private_data_len: u8,
    pub responder_resources: u8,
    pub initiator_depth: u8,
    pub flow_control: u8,
    pub retry_count: u8,
    pub rnr_retry_count: u8,
    pub srq: u8,
    pub qp_num: u32,
}

/// `struct rdma_cm_event` up to the connection parameters, whose first two members
/// (private data and its length) stand at the same place in `struct rdma_ud_param`.
#[repr(C)]
pub struct RdmaCmEvent {
    pub id: *mut RdmaCmId,
    pub listen_id: *mut RdmaCmId,
    pub event: c_int,
    pub status: c_int,
    pub conn: RdmaConnParam,
}

/// `struct rdma_addrinfo`, up to the addresses.
#[repr(C)]
pub struct RdmaAddrInfo {
    pub ai_flags: c_int,
    pub ai_family: c_int,
    pub ai_qp_type: c_int,
    pub ai_port_space: c_int,
    pub ai_src_len: socklen_t,
    pub ai_dst_len: socklen_t,
    pub ai_src_addr: *mut sockaddr,
    pub ai_dst_addr: *mut sockaddr,
}

/// `struct rdma_cm_join_mc_attr_ex` is only handed through.
#[repr(C)]
pub struct RdmaCmJoinMcAttrEx {
    pub _opaque: [u8; 0],
}

/// `enum rdma_port_space`.
pub mod port_space {
    pub const IPOIB: i32 = 0x0002;
    pub const TCP: i32 = 0x0106;
    pub const UDP: i32 = 0x0111;
    pub const IB: i32 = 0x013F;

    /// The name as in the `RDMA_PS_` constants.
    pub fn name(ps: i32) -> Option<&'static str> {
        match ps {
            IPOIB => Some("IPOIB"),
            TCP => Some("TCP"),
            UDP => Some("UDP"),
            IB => Some("IB"),
            _ => None,
        }
    }
}
