//! `<rdma/rdma_user_cm.h>`: the commands that librdmacm writes to an event channel's descriptor.
//!
//! A command is a header and its structure. Offsets below count from the start of the header.

/// `struct rdma_ucm_cmd_hdr`: u32 cmd, u16 in, u16 out.
pub const HEADER: usize = 8;

/// `RDMA_USER_CM_CMD_*`.
pub mod cmd {
    pub const CREATE_ID: u32 = 0;
    pub const DESTROY_ID: u32 = 1;
    pub const LISTEN: u32 = 7;
    pub const ACCEPT: u32 = 8;
    pub const REJECT: u32 = 9;
    pub const DISCONNECT: u32 = 10;
    pub const INIT_QP_ATTR: u32 = 11;
    pub const GET_EVENT: u32 = 12;
    pub const JOIN_IP_MCAST: u32 = 16;
    pub const LEAVE_MCAST: u32 = 17;
    pub const MIGRATE_ID: u32 = 18;
    pub const QUERY: u32 = 19;
    pub const JOIN_MCAST: u32 = 22;
    /// Far above the last one of Linux 6.12: what is above is no command.
    pub const LIMIT: u32 = 64;
}

/// `struct rdma_ucm_create_id`.
pub const CREATE_ID_UID: usize = 8;
pub const CREATE_ID_RESPONSE: usize = 16;

/// `struct rdma_ucm_destroy_id`, which LEAVE_MCAST takes too.
pub const DESTROY_ID_RESPONSE: usize = 8;
pub const DESTROY_ID_ID: usize = 16;
pub const DESTROY_ID_SIZE: usize = 24;

/// `struct rdma_ucm_listen`.
pub const LISTEN_ID: usize = 8;
pub const LISTEN_BACKLOG: usize = 12;

/// `struct rdma_ucm_accept`.
pub const ACCEPT_UID: usize = 8;
pub const ACCEPT_ID: usize = 288;

/// `struct rdma_ucm_reject`.
pub const REJECT_ID: usize = 8;
pub const REJECT_LENGTH: usize = 12;
pub const REJECT_DATA: usize = 16;
pub const REJECT_SIZE: usize = 272;

/// `struct rdma_ucm_disconnect`.
pub const DISCONNECT_ID: usize = 8;

/// `struct rdma_ucm_init_qp_attr`, and of its answer, `struct ib_uverbs_qp_attr`, the mask and the traffic class
/// of the primary path.
pub const INIT_QP_ATTR_RESPONSE: usize = 8;
pub const INIT_QP_ATTR_ID: usize = 16;
pub const QP_ATTR_MASK: usize = 0;
pub const QP_ATTR_TRAFFIC_CLASS: usize = 62;
/// `IB_QP_AV` of `enum ib_qp_attr_mask`.
pub const QP_ATTR_AV: u32 = 1 << 7;

/// `struct rdma_ucm_query`, and `struct rdma_ucm_query_addr_resp`, which is the answer to both options.
pub const QUERY_RESPONSE: usize = 8;
pub const QUERY_ID: usize = 16;
pub const QUERY_OPTION: usize = 20;
pub const QUERY_SIZE: usize = 24;
pub const QUERY_ADDR: u32 = 0;
pub const QUERY_GID: u32 = 2;

#[repr(C)]
pub struct QueryAddrResp {
    pub node_guid: u64,
    pub port_num: u8,
    pub _reserved: u8,
    /// Big endian.
    pub pkey: u16,
    pub src_size: u16,
    pub dst_size: u16,
    pub src: libc::sockaddr_storage,
    pub dst: libc::sockaddr_storage,
    pub _device: [u32; 2],
}

/// Where the GID stands in a `struct sockaddr_ib` (`<rdma/ib_addr.h>` of the kernel, `sib_addr`).
pub const SOCKADDR_IB_GID: usize = 8;

/// `struct rdma_ucm_join_ip_mcast`.
pub const JOIN_IP_MCAST_RESPONSE: usize = 8;
pub const JOIN_IP_MCAST_UID: usize = 16;
pub const JOIN_IP_MCAST_ID: usize = 52;

/// `struct rdma_ucm_join_mcast`.
pub const JOIN_MCAST_RESPONSE: usize = 8;
pub const JOIN_MCAST_UID: usize = 16;
pub const JOIN_MCAST_ID: usize = 24;

/// `struct rdma_ucm_get_event`.
pub const GET_EVENT_RESPONSE: usize = 8;
pub const GET_EVENT_SIZE: usize = 16;
/// What the kernel insists on for the answer: `struct rdma_ucm_event_resp` without its last two members
/// (`ucma_get_event`, drivers/infiniband/core/ucma.c).
pub const GET_EVENT_LEAST_ANSWER: usize = 324;

/// `struct rdma_ucm_migrate_id`.
pub const MIGRATE_ID_RESPONSE: usize = 8;
pub const MIGRATE_ID_ID: usize = 16;
pub const MIGRATE_ID_FD: usize = 20;
pub const MIGRATE_ID_SIZE: usize = 24;
