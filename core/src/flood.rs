//! Storms of failures: the first of a kind is shown, the rest of its window is counted. Refusals of two listeners, or with two
//! reasons in their private data, are of two kinds.
//!
//! Time is passed in (a [`Duration`] since any fixed start), so nothing here waits or asks a clock.

use crate::model::{Role, Stage, Who};
use crate::report::{refusal, Repeats, Report};
use crate::tenant::reason::Code;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Kinds that are told apart at one time; what comes beyond shares one bucket.
pub const MAX_KINDS: usize = 1_024;

/// Refusals that differ in nothing but their private data, and are told apart. The peer chooses what it sends.
pub const MAX_DATA: usize = 8;

/// Incidents with the same kind are the same news.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    what: What,
    data: Data,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct What {
    who: Who,
    stage: Stage,
    code: String,
    /// Address and, for IPv6, its scope: link-local addresses repeat on every link.
    peer: Option<(IpAddr, u32)>,
    /// The port of the listener, of a connection.
    port: Option<u16>,
    role: Role,
    /// Why the peer's policy or own check refused. Only codes that are known: the peer chooses what it sends.
    policy: Option<Code>,
}

/// The private data of a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Data {
    None,
    Bytes(Vec<u8>),
    /// More than are told apart.
    Others,
}

const OTHER_KINDS: &str = "counted together with other kinds: too many at once to tell apart";
const OTHER_DATA: &str =
    "counted together, whatever the private data: too many at once to tell apart";

impl Kind {
    /// What is counted together with it, if it is more than one kind.
    fn mixed(&self) -> Option<&'static str> {
        (self.data == Data::Others).then_some(OTHER_DATA)
    }

    fn of(r: &Report) -> Kind {
        let what = What {
            who: r.explanation.who,
            stage: r.stage,
            code: r.explanation.code.clone(),
            peer: r.dst.map(|a| match a {
                SocketAddr::V4(v4) => (IpAddr::V4(*v4.ip()), 0),
                SocketAddr::V6(v6) => (IpAddr::V6(*v6.ip()), v6.scope_id()),
            }),
            port: listener(r),
            role: r.role,
            policy: refusal(r).and_then(|reason| reason.code.ok()),
        };
        Kind {
            what,
            data: data(r),
        }
    }
}

/// The port that a client of the connection connects to. A server's clients each have another of their own.
fn listener(r: &Report) -> Option<u16> {
    let connecting = matches!(r.stage, Stage::Connect | Stage::Accept);
    // Where nobody saw the request, the side is not known; but only a server accepts.
    let serves = r.role == Role::Server || r.role == Role::None && r.stage == Stage::Accept;
    let address = if serves { r.src } else { r.dst };
    address.filter(|_| connecting).map(|a| a.port())
}

/// A policy's reason is compared by its code; the bytes hold times. Zeros at the end are the field's padding.
fn data(r: &Report) -> Data {
    let given = r.private_data.as_deref().unwrap_or_default();
    let end = given.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
    if end == 0 || refusal(r).is_some() {
        return Data::None;
    }
    Data::Bytes(given[..end].to_vec())
}

#[derive(Debug)]
struct Window {
    began: Duration,
    count: u64,
    /// The latest incident that was counted: the summary is written in its name.
    last: Option<Box<Report>>,
}

/// Decides which incidents are shown.
#[derive(Debug)]
pub struct Flood {
    window: Duration,
    max: usize,
    open: HashMap<Kind, Window>,
    overflow: Option<Window>,
}

impl Flood {
    /// `window` of zero shows everything.
    pub fn new(window: Duration) -> Flood {
        Flood::with_max(window, MAX_KINDS)
    }

    /// The same with another number of kinds.
    pub fn with_max(window: Duration, max: usize) -> Flood {
        Flood {
            window,
            max,
            open: HashMap::new(),
            overflow: None,
        }
    }

    /// Gives the report back when it is to be shown now; else it is counted.
    pub fn offer(&mut self, now: Duration, report: Report) -> Option<Report> {
        if self.window.is_zero() {
            return Some(report);
        }
        let kind = self.distinguished(Kind::of(&report));
        if let Some(w) = self.open.get_mut(&kind) {
            w.count(report);
            return None;
        }
        if self.open.len() < self.max {
            self.open.insert(kind, Window::new(now));
            return Some(report);
        }
        match &mut self.overflow {
            Some(w) => {
                w.count(report);
                None
            }
            None => {
                self.overflow = Some(Window::new(now));
                Some(report)
            }
        }
    }

    /// The same kind, or that of all others where too many differ in their private data.
    fn distinguished(&self, kind: Kind) -> Kind {
        if kind.data == Data::None || self.open.contains_key(&kind) {
            return kind;
        }
        let others = Kind {
            what: kind.what.clone(),
            data: Data::Others,
        };
        let full = || {
            let alike = self.open.keys().filter(|k| k.what == kind.what);
            alike.filter(|k| k.data != Data::None).count() >= MAX_DATA
        };
        match self.open.contains_key(&others) || full() {
            true => others,
            false => kind,
        }
    }

    /// Summaries of the windows that are over. A window with news goes on as a new one; a quiet one closes.
    pub fn due(&mut self, now: Duration) -> Vec<Report> {
        let window = self.window;
        let mut out = Vec::new();
        self.open
            .retain(|kind, w| w.turn(now, window, kind.mixed(), &mut out));
        if let Some(w) = &mut self.overflow {
            if !w.turn(now, window, Some(OTHER_KINDS), &mut out) {
                self.overflow = None;
            }
        }
        out
    }

    /// When [`Flood::due`] next has something to tell. Quiet windows are closed by any call of it.
    pub fn next_due(&self) -> Option<Duration> {
        self.open
            .values()
            .chain(&self.overflow)
            .filter(|w| w.count > 0)
            .map(|w| w.began.saturating_add(self.window))
            .min()
    }

    /// Summaries of everything counted and not yet told; for the end of the program.
    pub fn drain(&mut self, now: Duration) -> Vec<Report> {
        let mut out: Vec<Report> = self
            .open
            .drain()
            .filter_map(|(kind, mut w)| w.summary(now, kind.mixed()))
            .collect();
        if let Some(mut w) = self.overflow.take() {
            out.extend(w.summary(now, Some(OTHER_KINDS)));
        }
        out
    }
}

impl Window {
    fn new(now: Duration) -> Window {
        Window {
            began: now,
            count: 0,
            last: None,
        }
    }

    fn count(&mut self, report: Report) {
        self.count = self.count.saturating_add(1);
        self.last = Some(Box::new(report));
    }

    /// At the end of a window: tells what was counted. False when the window can be closed.
    fn turn(
        &mut self,
        now: Duration,
        window: Duration,
        mixed: Option<&str>,
        out: &mut Vec<Report>,
    ) -> bool {
        if now < self.began.saturating_add(window) {
            return true;
        }
        let summary = self.summary(now, mixed);
        let go_on = summary.is_some();
        out.extend(summary);
        self.began = now;
        go_on
    }

    fn summary(&mut self, now: Duration, mixed: Option<&str>) -> Option<Report> {
        let mut report = *self.last.take()?;
        report.repeats = Some(Repeats {
            count: std::mem::take(&mut self.count),
            over: now.saturating_sub(self.began),
        });
        report.details.extend(mixed.map(str::to_owned));
        Some(report)
    }
}
