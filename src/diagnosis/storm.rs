//! Storm relief: a small listen backlog is raised, and one that was probably full is named.
//!
//! When the backlog is full the kernel drops a connect request without a word on either side
//! (`ucma_connect_event_handler` and its kin, drivers/infiniband/core/ucma.c), and the client's kernel
//! repeats it after about 4 s.

use super::emit::{self, Line};
use super::state::records;
use super::subject::Subject;
use crate::abi::cm::RdmaCmId;
use crate::abi::IdPtr;
use crate::process::ended::Ended;
use crate::process::shim::Shim;
use crate::sys::clock::{LazyNow, Moment};
use crate::sys::device;
use cmshim_core::explain;
use cmshim_core::model::{Role, Stage};

/// What rdma_listen is to ask for.
#[derive(Clone, Copy)]
pub struct Backlog {
    pub asked: i32,
    /// The kernel's maximum, if it was looked up.
    cap: Option<u32>,
}

impl Backlog {
    /// The program's own.
    pub fn as_asked(asked: i32) -> Backlog {
        Backlog { asked, cap: None }
    }

    /// What the kernel makes of it: 0, negative and too large numbers are its maximum (`ucma_listen`).
    fn in_force(self) -> u32 {
        let cap = self.cap.unwrap_or_else(device::max_backlog);
        let asked = u32::try_from(self.asked).unwrap_or(0);
        if (1..cap).contains(&asked) {
            asked
        } else {
            cap
        }
    }
}

/// The backlog to ask for instead of the program's. Only small positive numbers are raised; on iWARP
/// the number goes to the device, so it is left.
///
/// # Safety
/// `id` is null or valid during this call.
pub unsafe fn backlog(shim: &Shim, id: *const RdmaCmId, asked: i32) -> Backlog {
    let cap = device::max_backlog();
    let own = Backlog {
        asked,
        cap: Some(cap),
    };
    let least = shim.config.listen.min_backlog.min(cap) as i32;
    if asked <= 0 || asked >= least {
        return own;
    }
    // SAFETY: as promised by the caller.
    let iwarp = match unsafe { Subject::of(id) }.device {
        Some(device) => device.iwarp,
        // Bound to all addresses: the listener is put on each device of the host.
        None => device::any_iwarp(),
    };
    if iwarp {
        return own;
    }
    log::info!(
        "listen backlog raised from {asked} to {least} (listen.min_backlog; 0 leaves the program's own)"
    );
    Backlog {
        asked: least,
        ..own
    }
}

/// rdma_listen returned: notes what is in force.
pub fn listens(ended: Ended, id: *const RdmaCmId, backlog: Backlog) {
    if ended.failed.is_some() {
        return;
    }
    let in_force = backlog.in_force();
    let state = records();
    state.begin(
        IdPtr(id as usize),
        Stage::Listen,
        Role::Server,
        Moment::now(),
    );
    state.with(IdPtr(id as usize), |r| r.backlog = in_force);
}

/// A connect request was handed over from the channel of that descriptor, which frees its place in the
/// backlog. If as many in a row as the backlog holds had the next one waiting behind them, it was full,
/// and more were dropped.
///
/// # Safety
/// `listener` is null or the live listener of an un-acked connect request.
pub unsafe fn request_taken(
    shim: &'static Shim,
    listener: *const RdmaCmId,
    fd: i32,
    look: &LazyNow,
    more: fn(i32) -> Option<bool>,
) {
    if listener.is_null() {
        return;
    }
    let more = more(fd).unwrap_or_else(|| readable(fd));
    let full = records().with(IdPtr(listener as usize), |r| {
        r.burst = if more { r.burst + 1 } else { 0 };
        (r.backlog > 0 && r.burst == r.backlog).then_some(r.backlog)
    });
    if let Some(backlog) = full {
        // SAFETY: alive, see above.
        report(shim, &unsafe { Subject::of(listener) }, backlog);
        look.past();
    }
}

fn readable(fd: i32) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one pollfd, no waiting.
    unsafe { libc::poll(&mut poll, 1, 0) == 1 && poll.revents & libc::POLLIN != 0 }
}

fn report(shim: &'static Shim, subject: &Subject, backlog: u32) {
    let explanation = explain::backlog_overflow(backlog);
    emit::line(
        shim,
        explanation,
        Line {
            what: "listen",
            call: None,
            stage: Stage::Listen,
            role: Role::Server,
            subject,
            elapsed: None,
            private_data: None,
            details: Vec::new(),
        },
    );
}
