//! Calls before any address is known: channel, id, bind, listen, options, opening the device.

use super::address;
use super::causes::{caused_by, caused_by_kernel, caused_by_program};
use super::descriptors::descriptors;
use super::progress::Progress;
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

/// An endpoint's address may be the trouble, too: it is bound or resolved inside the call.
fn has_address(a: &address::Addresses) -> bool {
    a.destination.is_some() || a.source.is_some_and(|s| !s.ip().is_unspecified())
}

fn create(q: &CallQuery) -> Option<Explanation> {
    let a = &q.facts.addresses;
    Some(match q.errno {
        2 | 6 => caused_by_kernel(
            "/dev/infiniband/rdma_cm is not there",
            "Possible: the kernel module rdma_ucm is not loaded; or the container does not have the device file.",
            LOAD_UCM,
        ),
        19 if q.call == "rdma_create_ep" && has_address(a) => return super::resolve::no_device(a),
        19 => caused_by_kernel(
            "no RDMA device on this machine",
            "Possible: no driver found hardware; ib_uverbs is not loaded; or the container or network namespace does not see the device.",
            "rdma link show; ls /sys/class/infiniband /dev/infiniband; modprobe ib_uverbs; rdma system show (netns)",
        ),
        13 if q.call != "rdma_create_id" => caused_by_kernel(
            "/dev/infiniband/rdma_cm may not be opened",
            "Possible: its rights do not allow this user; or a device cgroup of the container forbids it.",
            "ls -l /dev/infiniband/rdma_cm; id; check DeviceAllow= or the container's devices",
        ),
        1 => caused_by_kernel(
            "librdmacm cannot use /dev/infiniband/rdma_cm",
            "Possible: this librdmacm does not know the interface version of the kernel; or a device cgroup of the container forbids to open it.",
            "cat /sys/class/misc/rdma_cm/abi_version; uname -r; compare the versions of rdma-core and the kernel",
        ),
        23 | 24 => descriptors(q.errno),
        22 if q.call == "rdma_create_id" && q.facts.port_space_known == Some(false) => caused_by_program(
            "the kernel does not know this port space",
            "The port space must be RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB or RDMA_PS_IB.",
            "Check the last argument of rdma_create_id",
        ),
        22 if q.call == "rdma_create_id" => caused_by_program(
            "the kernel does not take this id",
            "Possible: the port space is none of RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB and RDMA_PS_IB.",
            "Check the last argument of rdma_create_id",
        ),
        98 | 99 if q.call == "rdma_create_ep" => return bind(q),
        101 | 110 | 113 if q.call == "rdma_create_ep" => {
            return super::resolve::address(q.errno, a)
        }
        _ => return None,
    })
}

/// What rdma_bind_addr fails for (`rdma_bind_addr_dst`, cma.c).
fn bind(q: &CallQuery) -> Option<Explanation> {
    let a = &q.facts.addresses;

    Some(match q.errno {
        98 => address::taken(a),
        99 => address::not_available(a),
        19 => address::no_rdma_device(a),
        13 => address::not_permitted(a, false),
        97 => address::odd_family(a).unwrap_or_else(|| {
            caused_by_program(
                "the address family is not supported",
                "Only AF_INET, AF_INET6 and AF_IB are.",
                "Check sa_family of the address",
            )
        }),
        22 => bind_invalid(q),
        _ => return None,
    })
}

fn bind_invalid(q: &CallQuery) -> Explanation {
    let a = &q.facts.addresses;
    let bound_before = || {
        let progress = q.facts.progress;
        let late = progress.is_known() && progress != Progress::New;
        late.then(|| {
            caused_by_program(
                format!("the id cannot be bound now: {}", progress.phrase()),
                "An id can be bound once; rdma_resolve_addr binds it too.",
                "Bind a fresh id, before anything else",
            )
        })
    };
    address::odd_family(a)
        .or_else(bound_before)
        .or_else(|| address::without_scope(a))
        .unwrap_or_else(|| {
            caused_by_program(
                "the id cannot be bound to this address",
                "Possible: it was bound or resolved before; an IPv6 link-local address lacks its scope (sin6_scope_id); or the port space is IPoIB and the address is not on InfiniBand.",
                "Check the order of calls, and the address",
            )
        })
}

/// What rdma_listen fails for (cma.c). An id that is not bound is bound first, to any address and port.
fn listen(q: &CallQuery) -> Option<Explanation> {
    let (a, progress) = (&q.facts.addresses, q.facts.progress);
    Some(match q.errno {
        99 if progress == Progress::New => address::used_up(a),
        98 => with_reuse(address::taken(a)),
        99 => with_reuse(address::not_available(a)),
        16 => caused_by_kernel(
            "the kernel or the device says that it is busy",
            "Possible: a kernel service listens there already.",
            "rdma resource show cm_id; dmesg",
        ),
        12 => caused_by_kernel("no memory for the listener", "", "free -m; dmesg"),
        22 if progress.is_known() && !matches!(progress, Progress::New | Progress::Bound) => {
            caused_by_program(
                format!("the id cannot listen: {}", progress.phrase()),
                "Only a fresh id, or one that is bound and nothing more, can.",
                "Call rdma_bind_addr and then rdma_listen, once, on a fresh id",
            )
        }
        22 => caused_by_program(
            "the id cannot listen now",
            "Possible: it is connected, resolving, or listening already.",
            "Call rdma_bind_addr and then rdma_listen, once, on a fresh id",
        ),
        19 => caused_by_kernel(
            "the RDMA device to listen on cannot be used",
            "Possible: it was removed since the id was bound; or this process cannot open it.",
            "rdma link show; ls -l /dev/infiniband; dmesg",
        ),
        38 | 95 => caused_by_kernel(
            "this device has no connection manager that can listen",
            "",
            "rdma link show; ibv_devinfo",
        ),
        _ => return None,
    })
}

/// Ids that share an address by RDMA_OPTION_ID_REUSEADDR meet only when one listens.
fn with_reuse(e: Explanation) -> Explanation {
    let next = format!(
        "{}; sharing an address (REUSEADDR) ends with rdma_listen",
        e.next
    );
    e.with_next(next)
}

fn get_request(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        11 | 4 => get_event(q),
        22 => Some(caused_by_program(
            "no connect request can be taken from this id",
            "Possible: the listener has an event channel of the program (rdma_get_request works only on ids of rdma_create_ep, or of rdma_create_id with NULL); or another event than a request came.",
            "With a channel, use rdma_get_cm_event",
        )),
        _ => None,
    }
}

fn set_option(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 => caused_by_program(
            "the id does not take this option",
            "Possible: it comes too late (REUSEADDR once the id listens, AFONLY once it is resolved or listens); the id is not RC or XRC (ACK_TIMEOUT); or the length of the value is wrong.",
            "Set options right after rdma_create_id; compare the length with the man page",
        ),
        38 | 95 => caused_by_kernel(
            "this kernel or librdmacm does not know the option",
            "",
            "uname -r; compare with the man page of rdma_set_option",
        ),
        _ => return None,
    })
}

fn migrate(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        22 | 9 => caused_by_program(
            "the old or the new channel does not serve this id",
            "Possible: the descriptor of one was closed, or another file is at its number; or the id is not of the old channel.",
            "ls -l /proc/PID/fd",
        ),
        2 => caused_by_program(
            "the kernel does not find the id, or not its old channel",
            "Possible: another thread destroys the id at the same time; or the descriptor of the old channel is closed.",
            "Migrate an id only while no other thread can destroy it; ls -l /proc/PID/fd",
        ),
        _ => return None,
    })
}

fn get_event(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        11 => Some(caused_by(
            Who::ThisKernel,
            Severity::Debug,
            "no event is there",
            "",
            "",
        )),
        4 => Some(caused_by(
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
        2 | 6 | 19 => caused_by_kernel(
            "the device, or its device file, is not there",
            "Possible: ib_uverbs is not loaded; the container has no /dev/infiniband/uverbsN; or the device was removed.",
            "ls -l /dev/infiniband; modprobe ib_uverbs; rdma link show",
        ),
        13 | 1 => caused_by_kernel(
            "the device file may not be opened",
            "Possible: its rights do not allow this user; or a device cgroup of the container forbids it.",
            "ls -l /dev/infiniband; id; check DeviceAllow= or the container's devices",
        ),
        23 | 24 => descriptors(q.errno),
        38 => caused_by_kernel(
            "no RDMA support found",
            "Possible: ib_uverbs is not loaded; or no provider library fits the device.",
            "modprobe ib_uverbs; ls /etc/libibverbs.d; ibv_devices",
        ),
        _ => return None,
    })
}

/// Without an errno the list was given, and is empty.
fn device_list(q: &CallQuery) -> Option<Explanation> {
    match q.errno {
        0 => {
            let mut e = caused_by_kernel(
                "no RDMA device on this machine, or none that this process may see",
                "Possible: no driver found hardware; ib_uverbs is not loaded; no provider library fits; or the container or network namespace does not see the device.",
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
        caused_by_kernel(
            "no protection domain is left, or no memory for it",
            "Possible: the device's max_pd is reached; or memory is short.",
            "rdma resource show pd; ibv_devinfo -v (max_pd); free -m",
        )
    })
}

fn comp_channel(q: &CallQuery) -> Option<Explanation> {
    matches!(q.errno, 23 | 24).then(|| descriptors(q.errno))
}
