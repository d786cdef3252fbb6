//! Calls before any address is known: channel, id, bind, listen, options, opening the device.

use super::call::{descriptors, found, kernel, own};
use super::query::CallQuery;
use crate::model::{Explanation, Severity, Who};

/// Words for the calls of set-up, or none when the call or errno is not special here.
pub(super) fn call(q: &CallQuery) -> Option<Explanation> {
    match q.call {
        "rdma_create_event_channel" | "rdma_create_id" | "rdma_create_ep" => create(q),
        "rdma_bind_addr" => bind(q),
        "rdma_listen" => listen(q),
        "rdma_get_request" => get_request(q),
        "rdma_set_option" => set_option(q),
        "rdma_migrate_id" => migrate(q),
        "rdma_get_cm_event" => get_event(q),
        "ibv_open_device" => open_device(q),
        "ibv_get_device_list" => device_list(q),
        "ibv_alloc_pd" => alloc_pd(q),
        "ibv_create_comp_channel" => comp_channel(q),
        _ => None,
    }
}

const LOAD_UCM: &str =
    "modprobe rdma_ucm; ls -l /dev/infiniband; in a container, pass /dev/infiniband into it";

fn create(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        2 | 6 => kernel(
            "/dev/infiniband/rdma_cm is not there",
            "The kernel module rdma_ucm is not loaded, or the container has no access to the device file.",
            LOAD_UCM,
        ),
        19 => kernel(
            "no RDMA device on this machine",
            "No driver found hardware, or ib_uverbs is not loaded, or the container or network namespace does not see the device.",
            "rdma link show; ls /sys/class/infiniband /dev/infiniband; modprobe ib_uverbs; rdma system show (netns)",
        ),
        13 if q.call != "rdma_create_id" => kernel(
            "/dev/infiniband/rdma_cm may not be opened",
            "Its rights do not allow this user, or a device cgroup of the container forbids it.",
            "ls -l /dev/infiniband/rdma_cm; id; check DeviceAllow= or the container's devices",
        ),
        1 => kernel(
            "librdmacm and the kernel do not agree about their interface",
            "The version that the kernel offers is not one that this librdmacm can use, or opening the device is forbidden.",
            "cat /sys/class/misc/rdma_cm/abi_version; uname -r; compare the versions of rdma-core and the kernel",
        ),
        23 | 24 => descriptors(q.errno),
        22 if q.call == "rdma_create_id" => own(
            "the kernel does not know this port space",
            "The port space must be RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB or RDMA_PS_IB.",
            "Check the last argument of rdma_create_id",
        ),
        98 | 99 if q.call == "rdma_create_ep" => return bind(q),
        101 | 110 | 113 if q.call == "rdma_create_ep" => return super::resolve::address(q.errno),
        _ => return None,
    })
}

fn bind(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        98 => own(
            "the port is taken",
            "Another id of this machine is bound to that address and port, perhaps an old process that still runs. RDMA ports are not TCP ports: ss does not show them.",
            "rdma resource show cm_id; RDMA_OPTION_ID_REUSEADDR lets ids share the address before they listen",
        ),
        99 => own(
            "the address is not on this machine, or the port is taken",
            "The kernel gives this number for both: no network device has the address, or another id holds the port and one of the two is bound to the any-address.",
            "ip addr; rdma resource show cm_id",
        ),
        19 => kernel(
            "no RDMA device belongs to that address",
            "The address is on a network device without RDMA (a bridge, a plain NIC, lo), or the device is down.",
            "rdma link show (netdev column); ip addr",
        ),
        13 => own(
            "ports below 1024 need a right",
            "The process lacks CAP_NET_BIND_SERVICE. In a forked child the same number says that the channel belongs to its parent.",
            "Use a higher port, or: setcap cap_net_bind_service+ep PROGRAM (then LD_PRELOAD no longer works), or systemd's AmbientCapabilities=",
        ),
        97 => own(
            "the address family is not supported",
            "Only AF_INET, AF_INET6 and AF_IB are.",
            "Check sa_family of the address",
        ),
        22 => own(
            "the id is bound already, or the address is not complete",
            "An id can be bound once; an IPv6 link-local address needs its scope (sin6_scope_id), written as fe80::1%eth0.",
            "Check the order of calls, and the scope of the address",
        ),
        _ => return None,
    })
}

fn listen(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        98 | 99 => own(
            "somebody else listens there already",
            "Another id is bound to the same port on the same or on the any-address; sharing it (REUSEADDR) ends with listen.",
            "rdma resource show cm_id",
        ),
        19 => kernel(
            "there is no RDMA device to listen on",
            "",
            "rdma link show; dmesg",
        ),
        12 => kernel(
            "no memory for the listener",
            "",
            "free -m; dmesg",
        ),
        22 => own(
            "the id cannot listen now",
            "It is connected, resolving, or listening already.",
            "Call rdma_bind_addr and then rdma_listen, once, on a fresh id",
        ),
        38 | 95 => kernel(
            "this device has no connection manager that can listen",
            "",
            "rdma link show; ibv_devinfo",
        ),
        _ => return None,
    })
}

fn get_request(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        11 | 4 => get_event(q),
        22 => Some(own(
            "the listener has its own event channel, or something else than a request came",
            "rdma_get_request works only on ids made without a channel (rdma_create_ep, or rdma_create_id with NULL).",
            "Use rdma_get_cm_event on the channel instead",
        )),
        _ => None,
    }
}

fn set_option(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => own(
            "the option comes too late, or its value is wrong",
            "REUSEADDR and AFONLY must be set before the id is bound or listens, and only RC and XRC ids have an ACK timeout.",
            "Set options right after rdma_create_id",
        ),
        38 | 95 => kernel(
            "this kernel or librdmacm does not know the option",
            "",
            "uname -r; compare with the man page of rdma_set_option",
        ),
        _ => return None,
    })
}

fn migrate(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 | 9 => own(
            "the old or the new channel is not an RDMA event channel of this process",
            "One of them was closed, or its descriptor was replaced.",
            "ls -l /proc/PID/fd",
        ),
        2 => own(
            "the id is being destroyed",
            "Another thread calls rdma_destroy_id at the same time.",
            "Migrate an id only while no other thread can destroy it",
        ),
        _ => return None,
    })
}

fn get_event(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        11 => Some(found(
            Who::ThisKernel,
            Severity::Debug,
            "no event is there",
            "",
            "",
        )),
        4 => Some(found(
            Who::ThisProcess,
            Severity::Debug,
            "interrupted by a signal",
            "",
            "",
        )),
        _ => None,
    }
}

fn open_device(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        2 | 6 | 19 => kernel(
            "the device file is not there",
            "ib_uverbs is not loaded, the container has no /dev/infiniband/uverbsN, or the device was removed.",
            "ls -l /dev/infiniband; modprobe ib_uverbs; rdma link show",
        ),
        13 | 1 => kernel(
            "the device file may not be opened",
            "Its rights do not allow this user, or a device cgroup of the container forbids it.",
            "ls -l /dev/infiniband; id; check DeviceAllow= or the container's devices",
        ),
        23 | 24 => descriptors(q.errno),
        38 => kernel(
            "no RDMA support found",
            "ib_uverbs is not loaded, or no provider library fits the device.",
            "modprobe ib_uverbs; ls /etc/libibverbs.d; ibv_devices",
        ),
        _ => return None,
    })
}

/// Without an errno the list was given, and is empty.
fn device_list(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        0 => {
            let mut e = kernel(
                "no RDMA device on this machine, or none that this process may see",
                "No driver found hardware, ib_uverbs is not loaded, no provider library fits, or the container or network namespace does not see the device.",
                "rdma link show; ls /sys/class/infiniband /dev/infiniband /etc/libibverbs.d; modprobe ib_uverbs; rdma system show (netns)",
            );
            e.code = "ibv_get_device_list, empty list".to_owned();
            Some(e)
        }
        _ => open_device(q),
    }
}

fn alloc_pd(q: &CallQuery) -> Option<Explanation> {
    (q.errno == 12).then(|| {
        kernel(
            "no protection domain is left",
            "The device's max_pd is reached, or memory is short.",
            "rdma resource show pd; ibv_devinfo -v (max_pd); free -m",
        )
    })
}

fn comp_channel(q: &CallQuery) -> Option<Explanation> {
    matches!(q.errno, 23 | 24).then(|| descriptors(q.errno))
}
