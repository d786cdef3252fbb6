//! The line for programs: one JSON object. The names are stable; a name whose value is not known is
//! left out.
//!
//! | name | value |
//! |---|---|
//! | `time` | RFC 3339, UTC, milliseconds |
//! | `program`, `pid` | who ran |
//! | `severity` | `error`, `warn`, `info`, `debug` |
//! | `what` | what was attempted, in words |
//! | `call` | the function that failed |
//! | `stage` | `address`, `route`, `qp`, `connect`, `accept`, … |
//! | `role` | `client`, `server`, `none` |
//! | `who` | `this-process`, `this-kernel`, `network`, `peer-kernel`, `peer-program`, `peer-policy` |
//! | `verb`, `code`, `summary`, `cause`, `next` | the explanation |
//! | `event`, `status`, `errno`, `async_event` | its numbers |
//! | `src`, `dst` | `{addr, host, port, scope}`: local and peer; `scope`, a number, for IPv6 with one (`addr` and `host` have its interface's name) |
//! | `port_space` | `TCP`, `UDP`, `IPoIB`, `IB` |
//! | `qp_num` | number of the local queue pair |
//! | `device` | `{name, port, gid, roce, transport}` |
//! | `elapsed_ms` | a number, with fractions |
//! | `private_data` | `{len, used, text or hex, cut}`: `len` with padding, `used` without, `cut` bytes not shown |
//! | `policy` | `{code, tenant, used, limit, retry_after_ms}`: why the peer's policy, or its program's own check, refused; see [`tenant::reason`](crate::tenant::reason) |
//! | `details` | list of strings |
//! | `repeats` | `{count, over_ms}`: this line stands for so many further incidents |

use super::{address, duration, fill, private_data, refusal, text, time, Device, Report};
use crate::model::{Numbers, Role, Severity, Stage, Transport, Who};
use crate::tenant::reason::{Code, OwnedReason};
use crate::text::escape_json;
use serde::Serialize;
use std::net::SocketAddr;

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    program: &'a str,
    pid: u32,
    severity: Severity,
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
    stage: Stage,
    role: Role,
    who: Who,
    verb: &'a str,
    code: &'a str,
    #[serde(flatten)]
    numbers: Numbers,
    summary: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cause: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    next: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    src: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dst: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port_space: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qp_num: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<DeviceLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private_data: Option<Data>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    details: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<RepeatsLine>,
}

#[derive(Serialize)]
struct Address {
    addr: String,
    host: String,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<u32>,
}

impl From<SocketAddr> for Address {
    fn from(a: SocketAddr) -> Address {
        Address {
            addr: address::with_port(a),
            host: address::host(a),
            port: a.port(),
            scope: address::scope(a),
        }
    }
}

#[derive(Serialize)]
struct DeviceLine<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    roce: Option<&'a str>,
    transport: Transport,
}

impl<'a> From<&'a Device> for DeviceLine<'a> {
    fn from(d: &'a Device) -> DeviceLine<'a> {
        DeviceLine {
            name: &d.name,
            port: d.port,
            gid: d.gid.as_deref(),
            roce: d.roce.as_deref(),
            transport: d.transport,
        }
    }
}

#[derive(Serialize)]
struct Data {
    len: usize,
    used: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
    cut: usize,
}

#[derive(Serialize)]
struct RepeatsLine {
    count: u64,
    over_ms: f64,
}

/// One JSON object on one line, without its line end.
pub fn json(r: &Report) -> String {
    let e = &r.explanation;
    let line = Line {
        time: time::rfc3339(r.time),
        program: &r.program,
        pid: r.pid,
        severity: e.severity,
        what: &r.what,
        call: r.call,
        stage: r.stage,
        role: r.role,
        who: e.who,
        verb: e.verb,
        code: &e.code,
        numbers: e.numbers,
        summary: &e.summary,
        cause: &e.cause,
        next: fill::next(r),
        src: r.src.map(Address::from),
        dst: r.dst.map(Address::from),
        port_space: r.port_space,
        qp_num: r.qp_num,
        device: r.device.as_ref().map(DeviceLine::from),
        elapsed_ms: r.elapsed.map(duration::millis),
        private_data: r
            .private_data
            .as_deref()
            .map(|d| data(d, r.private_data_max)),
        policy: refusal(r).map(policy),
        details: &r.details,
        repeats: r.repeats.map(|n| RepeatsLine {
            count: n.count,
            over_ms: duration::millis(n.over),
        }),
    };
    // Strings and numbers only: this cannot fail. If it does, the text is better than nothing.
    match serde_json::to_string(&line) {
        Ok(object) => escape_json(&object),
        Err(_) => text::text(r),
    }
}

fn policy(reason: OwnedReason) -> serde_json::Value {
    let mut object = serde_json::Map::new();
    object.insert("code".into(), reason.code_name().into());
    if !reason.tenant.is_empty() {
        object.insert("tenant".into(), reason.tenant.into());
    }
    let used = (reason.code == Ok(Code::OverLimit)).then_some(reason.used);
    let limit = (reason.limit > 0).then_some(reason.limit);
    for (name, number) in [
        ("used", used),
        ("limit", limit),
        ("retry_after_ms", reason.retry_after_ms),
    ] {
        if let Some(number) = number {
            object.insert(name.into(), number.into());
        }
    }
    object.into()
}

fn data(bytes: &[u8], max: usize) -> Data {
    let shown = private_data(bytes, max);
    Data {
        len: shown.total,
        used: shown.used,
        text: shown.text,
        hex: shown.hex.map(|h| h.replace(' ', "")),
        cut: shown.cut,
    }
}
