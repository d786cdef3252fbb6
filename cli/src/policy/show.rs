//! `cmshim policy show`.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use cmshim_core::config::reason;
use cmshim_core::report::rfc3339;
use cmshim_core::tenant::share::{slot, Row as Counts};
use cmshim_core::tenant::{self, key_of, Policy, Subject, NO_TENANT_KEY};
use rustix::fs::OFlags;
use serde_json::{json, Value};

use super::args::ShowArgs;
use super::share::{of_process, Found, Sum};
use super::words;
use crate::failure::Failure;
use crate::output;
use crate::stats::table::{section, Row};

pub fn show(args: &ShowArgs) -> Result<u8, Failure> {
    let found = of_process(args.pid)?;
    let text = Text::of(&found);
    let rows = lines(&found, &text);
    output::print(&match args.json {
        true => format!("{:#}\n", object(&found, &text, &rows)),
        false => overview(&found, &text, &rows),
    })?;
    Ok(0)
}

/// The policy file as it is now.
struct Text {
    /// Whether it is what is in effect; else why it cannot be read here.
    present: Result<bool, String>,
    /// The policy in effect, if that is what the file has.
    policy: Option<Policy>,
}

impl Text {
    fn of(found: &Found) -> Text {
        let bytes = match bytes_of(Path::new(&found.share.path)) {
            Ok(bytes) => bytes,
            Err(why) => {
                return Text {
                    present: Err(why),
                    policy: None,
                }
            }
        };
        let present = Policy::fingerprint_of(&bytes) == found.slot.fingerprint;
        Text {
            present: Ok(present),
            policy: present.then(|| Policy::parse(&bytes).ok()).flatten(),
        }
    }

    /// Only the file has what a policy in effect says of rates and types of service.
    fn knows(&self, found: &Found) -> bool {
        self.policy.is_some() || !in_effect(found)
    }

    /// How the file and what is in effect belong together.
    fn words(&self, found: &Found) -> String {
        let older = match found.slot.broken && in_effect(found) {
            true => "; an older one stays in effect",
            false => "",
        };
        match &self.present {
            Ok(true) => "it is the file's present text".to_owned(),
            Ok(false) if found.slot.broken => {
                format!("the file's present text is broken{older} (cmshim policy check)")
            }
            Ok(false) => "the file's present text is another one".to_owned(),
            Err(why) => {
                let why = why.strip_prefix("cannot be read: ").unwrap_or(why);
                format!("the file cannot be read here: {why}{older}")
            }
        }
    }
}

/// The name is what the process's user says: it is not opened before it is known to be a file, so that it can lead to no
/// device.
fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    let flags = (OFlags::PATH | OFlags::CLOEXEC).bits();
    let mut options = File::options();
    let found = options.read(true).custom_flags(flags as i32).open(path);
    let found = found.map_err(|e| match e.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        _ => reason(&e),
    })?;
    let same = format!("/proc/self/fd/{}", found.as_raw_fd());
    tenant::file(Path::new(&same)).map_err(|problem| problem.what)
}

/// One tenant or egress rule.
struct Line<'a> {
    name: &'a str,
    /// Its number, from 1; `None` for incoming connections. 0 if the policy in effect is not known.
    egress: Option<usize>,
    subject: Option<&'a Subject>,
    /// Whether a missing subject means that there is no rate and no type of service.
    known: bool,
    live: u64,
    /// `None` for what has no row in any file: nothing was ever counted.
    counts: Option<&'a Counts>,
    /// What all files have.
    host: Sum,
}

/// In the order of the policy; then those that it does not have, with connections of no tenant last.
fn lines<'a>(found: &'a Found, text: &'a Text) -> Vec<Line<'a>> {
    let knows = text.knows(found);
    let subjects = text.policy.as_ref().map_or(&[][..], Policy::subjects);
    let rows = found.rows();
    let own = &found.share.rows;
    let line = |name, egress, subject, counts: Option<&'a Counts>| {
        let in_own = counts.and_then(|row| own.iter().find(|other| other.key == row.key));
        let live = in_own.map_or(0, |row| found.share.live(found.slot.number, row.number));
        Line {
            name,
            egress,
            subject,
            // Connections of no tenant never have any.
            known: knows || counts.is_some_and(|row| row.key == NO_TENANT_KEY),
            live: live.into(),
            host: counts.map_or_else(Sum::default, |row| found.sum(row.key)),
            counts,
        }
    };
    let of_policy = subjects.iter().enumerate().map(|(place, subject)| {
        let counts = rows.iter().copied().find(|row| row.key == subject.key);
        let egress = words::ordinal(subjects, place);
        line(subject.name.as_str(), egress, Some(subject), counts)
    });
    let unknown = |row: &&Counts| !subjects.iter().any(|s| s.key == row.key);
    let (none, mut others): (Vec<_>, Vec<_>) = rows
        .iter()
        .copied()
        .filter(unknown)
        .partition(|row| row.key == NO_TENANT_KEY);
    others.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.number.cmp(&b.number)));
    let others = others.into_iter().chain(none).map(|row| {
        let egress = (row.key != key_of(&row.name, None)).then_some(0);
        line(row.name.as_str(), egress, None, Some(row))
    });
    of_policy.chain(others).collect()
}

fn state(found: &Found) -> &'static str {
    match found.slot.state {
        slot::ENFORCES => "enforce",
        slot::OBSERVES => "observe",
        slot::CLOSED => "closed",
        slot::OPEN => "open",
        _ => "unknown",
    }
}

/// Is there a policy that the process holds to?
fn in_effect(found: &Found) -> bool {
    !matches!(found.slot.state, slot::CLOSED | slot::OPEN)
}

fn since(found: &Found) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_nanos(found.slot.loaded_ns))
}

fn overview(found: &Found, text: &Text, lines: &[Line]) -> String {
    let slot = &found.slot;
    let mut out = format!("{} {}: policy {}\n", slot.comm, slot.pid, found.share.path);
    let what = match state(found) {
        "closed" => "no policy could be read: all connections are refused (tenant.on_error)",
        "open" => "no policy could be read: all connections are allowed (tenant.on_error)",
        "observe" => "observe: nothing is refused",
        state => state,
    };
    out.push_str(&format!("  {what}, since {}", since(found)));
    out.push_str(&match slot.reloads {
        0 => "\n".to_owned(),
        1 => ", reloaded once\n".to_owned(),
        n => format!(", reloaded {n} times\n"),
    });
    out.push_str(&format!("  {}\n", text.words(found)));
    if lines.iter().any(|line| !line.known) {
        out.push_str("  ?: what is in effect is not known, since only the file says it\n");
    }
    let rows: Vec<Row> = lines.iter().map(row).collect();
    let heads = [
        "tenant", "live", "host", "limit", "rate", "ToS", "allowed", "denied", "over", "fast",
        "observed",
    ];
    section(&mut out, &heads, &rows);
    out
}

fn row(line: &Line) -> Row {
    let cell = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let of_file = |value: Option<String>| match line.known {
        true => cell(value),
        false => "?".to_owned(),
    };
    let host = &line.host;
    Row::new([
        match (line.name, line.egress) {
            ("", _) => "(no tenant)".to_owned(),
            (name, None) => name.to_owned(),
            (name, Some(0)) => format!("{name} egress"),
            (name, Some(number)) => format!("{name} egress {number}"),
        },
        line.live.to_string(),
        host.live.to_string(),
        cell(limit(line).map(|n| n.to_string())),
        of_file(line.subject.and_then(|s| s.rate.as_ref()).map(words::rate)),
        of_file(line.subject.and_then(|s| s.tos).map(words::tos)),
        host.allowed.to_string(),
        host.denied.to_string(),
        host.over_limit.to_string(),
        host.rate.to_string(),
        host.would_refuse.to_string(),
    ])
}

/// What the processes hold each other to; before the first connection, what the policy says.
fn limit(line: &Line) -> Option<u64> {
    let own = line.subject.and_then(|s| s.max_connections).map(u64::from);
    line.counts.map_or(own, |counts| counts.limit)
}

fn object(found: &Found, text: &Text, lines: &[Line]) -> Value {
    let slot = &found.slot;
    json!({
        "pid": slot.pid,
        "program": slot.comm,
        "policy": found.share.path,
        "share": found.file.display().to_string(),
        "state": state(found),
        "broken": slot.broken,
        "present": text.present.as_ref().ok(),
        "known": text.knows(found),
        "since": since(found),
        "reloads": slot.reloads,
        "tenants": lines.iter().map(tenant_object).collect::<Vec<_>>(),
    })
}

fn tenant_object(line: &Line) -> Value {
    let host = &line.host;
    let mut object = json!({
        "name": line.name,
        "live": line.live,
        "host": host.live,
        "allowed": host.allowed,
        "denied": host.denied,
        "over": host.over_limit,
        "fast": host.rate,
        "observed": host.would_refuse,
    });
    let rate = line.subject.and_then(|s| s.rate);
    let of_file = |value: Option<Value>| value.or((!line.known).then_some(Value::Null));
    for (name, value) in [
        ("egress", line.egress.map(|n| json!(n))),
        ("limit", limit(line).map(|n| json!(n))),
        ("rate", of_file(rate.map(|r| json!(r.per_s)))),
        ("burst", of_file(rate.map(|r| json!(r.burst)))),
        (
            "tos",
            of_file(line.subject.and_then(|s| s.tos).map(|t| json!(t))),
        ),
    ] {
        if let Some(value) = value {
            object[name] = value;
        }
    }
    object
}
