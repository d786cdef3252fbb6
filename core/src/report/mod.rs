//! One incident, and how it is written down: a line of text or a JSON object.

mod address;
pub mod duration;
mod fill;
mod json;
mod note;
mod private_data;
mod text;
mod time;

pub use json::json;
pub use note::{note_json, note_text};
pub use private_data::{private_data, Shown};
pub use text::{text, MAX_LINE};
pub use time::{rfc3339, rfc3339_micros};

use crate::model::{Explanation, Role, Stage, Transport, Who};
use crate::tenant::reason::{self, Code, OwnedReason};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

/// Everything known about one incident.
#[derive(Debug, Clone)]
pub struct Report {
    pub time: SystemTime,
    pub program: String,
    pub pid: u32,
    /// What was attempted: "connect", "register memory". See [`crate::explain::what_of_call`].
    pub what: String,
    /// The call that failed, when it was a call.
    pub call: Option<&'static str>,
    pub stage: Stage,
    pub role: Role,
    /// Local address; port 0 is not shown.
    pub src: Option<SocketAddr>,
    /// The peer's address.
    pub dst: Option<SocketAddr>,
    /// "TCP", "UDP", "IPoIB", "IB".
    pub port_space: Option<&'static str>,
    pub qp_num: Option<u32>,
    pub device: Option<Device>,
    /// From the attempt to its end.
    pub elapsed: Option<Duration>,
    pub explanation: Explanation,
    /// Private data of the peer's answer.
    pub private_data: Option<Vec<u8>>,
    /// At most so many bytes of it are shown.
    pub private_data_max: usize,
    /// More facts, each a short phrase.
    pub details: Vec<String>,
    /// This is a summary of so many further incidents of the same kind.
    pub repeats: Option<Repeats>,
}

impl Report {
    /// A report with nothing but the necessary.
    pub fn new(what: impl Into<String>, stage: Stage, explanation: Explanation) -> Report {
        Report {
            time: SystemTime::now(),
            program: String::new(),
            pid: std::process::id(),
            what: what.into(),
            call: None,
            stage,
            role: Role::None,
            src: None,
            dst: None,
            port_space: None,
            qp_num: None,
            device: None,
            elapsed: None,
            explanation,
            private_data: None,
            private_data_max: 64,
            details: Vec::new(),
            repeats: None,
        }
    }
}

/// Why the peer's policy or its program's own check refused, where that is what happened.
pub(crate) fn refusal(r: &Report) -> Option<OwnedReason> {
    let found = reason::decode(r.private_data.as_ref()?)?;
    match r.explanation.who {
        Who::PeerPolicy => Some(found),
        Who::PeerProgram if found.code == Ok(Code::Program) => Some(found),
        _ => None,
    }
}

/// The local RDMA device in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// "mlx5_0"
    pub name: String,
    pub port: Option<u8>,
    /// In the usual notation: "::ffff:10.77.0.2".
    pub gid: Option<String>,
    /// "RoCE v1" or "RoCE v2".
    pub roce: Option<String>,
    pub transport: Transport,
}

/// How often the same thing happened again, and over what time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    pub count: u64,
    pub over: Duration,
}
