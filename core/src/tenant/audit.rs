//! One decision as one line of JSON. The names ([`FIELDS`]) are stable; a name whose value is not known is left out.

use super::reason::Code;
use crate::report::rfc3339_micros;
use crate::text::escape_json;
use std::net::IpAddr;
use std::time::SystemTime;

/// The names in their order, and their values.
pub const FIELDS: &[(&str, &str)] = &[
    ("time", "RFC 3339, UTC, microseconds"),
    ("pid", "the process that decided"),
    ("program", "its name"),
    ("direction", "in or out"),
    ("peer", "the other end's address; with % and the number of its interface for a link-local one"),
    ("local", "this host's address"),
    ("port", "of the service"),
    ("pkey", "a number"),
    ("tenant", "the tenant that matched; of an outgoing connection, the process's own"),
    ("decision", "allow, refuse, or would-refuse where the policy only observes"),
    ("reason", "why it was or would be refused: no-tenant, denied, over-limit, rate, unreadable, program, uncounted, egress-default, unknown-tenant"),
    ("used", "live connections of the tenant"),
    ("limit", "the limit that was met; 0 for a rate below 1"),
    ("retry_after_ms", "a number"),
    ("line", "of the deciding table in the policy file; not there if a default decided"),
    ("policy", "the policy file; not there without one, or if its name in the configuration cannot be used"),
    ("dropped", "lines that were left out before this one, because there were too many or the file took none"),
];

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Refuse,
    WouldRefuse,
}

impl Decision {
    pub const fn name(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Refuse => "refuse",
            Decision::WouldRefuse => "would-refuse",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Entry<'a> {
    pub time: SystemTime,
    pub pid: u32,
    pub program: &'a str,
    /// An outgoing connection.
    pub egress: bool,
    pub peer: Option<IpAddr>,
    pub local: Option<IpAddr>,
    /// Number of the interface of a link-local peer; 0 for none.
    pub scope: u32,
    pub port: u16,
    pub pkey: Option<u16>,
    pub tenant: Option<&'a str>,
    pub decision: Decision,
    pub reason: Option<Code>,
    pub used: Option<u32>,
    pub limit: Option<u32>,
    pub retry_after_ms: Option<u32>,
    /// 0 for a default.
    pub line: usize,
    /// Empty for none: the program's own check decides alone, or the file's name cannot be used.
    pub policy: &'a str,
    pub dropped: u64,
}

/// One JSON object on one line, without its line end.
pub fn line(entry: &Entry) -> String {
    let mut object = Object::new();
    object.text("time", Some(&rfc3339_micros(entry.time)));
    object.number("pid", Some(entry.pid));
    object.text("program", Some(entry.program));
    object.text("direction", Some(if entry.egress { "out" } else { "in" }));
    object.text("peer", address(entry.peer, entry.scope).as_deref());
    object.text("local", address(entry.local, 0).as_deref());
    object.number("port", Some(entry.port));
    object.number("pkey", entry.pkey);
    object.text("tenant", entry.tenant);
    object.text("decision", Some(entry.decision.name()));
    object.text("reason", entry.reason.map(Code::name));
    object.number("used", entry.used);
    object.number("limit", entry.limit);
    object.number("retry_after_ms", entry.retry_after_ms);
    object.number("line", Some(entry.line as u64).filter(|line| *line > 0));
    object.text("policy", Some(entry.policy).filter(|file| !file.is_empty()));
    object.number("dropped", Some(entry.dropped).filter(|lines| *lines > 0));
    object.end()
}

fn address(address: Option<IpAddr>, scope: u32) -> Option<String> {
    let address = address?.to_canonical();
    Some(match scope {
        0 => address.to_string(),
        scope => format!("{address}%{scope}"),
    })
}

/// A flat JSON object. serde's derived code for so many fields would be several kilobytes.
struct Object(String);

impl Object {
    fn new() -> Object {
        Object("{".to_owned())
    }

    fn name(&mut self, name: &str) {
        let comma = if self.0.len() > 1 { "," } else { "" };
        self.0.push_str(&format!("{comma}\"{name}\":"));
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        // A text as JSON cannot fail.
        if let Some(Ok(text)) = value.map(serde_json::to_string) {
            self.name(name);
            self.0.push_str(&text);
        }
    }

    fn number(&mut self, name: &str, value: Option<impl Into<u64>>) {
        if let Some(value) = value {
            self.name(name);
            self.0.push_str(&value.into().to_string());
        }
    }

    fn end(mut self) -> String {
        self.0.push('}');
        escape_json(&self.0)
    }
}
