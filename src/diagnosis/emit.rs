//! From a finding to a line: severity, flood book, format.

use super::state::{records, State};
use super::subject::Subject;
use crate::process::keeper;
use crate::process::shim::Shim;
use crate::process::sink::LINE;
use crate::process::thread;
use crate::stats;
use crate::sys::device;
use crate::sys::lock::lock;
use cmshim_core::codes::event as ev;
use cmshim_core::config::Format;
use cmshim_core::explain::Port;
use cmshim_core::flood::Flood;
use cmshim_core::model::{Explanation, Role, Severity, Stage, Transport, Who};
use cmshim_core::report::{self, Report};
use std::net::Ipv6Addr;
use std::time::{Duration, Instant, SystemTime};

/// What a line says beside its explanation.
pub struct Line<'a> {
    pub what: &'a str,
    pub call: Option<&'static str>,
    pub stage: Stage,
    pub role: Role,
    pub subject: &'a Subject,
    pub elapsed: Option<Duration>,
    pub private_data: Option<Vec<u8>>,
    pub details: Vec<String>,
}

fn level(severity: Severity) -> log::Level {
    match severity {
        Severity::Error => log::Level::Error,
        Severity::Warn => log::Level::Warn,
        Severity::Info => log::Level::Info,
        Severity::Debug => log::Level::Debug,
    }
}

/// Would a finding of this severity be written, or counted? Asked before anything costly is found out for it.
pub fn wanted(shim: &Shim, severity: Severity) -> bool {
    shim.config.reasons.enable && (written(severity) || counted(severity))
}

/// Would a line of this severity be written?
pub fn written(severity: Severity) -> bool {
    level(severity) <= log::max_level()
}

/// Failures and warnings are counted by code and peer, whether they are written or not.
fn counted(severity: Severity) -> bool {
    severity <= Severity::Warn && stats::on()
}

/// Writes a line, or counts it if the same was written a moment ago.
pub fn line(shim: &'static Shim, explanation: Explanation, line: Line) {
    if explanation.severity <= Severity::Warn {
        thread::mark_reported();
    }
    if !wanted(shim, explanation.severity) {
        return;
    }
    if counted(explanation.severity) {
        stats::reason(&stats::Reason {
            code: &explanation.code,
            peer: line.subject.dst.map(|dst| dst.ip()),
            who: explanation.who,
            stage: line.stage,
        });
    }
    if !written(explanation.severity) {
        return;
    }
    let report = Report {
        time: SystemTime::now(),
        program: shim.program.clone(),
        pid: std::process::id(),
        what: line.what.to_owned(),
        call: line.call,
        stage: line.stage,
        role: line.role,
        src: line.subject.src,
        dst: line.subject.dst,
        port_space: line.subject.port_space,
        qp_num: line.subject.qp_num,
        device: line.subject.shown_device(),
        elapsed: line.elapsed,
        explanation,
        private_data: line.private_data,
        private_data_max: shim.config.reasons.private_data_max,
        details: line.details,
        repeats: None,
    };
    let state = records();
    let age = state.started.elapsed();
    let (due, shown) = {
        let mut book = lock(&state.flood);
        let book = book.get_or_insert_with(|| Flood::new(shim.config.reasons.repeat));
        // Windows that are over come first: this line may be the first of a new one.
        (book.due(age), book.offer(age, report))
    };
    for report in due.iter().chain(&shown) {
        write(shim, report);
    }
    if shown.is_none() {
        schedule(shim, state);
    }
}

/// Has the keeper write the next summary when it is due. Without a keeper it rides along with the
/// next line, or comes when the process exits.
fn schedule(shim: &'static Shim, state: &State) {
    if let (Some(next), true) = (next_summary(state), shim.config.threads) {
        keeper::at(next);
        keeper::ensure(shim);
    }
}

fn next_summary(state: &State) -> Option<Instant> {
    let next = lock(&state.flood).as_ref().and_then(Flood::next_due)?;
    Some(state.started + next)
}

/// Writes the summaries that are due; when the next one is.
pub fn summaries(shim: &Shim, now: Instant) -> Option<Instant> {
    let state = records();
    let due = lock(&state.flood)
        .as_mut()?
        .due(now.duration_since(state.started));
    for report in &due {
        write(shim, report);
    }
    next_summary(state)
}

/// Writes what is still counted; the process ends.
pub fn rest(shim: &Shim) {
    let state = records();
    let now = state.started.elapsed();
    let rest = lock(&state.flood)
        .as_mut()
        .map(|book| book.drain(now))
        .unwrap_or_default();
    for report in &rest {
        write(shim, report);
    }
}

/// Which RoCE the device's GID is. Only for lines that are written, not for those that are counted.
fn add_roce(state: &State, report: &mut Report) {
    let Some(d) = &mut report.device else { return };
    let gid = d.gid.as_deref().and_then(|g| g.parse::<Ipv6Addr>().ok());
    if let (Transport::Roce, Some(port), Some(gid)) = (d.transport, d.port, gid) {
        d.roce = state.gids.roce(&d.name, port, gid).map(str::to_owned);
    }
}

/// The state of the port where the network is blamed, or an address or route was not found: a port or
/// network device that is down looks like the network's fault. An early warning has it already.
fn add_port(report: &mut Report) {
    let event = report.explanation.numbers.event;
    let wanted = matches!(
        event,
        Some(ev::UNREACHABLE | ev::ADDR_ERROR | ev::ROUTE_ERROR)
    ) || report.explanation.who == Who::Network;
    let known = report.details.iter().any(|d| d.starts_with("port is"));
    if !wanted || known || report.repeats.is_some() {
        return;
    }
    match &report.device {
        Some(d) => {
            let port = d.port.and_then(|number| device::port(&d.name, number));
            report.details.extend(port.iter().map(Port::phrase));
        }
        None => {
            let ports = device::few_ports();
            report.details.extend(ports.iter().map(Port::sentence));
            if let [Port {
                netdev: Some(netdev),
                ..
            }] = ports.as_slice()
            {
                let next = &mut report.explanation.next;
                *next = next.replace("-I DEV", &format!("-I {netdev}"));
            }
        }
    }
}

fn write(shim: &Shim, report: &Report) {
    let mut report = report.clone();
    add_roce(records(), &mut report);
    add_port(&mut report);
    let report = &report;
    let text = match shim.config.log.format {
        Format::Text => report::text(report),
        Format::Json => report::json(report),
    };
    log::log!(target: LINE, level(report.explanation.severity), "{text}");
}
