//! The audit log: one JSON line for each decision, never more than `tenant.audit_per_s`.

use super::decide::{Decision, Direction};
use crate::process::shim::Shim;
use crate::sys::clock::now_ns;
use crate::sys::lock::lock;
use crate::sys::output;
use cmshim_core::codes::errno;
use cmshim_core::tenant::reason::Code;
use cmshim_core::tenant::{audit, tokens, ConnectionRequest, Rate};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::SystemTime;

#[derive(Default)]
pub struct Audit {
    /// The bucket of lines.
    tat: AtomicU64,
    /// Decisions without a line since the last one.
    dropped: AtomicU64,
    told: AtomicBool,
    /// One line at a time: the count of those that were dropped belongs to the next.
    writing: Mutex<()>,
}

impl Audit {
    /// Writes the line of a decision, if one is wanted.
    pub fn note(
        &self,
        shim: &Shim,
        policy: &str,
        direction: Direction,
        ask: &ConnectionRequest,
        decision: &Decision,
    ) {
        let settings = &shim.config.tenant;
        let Some(path) = settings.audit.as_ref() else {
            return;
        };
        if decision.refused.is_none() && !settings.audit_allowed {
            return;
        }
        let path = path.replace("%p", &std::process::id().to_string());
        let rate = Rate {
            per_s: f64::from(settings.audit_per_s),
            burst: settings.audit_per_s,
        };
        if tokens::take(&self.tat, now_ns(), &rate).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let _one = lock(&self.writing);
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let line = entry(shim, policy, direction, ask, decision, dropped) + "\n";
        if let Err(number) = output::to_file(&path, &line) {
            self.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
            if !self.told.swap(true, Ordering::Relaxed) {
                let why = errno::describe(number);
                log::warn!("tenant.audit {path} cannot be written: {why}; what it misses is counted in its next line");
            }
        }
    }
}

fn entry(
    shim: &Shim,
    policy: &str,
    direction: Direction,
    ask: &ConnectionRequest,
    decision: &Decision,
    dropped: u64,
) -> String {
    let refused = decision.refused.as_ref();
    audit::line(&audit::Entry {
        time: SystemTime::now(),
        pid: std::process::id(),
        program: &shim.program,
        egress: direction == Direction::Out,
        peer: ask.peer,
        local: ask.local,
        scope: ask.scope,
        port: ask.port,
        pkey: ask.pkey,
        tenant: decision.tenant.as_deref(),
        decision: match (refused, decision.observed) {
            (None, _) => audit::Decision::Allow,
            (Some(_), true) => audit::Decision::WouldRefuse,
            (Some(_), false) => audit::Decision::Refuse,
        },
        reason: refused.map(|r| r.code),
        used: refused
            .filter(|r| r.code == Code::OverLimit)
            .map(|r| r.used),
        limit: refused
            .filter(|r| r.code == Code::OverLimit)
            .map(|r| r.limit),
        retry_after_ms: refused.and_then(|r| r.retry_after_ms),
        line: decision.line,
        policy,
        dropped,
    })
}
