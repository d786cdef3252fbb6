//! Tenant checks: whether a connection may be is decided before the program hears of it.
//!
//! There are two barriers. The first is in the tap (its `admission`): a connect request that the policy refuses is answered
//! and destroyed as soon as it was taken from the kernel, so the program never wakes for it. Where the tap is not
//! installed, `rdma_get_cm_event` is the second (`admit_on_delivery`): it refuses, acks, destroys, and looks for the next event.
//! The program's own check (`check`) is asked there too, in the program's thread. `egress` asks for outgoing
//! connects. `decide` weighs rules, limits and rates; `share` holds what all processes of the host count together;
//! `watched` says when the policy file is whole and to be read;
//! `seats` remembers which connection of this process holds a place in a limit; `seats_by_handle` finds it by what the kernel tells the tap.

pub mod admit_on_delivery;
mod audit;
pub mod callback;
pub mod check;
pub mod decide;
pub mod egress;
mod load;
mod map;
mod others;
mod report;
pub mod seats;
pub mod seats_by_handle;
mod share;
mod watched;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod users_tests;

pub use load::{begin, needs_gid};
pub use report::private_data;

use crate::process::feature::Feature;
use crate::process::per_process::PerProcess;
use crate::process::shim::Shim;
use cmshim_core::config::OnError;
use decide::Current;
use seats::Seats;
use share::Share;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// What one process knows. Lock order: `current` (held while the policy is read for the first time), then any other
/// of these; all of them may be taken under a channel's lock.
#[derive(Default)]
struct Tenants {
    /// `None` until the policy was first read.
    current: Mutex<Option<Arc<Current>>>,
    watched: watched::Watched,
    share: OnceLock<Share>,
    seats: Seats,
    audit: audit::Audit,
    complaint: load::Complaint,
    checks: check::Checks,
}

static STATE: PerProcess<Tenants> = PerProcess::new(Tenants::default);

/// What this process knows.
fn state() -> &'static Tenants {
    STATE.get()
}

/// What the root adds is `check::overdue`, which asks the tap.
pub const FEATURE: Feature = Feature {
    renew: |process| STATE.renew(process),
    goes_off,
    work: |shim, _now| load::look(shim),
    ..Feature::NONE
};

/// Is there a policy, or a check of the program's own? False costs one load.
static ON: AtomicBool = AtomicBool::new(false);

/// Must connect requests be refused if the shim breaks? The policy is enforced, or was to be and cannot be read.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Is there anything to check in this process?
#[inline]
pub fn on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The shim goes off. Where a policy was never read, it cannot be any more.
fn goes_off(shim: &'static Shim) {
    if configured(shim) && !on() && shim.config.tenant.on_error == OnError::Deny {
        CLOSED.store(true, Ordering::Relaxed);
        turn_on();
    }
}

fn turn_on() {
    ON.store(true, Ordering::Relaxed);
}

/// Is a policy configured for this process?
pub fn configured(shim: &Shim) -> bool {
    shim.config.tenant.policy.is_some()
}
