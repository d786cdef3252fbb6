//! The table of exported symbols: what the shim does to each and which C program calls it.
//!
//! `real` takes the version to look up from here, and MATRIX.md is generated from here; a test
//! compares the table with the symbols of the built object.

/// Which library a symbol belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lib {
    Rdmacm,
    Ibverbs,
    Mlx5,
    #[cfg_attr(not(test), allow(dead_code))] // not looked up by this table
    C,
}

impl Lib {
    /// The soname of the real library.
    pub const fn soname(self) -> &'static std::ffi::CStr {
        match self {
            Lib::Rdmacm => c"librdmacm.so.1",
            Lib::Ibverbs => c"libibverbs.so.1",
            Lib::Mlx5 => c"libmlx5.so.1",
            Lib::C => c"libc.so.6",
        }
    }
}

/// One exported symbol.
pub struct Symbol {
    pub name: &'static str,
    pub lib: Lib,
    /// Version node of the real symbol.
    pub version: &'static std::ffi::CStr,
    /// What the shim does to a call.
    #[cfg_attr(not(test), allow(dead_code))] // read by the test that generates MATRIX.md
    pub does: &'static str,
    #[cfg_attr(not(test), allow(dead_code))]
    /// The C program that calls it, bare and preloaded, below `c-tests/`.
    pub test: &'static str,
}

macro_rules! symbols {
    ($($lib:ident $version:literal { $($name:ident: $does:literal, $test:literal;)* })*) => {
        &[$($(Symbol {
            name: stringify!($name), lib: Lib::$lib, version: $version, does: $does, test: $test,
        },)*)*]
    };
}

/// All symbols that the shim exports in place of the real libraries' own.
pub const SYMBOLS: &[Symbol] = symbols! {
    Rdmacm c"RDMACM_1.0" {
        rdma_create_event_channel: "names a missing module, device node or descriptor limit; the channel is known from here on", "calls/rdma_create_event_channel.c";
        rdma_destroy_event_channel: "ends the batching of the channel's events", "calls/rdma_create_event_channel.c";
        rdma_create_id: "starts the record of the id", "calls/rdma_create_id.c";
        rdma_destroy_id: "ends the record; watched while un-acked events block it", "calls/rdma_destroy_id.c";
        rdma_bind_addr: "names a refused address or port", "calls/rdma_bind_addr.c";
        rdma_resolve_addr: "notes the destination; names a failed start", "calls/rdma_resolve_addr.c";
        rdma_resolve_route: "names a failed start", "calls/rdma_resolve_route.c";
        rdma_create_qp: "has the completion queues of librdmacm's own ready; names the limit or the inner call that failed", "calls/rdma_create_qp.c";
        rdma_create_qp_ex: "has the completion queues of librdmacm's own ready; names the limit or the inner call that failed", "calls/rdma_create_qp_ex.c";
        rdma_destroy_qp: "watched while un-acked asynchronous events block it", "calls/rdma_destroy_qp.c";
        rdma_connect: "early warning when no answer comes; names a failed start", "calls/rdma_connect.c";
        rdma_listen: "raises a small backlog (listen.min_backlog); names a refusal", "calls/rdma_listen.c";
        rdma_accept: "names an accept that came too late and failed queue pair moves", "calls/rdma_accept.c";
        rdma_reject: "says that this process refused, and whom", "calls/rdma_reject.c";
        rdma_notify: "names a failure at debug level", "calls/rdma_notify.c";
        rdma_disconnect: "notes that this side ended the connection", "calls/rdma_disconnect.c";
        rdma_join_multicast: "names a failed start", "calls/rdma_join_multicast.c";
        rdma_leave_multicast: "watched while un-acked events block it", "calls/rdma_leave_multicast.c";
        rdma_get_cm_event: "reads each event once it is handed over and explains bad news", "calls/rdma_get_cm_event.c";
        rdma_ack_cm_event: "ends the record of an un-acked event", "calls/rdma_ack_cm_event.c";
        rdma_set_option: "names a refused option", "calls/rdma_set_option.c";
        rdma_migrate_id: "watched while un-acked events block it", "calls/rdma_migrate_id.c";
        rdma_getaddrinfo: "names a failed look-up", "calls/rdma_getaddrinfo.c";
        rdma_get_request: "one line instead of several for the calls inside", "calls/rdma_get_request.c";
        rdma_create_ep: "one line instead of several for the calls inside", "calls/rdma_create_ep.c";
        rdma_destroy_ep: "watched while un-acked events block it", "calls/rdma_destroy_ep.c";
        rdma_create_srq: "names the limit that failed", "calls/rdma_create_srq.c";
        rdma_create_srq_ex: "names the limit that failed", "calls/rdma_create_srq_ex.c";
        rsocket: "refuses, where a tenant policy cannot be kept for rsockets", "calls/rsocket.c";
    }
    Rdmacm c"RDMACM_1.1" {
        rdma_join_multicast_ex: "names a failed start", "calls/rdma_join_multicast_ex.c";
    }
    Rdmacm c"RDMACM_1.2" {
        rdma_establish: "names a failure", "calls/rdma_establish.c";
        rdma_init_qp_attr: "gives an accepted connection its tenant's traffic class; names a client that has gone", "calls/rdma_init_qp_attr.c";
    }
    Rdmacm c"RDMACM_1.3" {
        rdma_reject_ece: "says that this process refused, and whom", "calls/rdma_reject_ece.c";
    }
    Ibverbs c"IBVERBS_1.0" {
        ibv_create_comp_channel: "gives librdmacm one that is ready; names a descriptor limit", "calls/ibv_create_comp_channel.c";
    }
    Ibverbs c"IBVERBS_1.1" {
        ibv_get_device_list: "says once, at info level, that there is no device and why", "calls/ibv_get_device_list.c";
        ibv_open_device: "names a missing device node or permission", "calls/ibv_open_device.c";
        ibv_alloc_pd: "names a failure", "calls/ibv_alloc_pd.c";
        ibv_create_cq: "gives librdmacm one that is ready; names the limit that failed", "calls/ibv_create_cq.c";
        ibv_create_srq: "names the limit that failed", "calls/ibv_create_srq.c";
        ibv_create_qp: "gives one that the pool has ready; names the limit that failed", "calls/ibv_create_qp.c";
        ibv_modify_qp: "keeps the errno that rdma_connect and rdma_accept lose", "calls/ibv_modify_qp.c";
        ibv_destroy_qp: "watched while un-acked asynchronous events block it", "calls/ibv_destroy_qp.c";
        ibv_dealloc_pd: "the pool's queue pairs on it go before", "calls/ibv_dealloc_pd.c";
        ibv_destroy_cq: "the pool's queue pairs on it go before", "calls/ibv_destroy_cq.c";
        ibv_destroy_srq: "the pool's queue pairs on it go before", "calls/ibv_destroy_srq.c";
        ibv_close_device: "the pool's queue pairs on it go before", "calls/ibv_close_device.c";
        ibv_reg_mr: "names memlock limit, address and page trouble", "calls/ibv_reg_mr.c";
        ibv_get_async_event: "explains fatal and path events", "calls/ibv_get_async_event.c";
        ibv_ack_async_event: "ends the record of an un-acked event", "calls/ibv_ack_async_event.c";
    }
    Ibverbs c"IBVERBS_1.7" {
        ibv_reg_mr_iova: "names memlock limit, address and page trouble", "calls/ibv_reg_mr_iova.c";
    }
    Ibverbs c"IBVERBS_1.8" {
        ibv_reg_mr_iova2: "names memlock limit, address and page trouble", "calls/ibv_reg_mr_iova2.c";
    }
    Ibverbs c"IBVERBS_1.12" {
        ibv_reg_dmabuf_mr: "names a failure", "calls/ibv_reg_dmabuf_mr.c";
    }
    Mlx5 c"MLX5_1.2" {
        mlx5dv_set_context_attr: "nothing is made ahead on a device whose buffers the program's functions allocate", "calls/mlx5dv_set_context_attr.c";
    }
};

/// Symbols that the shim calls but does not export.
pub const CALLED_ONLY: &[Symbol] = symbols! {
    Rdmacm c"RDMACM_1.0" {
        rclose: "closes an rsocket that a tenant policy refuses", "";
    }
    Ibverbs c"IBVERBS_1.0" {
        ibv_destroy_comp_channel: "closes the pool's own channels", "";
    }
    Ibverbs c"IBVERBS_1.1" {
        ibv_query_qp: "asked whether anything went over a connection", "";
        ibv_query_device: "asked for the device's limits when a creation failed, and before the pool makes its first queue pair", "";
        ibv_query_port: "asked for the way of the reuse probe", "";
        ibv_query_gid: "asked for the way of the reuse probe", "";
        ibv_dereg_mr: "ends the reuse probe", "";
    }
};

/// Our own API.
#[cfg(test)]
const OWN: &[&str] = &[
    "cmshim_active",
    "cmshim_explain",
    "cmshim_get_async_events",
    "cmshim_get_cm_events",
    "cmshim_pool_warm",
    "cmshim_set_access_check",
    "cmshim_version",
];

/// The table row of a symbol.
pub fn find(name: &str) -> Option<&'static Symbol> {
    SYMBOLS.iter().chain(CALLED_ONLY).find(|s| s.name == name)
}

#[cfg(test)]
mod descriptors;
#[cfg(test)]
mod tests;
