//! A decision: rules first, then limits, then rates.

use super::check::{self, No};
use super::seats::Lease;
use super::share::{Share, Short, Tally};
use super::{load, report};
use crate::process::shim::Shim;
use crate::stats::{self, Counter};
use cmshim_core::tenant::reason::Code;
use cmshim_core::tenant::{ConnectionRequest, Mode, Policy, Subject, Verdict};

/// The policy in effect.
pub struct Current {
    /// `None`: it could not be read when the process began.
    pub policy: Option<Policy>,
    /// The row of each subject that is counted, in the policy's order.
    pub rows: Vec<Option<usize>>,
    /// The row of those who are no tenant.
    pub nobody: Option<usize>,
    /// The tenant that this process is itself.
    pub own: Option<String>,
    /// By its name, which is a mistake where the policy has none of that name: a pattern for cgroups meets others too.
    pub named: bool,
    /// May a limit be taken to hold where it cannot be counted with other processes?
    pub limits_hold: bool,
    /// What is done where there is no policy, or it does not have the tenant that this process is said to be.
    pub allow_without: bool,
    /// Empty if the configuration names none that can be used.
    pub file: String,
}

/// Does a connect come in or go out?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// Why a connect may not be.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub code: Code,
    pub tenant: String,
    pub used: u32,
    pub limit: u32,
    pub retry_after_ms: Option<u32>,
}

/// What came of it.
#[derive(Default)]
pub struct Decision {
    pub tenant: Option<String>,
    /// Line of the deciding table in the policy; 0 for the default.
    pub line: usize,
    /// Where it is counted.
    row: Option<usize>,
    /// What the connection holds while it lives.
    pub seat: Option<Lease>,
    pub refused: Option<Refusal>,
    /// It would be refused, did the policy not only observe.
    pub observed: bool,
}

impl Decision {
    /// Is the connect refused in earnest?
    pub fn refuses(&self) -> bool {
        self.refused.is_some() && !self.observed
    }
}

/// Decides about a connect, counts it and tells of it. Inside `guard::run`; `None` where there is no policy.
pub fn about(
    shim: &'static Shim,
    direction: Direction,
    ask: &ConnectionRequest,
    counted: bool,
) -> Option<Decision> {
    let current = load::current(shim)?;
    let share = super::state().share.get();
    let decision = weigh(&current, share, direction, ask, counted);
    if !counts(direction, &decision, counted, check::registered()) {
        return Some(decision);
    }
    tally(share, &decision);
    report::decision(shim, &current, direction, ask, &decision);
    Some(decision)
}

/// Is a decision counted and told of? `checked`: the program has a check of its own.
pub(super) fn counts(
    direction: Direction,
    decision: &Decision,
    counted: bool,
    checked: bool,
) -> bool {
    // The policy says nothing of outgoing connects of a process that is no tenant.
    let unknown_tenant_text = direction == Direction::Out && decision.tenant.is_none();
    // The program's own check has the last word.
    let asked = direction == Direction::In && checked;
    // A question that was answered with yes comes again when the connection is made.
    decision.refused.is_some() || counted && !unknown_tenant_text && !asked
}

/// The program's own check was asked about a request that the policy let through, and said no in this way, or yes.
/// Counts it and tells of it; `observed`: the policy would have refused it for a limit. Inside `guard::run`.
pub fn by_program(shim: &'static Shim, ask: &ConnectionRequest, observed: bool, no: Option<No>) {
    let current = load::current(shim);
    let share = super::state().share.get();
    let mut decision = match &current {
        Some(current) => weigh(current, share, Direction::In, ask, false),
        None => Decision::default(),
    };
    let told = observed || decision.observed && decision.refused.is_some();
    if told && no.is_none() {
        return;
    }
    decision.observed = false;
    decision.refused = no.map(|_| Refusal {
        code: Code::Program,
        tenant: decision.tenant.clone().unwrap_or_default(),
        used: 0,
        limit: 0,
        retry_after_ms: None,
    });
    tally(share, &decision);
    let file = current.as_ref().map_or("", |current| &current.file);
    report::by_program(shim, file, ask, &decision, no);
}

/// The tenant of an incoming connect, by the rules alone.
pub fn tenant_of(shim: &'static Shim, ask: &ConnectionRequest) -> Option<String> {
    let current = load::current(shim)?;
    let policy = current.policy.as_ref()?;
    let at = policy.incoming(ask).subject?;
    Some(policy.subjects().get(at)?.name.clone())
}

/// `counted`: it takes a place and a token, and is not only asked about.
pub(super) fn weigh(
    current: &Current,
    share: Option<&Share>,
    direction: Direction,
    ask: &ConnectionRequest,
    counted: bool,
) -> Decision {
    let Some(policy) = &current.policy else {
        return without(current);
    };
    let verdict = match direction {
        Direction::In => policy.incoming(ask),
        Direction::Out => policy.outgoing(current.own.as_deref(), ask),
    };
    let subject = verdict.subject.and_then(|at| policy.subjects().get(at));
    let row = verdict.subject.and_then(|at| *current.rows.get(at)?);
    let own = current.own.as_ref().filter(|name| policy.has_tenant(name));
    let mut decision = Decision {
        tenant: match direction {
            Direction::In => subject.map(|s| s.name.clone()),
            Direction::Out => own.cloned(),
        },
        line: verdict.line,
        row: subject.map_or(current.nobody, |_| row),
        seat: None,
        refused: None,
        observed: policy.mode() == Mode::Observe,
    };
    if direction == Direction::Out && own.is_none() && current.named && !current.allow_without {
        decision.refused = Some(unknown(current));
        return decision;
    }
    decision.refused = match (verdict.allow, subject) {
        (false, _) => Some(by_rule(direction, &verdict, decision.tenant.as_deref())),
        (true, Some(subject)) if counted => admit(
            current,
            share,
            subject,
            row,
            &mut decision.seat,
            decision.observed,
        ),
        _ => None,
    };
    decision
}

fn by_rule(direction: Direction, verdict: &Verdict, tenant: Option<&str>) -> Refusal {
    Refusal {
        code: match (verdict.subject, direction) {
            (Some(_), _) => Code::Denied,
            (None, Direction::In) => Code::NoTenant,
            (None, Direction::Out) => Code::EgressDefault,
        },
        tenant: tenant.unwrap_or_default().to_owned(),
        used: 0,
        limit: 0,
        retry_after_ms: None,
    }
}

/// The policy does not have this process's tenant, so what its rules would refuse is not known.
fn unknown(current: &Current) -> Refusal {
    Refusal {
        code: Code::UnknownTenant,
        tenant: current.own.clone().unwrap_or_default(),
        used: 0,
        limit: 0,
        retry_after_ms: None,
    }
}

/// The policy could not be read.
fn without(current: &Current) -> Decision {
    let refusal = Refusal {
        code: Code::Unreadable,
        tenant: String::new(),
        used: 0,
        limit: 0,
        retry_after_ms: None,
    };
    Decision {
        tenant: None,
        line: 0,
        row: current.nobody,
        seat: None,
        refused: (!current.allow_without).then_some(refusal),
        observed: false,
    }
}

/// Takes a place and a token; where that fails, the place is given back, or kept without right if the policy only
/// observes, so that the count stays that of live connections.
fn admit(
    current: &Current,
    share: Option<&Share>,
    subject: &Subject,
    row: Option<usize>,
    seat: &mut Option<Lease>,
    observed: bool,
) -> Option<Refusal> {
    let limited = subject.limited();
    let refusal = |code, used: u64, retry_ns: Option<u64>| Refusal {
        code,
        tenant: subject.name.clone(),
        used: u32::try_from(used).unwrap_or(u32::MAX),
        limit: match (code, subject.max_connections, &subject.rate) {
            (Code::OverLimit, Some(most), _) => most,
            // A rate below 1 is no whole number, and "more often than once a second" would be untrue.
            (Code::Rate, _, Some(rate)) if rate.per_s >= 1.0 => rate.per_s.ceil() as u32,
            _ => 0,
        },
        retry_after_ms: retry_ns
            .map(|ns| u32::try_from(ns.div_ceil(1_000_000)).unwrap_or(u32::MAX)),
    };
    let (Some(share), Some(row)) = (share, row) else {
        *seat = subject.tos.map(|tos| Lease {
            row: None,
            tos: Some(tos),
            observed: false,
        });
        let blind = limited && !current.limits_hold;
        return blind.then(|| refusal(Code::Uncounted, 0, None));
    };
    if limited && !share.shared() && !current.limits_hold {
        return Some(refusal(Code::Uncounted, 0, None));
    }
    let seated = share.acquire(row, subject.max_connections, current.limits_hold);
    let short = match (seated, &subject.rate) {
        (Ok(()), Some(rate)) => share.token(row, rate, current.limits_hold).err(),
        (seated, _) => seated.err(),
    };
    let refused = short.map(|short| match short {
        Short::Full(used) => refusal(Code::OverLimit, used, None),
        Short::Late(ns) => refusal(Code::Rate, 0, Some(ns)),
        Short::Uncounted => refusal(Code::Uncounted, 0, None),
    });
    let goes_on = refused.is_none() || observed;
    match (goes_on, seated.is_err()) {
        (true, true) => share.acquire_anyway(row),
        (false, false) => share.release(row),
        _ => {}
    }
    if goes_on {
        *seat = Some(Lease {
            row: Some(row),
            tos: subject.tos,
            observed: refused.is_some(),
        });
    }
    refused
}

fn tally(share: Option<&Share>, decision: &Decision) {
    let what = match &decision.refused {
        None => Tally::Allowed,
        Some(_) if decision.observed => Tally::Observed,
        Some(r) => match r.code {
            Code::OverLimit => Tally::OverLimit,
            Code::Rate => Tally::Rate,
            _ => Tally::Denied,
        },
    };
    let counter = match what {
        Tally::Allowed => Counter::TenantsAllowed,
        Tally::Observed => Counter::TenantsObserved,
        _ => Counter::TenantsRefused,
    };
    stats::add(counter, 1);
    if let (Some(share), Some(row)) = (share, decision.row) {
        share.count(row, what);
    }
}
