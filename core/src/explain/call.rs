//! Failed calls: which module knows the words for which call, and what any errno means anywhere.

use super::causes::{caused_by, caused_by_kernel, caused_by_program};
use super::descriptors::{descriptors, short_of_descriptors};
use super::progress::Progress;
use super::query::CallQuery;
use super::{connect, memory, qp, resolve, setup, words};
use crate::codes::errno;
use crate::model::{Explanation, Numbers, Severity, Who};

/// Explains a failed call of librdmacm or libibverbs.
pub fn call(q: &CallQuery) -> Explanation {
    if let Some((inner, number)) = q.facts.nested {
        if inner != q.call && !own_words_fit(q, inner, number) && !only_tried(q, inner) {
            return nested(q, inner, number);
        }
    }
    let mut e = specific(q).unwrap_or_else(|| generic(q));
    if e.code.is_empty() {
        e.code = code(q.call, q.errno);
    }
    if q.call == "ibv_get_device_list" {
        // Many programs only look whether there is a device, and go on without.
        e.severity = Severity::Info;
    }
    e.numbers.errno = (q.errno > 0).then_some(q.errno);
    e
}

/// An accept asks the kernel for the attributes of the queue pair first, and moves it. Either fails where the client has
/// withdrawn (`cm_init_qp_rtr_attr` in cm.c) or where there is no open request: the accept's own words fit better.
fn own_words_fit(q: &CallQuery, inner: &str, number: i32) -> bool {
    let progress = q.facts.progress;
    let no_request = progress.is_known() && progress != Progress::Request;
    q.call.starts_with("rdma_accept")
        && number == 22
        && (inner == "rdma_init_qp_attr" || (inner == "ibv_modify_qp" && no_request))
}

/// The first channel of a process tries whether the kernel knows AF_IB, by an id of its own (`ucma_set_af_ib_support`
/// in cma.c). That fails where the channel would, with another errno, and what fails it is the channel.
fn only_tried(q: &CallQuery, inner: &str) -> bool {
    inner == "rdma_create_id" && q.call == "rdma_create_event_channel"
}

fn specific(q: &CallQuery) -> Option<Explanation> {
    hidden_descriptors(q)
        .or_else(|| setup::call(q))
        .or_else(|| resolve::call(q))
        .or_else(|| connect::call(q))
        .or_else(|| qp::call(q))
        .or_else(|| memory::call(q))
}

/// "rdma_accept errno 22, EINVAL"
fn code(call: &str, number: i32) -> String {
    match errno::by_number(number) {
        Some(e) => format!("{call} errno {}, {}", e.number, e.name),
        None if number == 0 => format!("{call} without errno"),
        None => format!("{call} errno {number}"),
    }
}

/// The outer call failed because an inner one did: the words of the inner, the code of both.
fn nested(q: &CallQuery, inner: &str, number: i32) -> Explanation {
    let mut facts = q.facts.clone();
    facts.nested = None;
    let mut e = call(&CallQuery {
        call: inner,
        errno: number,
        facts: &facts,
        ..*q
    });
    e.summary = format!("{inner} inside it failed: {}", e.summary);
    e.code = format!("{}; inside {}", code(q.call, q.errno), code(inner, number));
    e.numbers = Numbers {
        errno: Some(number),
        ..Numbers::default()
    };
    e
}

/// Calls that make something which an rdma cgroup counts.
fn makes_object(call: &str) -> bool {
    call.starts_with("ibv_")
        || call.starts_with("rdma_create_qp")
        || call.starts_with("rdma_create_srq")
        || call == "rdma_create_ep"
}

/// Calls that wait for something, and on a non-blocking descriptor say EAGAIN.
fn waits(call: &str) -> bool {
    matches!(
        call,
        "rdma_get_cm_event" | "rdma_get_request" | "ibv_get_async_event" | "ibv_get_cq_event"
    )
}

/// What an errno means in the RDMA stack when the call gives no better clue.
fn generic(q: &CallQuery) -> Explanation {
    let is_cm = q.call.starts_with("rdma_");
    match q.errno {
        4 => caused_by(
            Who::ThisProcess,
            Severity::Debug,
            "interrupted by a signal",
            "",
            "",
        ),
        11 if waits(q.call) => caused_by(
            Who::ThisKernel,
            Severity::Debug,
            "nothing there yet",
            "",
            "",
        ),
        // rdmacg_try_charge in kernel/cgroup/rdma.c
        11 if makes_object(q.call) => caused_by_kernel(
            "probably the limit of an rdma cgroup is reached",
            "The kernel gives EAGAIN when the container or service may not have more RDMA handles or objects.",
            "Compare rdma.current with rdma.max in /sys/fs/cgroup, in the group that /proc/PID/cgroup names",
        ),
        2 if is_cm => caused_by_program(
            "the kernel does not know this id",
            "Possible: it was destroyed before; or it belongs to another process.",
            "Look for a use of the id after rdma_destroy_id",
        ),
        5 => caused_by_kernel(
            "the RDMA device or its driver failed the call",
            "Possible: the device was removed or reset while the program held it; or it refused the command.",
            "dmesg; rdma link show; devlink health show",
        ),
        9 => caused_by_program(
            "a file descriptor is not open",
            "Possible: the event channel or device was closed before; or a loop closed all descriptors after a fork.",
            "ls -l /proc/PID/fd",
        ),
        12 => caused_by_kernel(
            "out of memory or of a device resource",
            "Possible: the kernel, the device or the limit of locked memory has nothing left.",
            "ulimit -l; rdma resource show; free -m; dmesg",
        ),
        13 | 1 if is_cm => caused_by_kernel(
            "not permitted",
            "Possible: the process forked or changed its user, and then cannot use the channels that it opened before; or /dev/infiniband/rdma_cm is not accessible.",
            "ls -l /dev/infiniband; open the channel after the fork or change of user",
        ),
        13 | 1 => caused_by_kernel(
            "not permitted",
            "Possible: the device file is not accessible; memory locking is not allowed; or a right (CAP_NET_RAW, CAP_IPC_LOCK) is missing.",
            "ls -l /dev/infiniband; ulimit -l; id",
        ),
        14 => caused_by_program(
            "a pointer leads to no memory",
            "Possible: an address given is not mapped, or not with the needed rights.",
            "Check the address against /proc/PID/maps",
        ),
        16 => caused_by_program(
            "still in use",
            "Possible: something made from it exists (QPs on a CQ, PD or SRQ, memory on a PD); or work is in flight.",
            "rdma resource show; destroy what depends on it first",
        ),
        19 => caused_by_kernel(
            "no such device",
            "Possible: the RDMA device was removed; or its driver is not loaded.",
            "rdma link show; ls /sys/class/infiniband; dmesg",
        ),
        22 => caused_by_program(
            "an argument or the order of calls is not valid",
            "The kernel or the driver does not say which.",
            "dmesg (drivers often say more there); compare the arguments with the man page",
        ),
        23 | 24 => descriptors(q.errno),
        28 => caused_by_kernel(
            "a table is full",
            "Possible: the device or the kernel has no room for one more.",
            "rdma resource show; ibv_devinfo -v",
        ),
        38 | 95 => caused_by_kernel(
            "not supported",
            "Possible: this device, its driver or this kernel does not have the function.",
            "ibv_devinfo -v; uname -r; ethtool -i of the network device",
        ),
        61 if is_cm => caused_by_kernel(
            "the kernel answered less than asked",
            "Possible: librdmacm and the kernel do not agree about a structure; or something stands between them.",
            "uname -r; compare the versions of rdma-core and the kernel",
        ),
        100 => caused_by_kernel("the network device is down", "", "ip link show; rdma link show"),
        110 => caused_by(
            Who::Network,
            Severity::Error,
            "timed out",
            "Possible: the device or the peer did not answer.",
            "dmesg; rdma link show; ip neigh",
        ),
        0 => caused_by_kernel(
            "the call failed and left no errno",
            "The library or provider gave no reason.",
            "dmesg",
        ),
        n => caused_by_kernel(words::status_text(n), "", "dmesg; rdma link show"),
    }
}

/// The libraries hide EMFILE behind other numbers: a search for devices that can open no file finds
/// none (`ucma_init`, librdmacm/cma.c).
fn hidden_descriptors(q: &CallQuery) -> Option<Explanation> {
    let opens = matches!(
        q.call,
        "rdma_create_event_channel"
            | "rdma_create_id"
            | "rdma_create_ep"
            | "rdma_getaddrinfo"
            | "ibv_open_device"
            | "ibv_get_device_list"
            | "ibv_create_comp_channel"
    );
    let hidden = opens && matches!(q.errno, 0 | 2 | 6 | 19 | 24 | 38);
    q.facts
        .descriptors
        .filter(|_| hidden)
        .and_then(short_of_descriptors)
}
