//! Memory registration: the limit of locked memory, bad addresses, huge pages, access flags.

use super::causes::{caused_by_kernel, caused_by_program};
use super::query::{CallQuery, Facts};
use super::words::bytes;
use crate::model::Explanation;

const IBV_ACCESS_LOCAL_WRITE: u32 = 1;
const IBV_ACCESS_REMOTE_WRITE: u32 = 1 << 1;
const IBV_ACCESS_REMOTE_ATOMIC: u32 = 1 << 3;
const IBV_ACCESS_ON_DEMAND: u32 = 1 << 6;
const WRITES: u32 = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

const LIMIT_NEXT: &str = "ulimit -l unlimited before the start, or memlock in /etc/security/limits.conf, or LimitMEMLOCK=infinity in the systemd unit, or --ulimit memlock=-1 for a container";

/// Words for registration calls, or none.
pub(super) fn call(q: &CallQuery) -> Option<Explanation> {
    match q.call {
        "ibv_reg_mr" | "ibv_reg_mr_iova" | "ibv_reg_mr_iova2" | "ibv_rereg_mr" => reg(q),
        "ibv_reg_dmabuf_mr" => dmabuf(q),
        _ => None,
    }
}

fn reg(q: &CallQuery) -> Option<Explanation> {
    let f = q.facts;
    Some(match q.errno {
        12 => no_memory(f),
        1 if f.memlock == Some(0) => caused_by_kernel(
            "this process may not lock memory at all",
            "The limit of locked memory is 0, and CAP_IPC_LOCK is missing.",
            LIMIT_NEXT,
        ),
        1 => caused_by_kernel(
            "this registration is not permitted",
            "Possible: the limit of locked memory is 0 (ulimit -l); the process forked or changed its user after it opened the device; or the device keeps this kind of memory for the privileged.",
            "ulimit -l; open the device after the fork or change of user; dmesg",
        ),
        14 => caused_by_program(
            format!("{} not (wholly) mapped, or not writable", region(f)),
            fault_cause(f),
            "Compare the address with /proc/PID/maps; register read-only memory without LOCAL_WRITE, REMOTE_WRITE and ATOMIC",
        ),
        22 => invalid(f),
        95 | 38 => unsupported(f),
        16 => caused_by_program(
            "the registration is in use",
            "Possible: memory windows are bound to it.",
            "Unbind them first",
        ),
        _ => return None,
    })
}

/// "the 64 KiB at 0x7f..." or less, as known, with its verb.
fn region(f: &Facts) -> String {
    match (f.length, f.addr) {
        (Some(l), Some(a)) => format!("the {} at {a:#x} are", bytes(l)),
        (Some(l), None) => format!("the {} are", bytes(l)),
        (None, Some(a)) => format!("the memory at {a:#x} is"),
        (None, None) => "the memory is".to_string(),
    }
}

fn no_memory(f: &Facts) -> Explanation {
    let Some(limit) = f.memlock else {
        return caused_by_kernel(
            "no memory: most often the limit of locked memory is too small",
            "RDMA memory is pinned and counts against RLIMIT_MEMLOCK, except with CAP_IPC_LOCK. Also possible: max_mr of the device is reached; or the kernel's memory is short.",
            format!("ulimit -l; {LIMIT_NEXT}; rdma resource show mr | wc -l; free -m"),
        );
    };
    if limit == u64::MAX {
        return caused_by_kernel(
            "no memory, or the device has no room for one more registration",
            "Locked memory is not limited here. Possible: max_mr of the device is reached; or the kernel's memory is short.",
            "rdma resource show mr | wc -l; ibv_devinfo -v (max_mr); free -m; dmesg",
        );
    }
    let locked = f.locked.unwrap_or(0);
    let wanted = pinned(f);
    let held = match f.locked {
        Some(n) if n > 0 => format!(", {} of it in use", bytes(n)),
        _ => String::new(),
    };
    let asked = match f.length {
        Some(n) => format!("{} to register", bytes(n)),
        None => "the registration".to_string(),
    };
    if f.length.is_some() && wanted.saturating_add(locked) > limit {
        return caused_by_kernel(
            format!(
                "the limit of locked memory is too small: {asked}, limit {}{held}",
                bytes(limit)
            ),
            "RDMA memory is pinned, and counts whole pages for the whole process (RLIMIT_MEMLOCK); queues of some devices count too.",
            LIMIT_NEXT,
        );
    }
    caused_by_kernel(
        format!(
            "no memory for {asked}, though the limit of locked memory ({}{held}) seems enough",
            bytes(limit)
        ),
        "Possible: other registrations and queues of this process fill the limit; the device's max_mr is reached; or memory is short.",
        format!("grep VmPin /proc/PID/status; rdma resource show mr | wc -l; {LIMIT_NEXT}"),
    )
}

/// What the registration pins: whole pages.
fn pinned(f: &Facts) -> u64 {
    const PAGE: u64 = 4096;
    let len = f.length.unwrap_or(0);
    let offset = f.addr.unwrap_or(0) % PAGE;
    (len.saturating_add(offset))
        .div_ceil(PAGE)
        .saturating_mul(PAGE)
}

fn fault_cause(f: &Facts) -> &'static str {
    let writes = f.access.is_some_and(|a| a & WRITES != 0);
    if writes {
        "Possible: the pages are unmapped, or fewer than the length given; or the mapping is read-only (constants, a file opened read-only) and is registered with write access."
    } else {
        "Possible: the pages are unmapped, or fewer than the length given; or the memory cannot be pinned (device memory, DAX or VM_IO mappings)."
    }
}

fn invalid(f: &Facts) -> Explanation {
    if f.length == Some(0) {
        return caused_by_program("the length is 0", "", "Register at least one byte");
    }
    if let Some(access) = f.access {
        let remote = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) != 0;
        if remote && access & IBV_ACCESS_LOCAL_WRITE == 0 {
            return caused_by_program(
                "remote write or atomic access needs local write access too",
                "The access flags have REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE.",
                "Add IBV_ACCESS_LOCAL_WRITE",
            );
        }
    }
    if let (Some(addr), Some(len)) = (f.addr, f.length) {
        if addr.checked_add(len).is_none() {
            return caused_by_program(
                "address and length run over the end of memory",
                "The length is wrong: perhaps a negative number.",
                "Check the length given to ibv_reg_mr",
            );
        }
    }
    if let Some(page) = f.huge_page {
        return caused_by_program(
            format!("the memory lies in {} huge pages, which fork protection probably could not split", bytes(page)),
            "After ibv_fork_init, libibverbs marks the range with madvise, and that must be aligned to whole huge pages. Also possible: the access flags do not suit the device.",
            "export RDMAV_HUGEPAGES_SAFE=1, or do without ibv_fork_init (RDMAV_FORK_SAFE unset; kernels since 5.12 copy pinned pages on fork)",
        );
    }
    caused_by_program(
        format!("{} not fit to be registered with these flags", region(f)),
        "Possible: the range or the access flags do not suit the device; or fork protection (ibv_fork_init) could not mark it, as with huge pages.",
        "With huge pages: export RDMAV_HUGEPAGES_SAFE=1; check the access flags; dmesg",
    )
}

fn unsupported(f: &Facts) -> Explanation {
    if f.access.is_some_and(|a| a & IBV_ACCESS_ON_DEMAND != 0) {
        return caused_by_kernel(
            "the device does not support these access flags, probably not on-demand paging (ODP)",
            "The access flags have IBV_ACCESS_ON_DEMAND.",
            "ibv_devinfo -v (odp_caps); register without it",
        );
    }
    caused_by_kernel(
        "the device does not support this registration",
"Possible: it does not know one of the access flags (huge page, flush, relaxed ordering); or it cannot pin this kind of memory.",
        "ibv_devinfo -v (device_cap_flags, odp_caps); register with plain flags",
    )
}

fn dmabuf(q: &CallQuery) -> Option<Explanation> {
    Some(match q.errno {
        95 | 38 => caused_by_kernel(
            "the driver cannot register dma-buf memory",
            "It needs kernel 5.12 or later and a driver that has it.",
            "uname -r; ethtool -i of the network device; use a peer memory module instead",
        ),
        9 => caused_by_program("the descriptor is not open, or not a dma-buf", "", "Check the fd that the GPU library exported"),
        22 => caused_by_program(
            "offset, length or flags do not fit the dma-buf",
            "Possible: the range does not lie in the buffer; its offset does not match the address within the page; the descriptor is not a dma-buf; or the access flags are not known.",
            "Check offset, length and iova",
        ),
        12 => return Some(no_memory(q.facts)),
        _ => return None,
    })
}
