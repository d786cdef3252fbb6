//! Size of each structure, place and size of each of its members.

use super::assert_that;
use crate::abi::{cm, ucm, verbs};
use std::mem::{offset_of, size_of};

/// One member: `first` and `last` are the same, except where ours stands for a run of members.
pub fn member(what: &str, of: &str, first: &str, last: &str, at: usize, size: usize) -> String {
    let place = assert_that(
        &format!("offsetof({of}, {first}) == {at}"),
        &format!("{what} stands at {at}"),
    );
    let fits = match first == last {
        true => format!("sizeof((({of} *)0)->{first}) == {size}"),
        // The run may be followed by padding.
        false => format!("END({of}, {last}) <= {at} + {size}"),
    };
    place + &assert_that(&fits, &format!("{what} has {size} bytes"))
}

fn size_of_member<T, M>(_: impl Fn(&T) -> &M) -> usize {
    size_of::<M>()
}

/// `whole`: as large as in C. `start`: declared up to a member. `room`: larger, for what a library fills.
/// `opaque`: only ever handed through. Behind `+`: members without a counterpart. All members must be listed: a pattern without `..` sees to it.
macro_rules! structures {
    (@size whole, $ours:path, $theirs:expr) => { format!("sizeof({}) == {}", $theirs, size_of::<$ours>()) };
    (@size start, $ours:path, $theirs:expr) => { format!("sizeof({}) >= {}", $theirs, size_of::<$ours>()) };
    (@size room, $ours:path, $theirs:expr) => { format!("sizeof({}) <= {}", $theirs, size_of::<$ours>()) };
    (@size opaque, $ours:path, $theirs:expr) => { format!("sizeof({} *) == {}", $theirs, size_of::<*mut $ours>()) };
    (@last $first:expr) => { $first };
    (@last $first:expr, $last:expr) => { $last };
    ($name:ident: $($how:ident $ours:path: $theirs:literal {
        $($field:ident = $first:literal $(.. $last:literal)?),* $(,)?
    } $(+ { $($beside:ident),* })?)*) => {
        pub fn $name() -> String {
            let mut lines = String::new();
            $({
                #[allow(dead_code)]
                fn all_members(value: $ours) {
                    let $ours { $($field: _,)* $($($beside: _,)*)? } = value;
                }
                let ours = stringify!($ours);
                lines += &assert_that(&structures!(@size $how, $ours, $theirs), ours);
                $(
                    lines += &member(
                        concat!(stringify!($ours), ".", stringify!($field)),
                        $theirs,
                        $first,
                        structures!(@last $first $(, $last)?),
                        offset_of!($ours, $field),
                        size_of_member(|value: &$ours| &value.$field),
                    );
                )*
            })*
            lines
        }
    };
}

structures! { of_the_library:
    whole cm::RdmaEventChannel: "struct rdma_event_channel" { fd = "fd" }
    whole cm::IbvGid: "union ibv_gid" { raw = "raw" }
    whole cm::RdmaIbAddr: "struct rdma_ib_addr" { sgid = "sgid", dgid = "dgid", pkey = "pkey" }
    whole cm::RdmaAddr: "struct rdma_addr" { src = "src_storage", dst = "dst_storage", ib = "addr.ibaddr" }
    whole cm::RdmaRoute: "struct rdma_route" { addr = "addr", path_rec = "path_rec", num_paths = "num_paths" }
    whole cm::RdmaCmId: "struct rdma_cm_id" {
        verbs = "verbs", channel = "channel", context = "context", qp = "qp", route = "route", ps = "ps",
        port_num = "port_num", event = "event", send_cq_channel = "send_cq_channel", send_cq = "send_cq",
        recv_cq_channel = "recv_cq_channel", recv_cq = "recv_cq", srq = "srq", pd = "pd", qp_type = "qp_type",
    }
    whole cm::RdmaConnParam: "struct rdma_conn_param" {
        private_data = "private_data", private_data_len = "private_data_len",
        responder_resources = "responder_resources", initiator_depth = "initiator_depth",
        flow_control = "flow_control", retry_count = "retry_count", rnr_retry_count = "rnr_retry_count",
        srq = "srq", qp_num = "qp_num",
    }
    start cm::RdmaCmEvent: "struct rdma_cm_event" {
        id = "id", listen_id = "listen_id", event = "event", status = "status", conn = "param.conn",
    }
    start cm::RdmaAddrInfo: "struct rdma_addrinfo" {
        ai_flags = "ai_flags", ai_family = "ai_family", ai_qp_type = "ai_qp_type", ai_port_space = "ai_port_space",
        ai_src_len = "ai_src_len", ai_dst_len = "ai_dst_len", ai_src_addr = "ai_src_addr", ai_dst_addr = "ai_dst_addr",
    }
    opaque cm::RdmaCmJoinMcAttrEx: "struct rdma_cm_join_mc_attr_ex" {} + { _opaque }

    start verbs::IbvDevice: "struct ibv_device" {
        ops = "_ops", node_type = "node_type", transport_type = "transport_type", name = "name",
    }
    start verbs::IbvContext: "struct ibv_context" { device = "device", ops = "ops", cmd_fd = "cmd_fd", async_fd = "async_fd" }
    whole verbs::IbvPd: "struct ibv_pd" { context = "context", handle = "handle" }
    start verbs::IbvQp: "struct ibv_qp" {
        context = "context", qp_context = "qp_context", pd = "pd", send_cq = "send_cq", recv_cq = "recv_cq", srq = "srq",
        handle = "handle", qp_num = "qp_num", state = "state", qp_type = "qp_type",
    }
    start verbs::IbvCq: "struct ibv_cq" { context = "context", channel = "channel", cq_context = "cq_context" }
    start verbs::IbvSrq: "struct ibv_srq" { context = "context" }
    start verbs::IbvCompChannel: "struct ibv_comp_channel" { context = "context", fd = "fd" }
    opaque verbs::IbvSrqInitAttr: "struct ibv_srq_init_attr" {} + { _opaque }
    opaque verbs::IbvSrqInitAttrEx: "struct ibv_srq_init_attr_ex" {} + { _opaque }
    whole verbs::IbvQpCap: "struct ibv_qp_cap" {
        max_send_wr = "max_send_wr", max_recv_wr = "max_recv_wr", max_send_sge = "max_send_sge",
        max_recv_sge = "max_recv_sge", max_inline_data = "max_inline_data",
    }
    whole verbs::IbvQpInitAttr: "struct ibv_qp_init_attr" {
        qp_context = "qp_context", send_cq = "send_cq", recv_cq = "recv_cq", srq = "srq", cap = "cap",
        qp_type = "qp_type", sq_sig_all = "sq_sig_all",
    }
    start verbs::IbvQpInitAttrEx: "struct ibv_qp_init_attr_ex" {
        qp_context = "qp_context", send_cq = "send_cq", recv_cq = "recv_cq", srq = "srq", cap = "cap",
        qp_type = "qp_type", sq_sig_all = "sq_sig_all", comp_mask = "comp_mask", pd = "pd",
    }
    room verbs::QueryBuffer: "struct ibv_qp_attr" {} + { attr, _rest }
    whole verbs::IbvAsyncEvent: "struct ibv_async_event" { element = "element", event_type = "event_type" }
    whole verbs::IbvDeviceAttr: "struct ibv_device_attr" {
        fw_ver = "fw_ver", node_guid = "node_guid", sys_image_guid = "sys_image_guid", max_mr_size = "max_mr_size",
        page_size_cap = "page_size_cap", vendor_id = "vendor_id", vendor_part_id = "vendor_part_id", hw_ver = "hw_ver",
        max_qp = "max_qp", max_qp_wr = "max_qp_wr", device_cap_flags = "device_cap_flags", max_sge = "max_sge",
        max_sge_rd = "max_sge_rd", max_cq = "max_cq", max_cqe = "max_cqe", max_mr = "max_mr", max_pd = "max_pd",
        rd_atom_and_atomic_cap = "max_qp_rd_atom".."atomic_cap", max_ee = "max_ee", max_rdd = "max_rdd", max_mw = "max_mw",
        max_raw_ipv6_qp = "max_raw_ipv6_qp", max_raw_ethy_qp = "max_raw_ethy_qp", max_mcast_grp = "max_mcast_grp",
        max_mcast_qp_attach = "max_mcast_qp_attach", max_total_mcast_qp_attach = "max_total_mcast_qp_attach",
        max_ah = "max_ah", max_fmr = "max_fmr", max_map_per_fmr = "max_map_per_fmr", max_srq = "max_srq",
        max_srq_wr = "max_srq_wr", max_srq_sge = "max_srq_sge", max_pkeys = "max_pkeys",
        local_ca_ack_delay = "local_ca_ack_delay", phys_port_cnt = "phys_port_cnt",
    }

    whole verbs::IbvAhAttr: "struct ibv_ah_attr" {
        dgid = "grh.dgid", flow_label = "grh.flow_label", sgid_index = "grh.sgid_index", hop_limit = "grh.hop_limit",
        traffic_class = "grh.traffic_class", dlid = "dlid", sl = "sl", src_path_bits = "src_path_bits",
        static_rate = "static_rate", is_global = "is_global", port_num = "port_num",
    }
    whole verbs::IbvQpAttr: "struct ibv_qp_attr" {
        qp_state = "qp_state", cur_qp_state = "cur_qp_state", path_mtu = "path_mtu", path_mig_state = "path_mig_state",
        qkey = "qkey", rq_psn = "rq_psn", sq_psn = "sq_psn", dest_qp_num = "dest_qp_num",
        qp_access_flags = "qp_access_flags", cap = "cap", ah_attr = "ah_attr", alt_ah_attr = "alt_ah_attr",
        pkey_index = "pkey_index", alt_pkey_index = "alt_pkey_index", en_sqd_async_notify = "en_sqd_async_notify",
        sq_draining = "sq_draining", max_rd_atomic = "max_rd_atomic", max_dest_rd_atomic = "max_dest_rd_atomic",
        min_rnr_timer = "min_rnr_timer", port_num = "port_num", timeout = "timeout", retry_cnt = "retry_cnt",
        rnr_retry = "rnr_retry", alt_port_num = "alt_port_num", alt_timeout = "alt_timeout", rate_limit = "rate_limit",
    }
    whole verbs::IbvSge: "struct ibv_sge" { addr = "addr", length = "length", lkey = "lkey" }
    whole verbs::IbvSendWr: "struct ibv_send_wr" {
        wr_id = "wr_id", next = "next", sg_list = "sg_list", num_sge = "num_sge", opcode = "opcode",
        send_flags = "send_flags", imm_data = "imm_data", rest = "wr".."tso",
    }
    whole verbs::IbvRecvWr: "struct ibv_recv_wr" { wr_id = "wr_id", next = "next", sg_list = "sg_list", num_sge = "num_sge" }
    whole verbs::IbvWc: "struct ibv_wc" {
        wr_id = "wr_id", status = "status", opcode = "opcode", rest = "vendor_err".."dlid_path_bits",
    }
    start verbs::IbvMr: "struct ibv_mr" {
        context = "context", pd = "pd", addr = "addr", length = "length", handle = "handle", lkey = "lkey",
    }
    room verbs::IbvPortAttr: "struct ibv_port_attr" {
        state = "state", max_mtu = "max_mtu", active_mtu = "active_mtu", gid_tbl_len = "gid_tbl_len",
        counts = "port_cap_flags".."qkey_viol_cntr", pkey_tbl_len = "pkey_tbl_len", lid = "lid", sm_lid = "sm_lid",
        bytes = "lmc".."phys_state", link_layer = "link_layer", flags = "flags",
    } + { room }

}

structures! { of_the_kernel:
    whole ucm::QueryAddrResp: "struct rdma_ucm_query_addr_resp" {
        node_guid = "node_guid", port_num = "port_num", pkey = "pkey", src_size = "src_size", dst_size = "dst_size",
        src = "src_addr", dst = "dst_addr",
    } + { _reserved, _device }
}
