//! The line for people.

use super::{address, duration, fill, private_data, refusal, Report};
use crate::model::{Explanation, Role, Transport};
use crate::text::escaped;
use std::net::SocketAddr;

/// No line is longer than this, in bytes: it must reach a pipe or a log in one write.
pub const MAX_LINE: usize = 3_500;

/// One physical line, without its line end.
pub fn text(r: &Report) -> String {
    let mut raw = String::with_capacity(512);
    raw.push_str(&format!("cmshim[{} {}]: ", r.program, r.pid));
    head(&mut raw, r);
    raw.push_str(": ");
    raw.push_str(&r.explanation.summary);
    brackets(&mut raw, r);
    tail(&mut raw, r);
    let mut line = String::with_capacity(raw.len());
    line.push_str(&escaped(&raw));
    cut(line)
}

/// "connect 10.77.0.2 -> 10.77.0.1:7174 refused by the peer's kernel after 1.2 ms"
fn head(out: &mut String, r: &Report) {
    out.push_str(&r.what);
    addresses(out, r);
    out.push_str(&format!(" {}", r.explanation.verdict()));
    if let Some(elapsed) = r.elapsed {
        out.push_str(&format!(" after {}", duration::human(elapsed)));
    }
}

fn addresses(out: &mut String, r: &Report) {
    // The arrow is the direction of the connect request.
    let server = r.role == Role::Server;
    match (r.src, r.dst) {
        (Some(here), Some(peer)) if server => {
            out.push_str(&format!(" {} <- {}", show(here), show(peer)));
        }
        (Some(here), Some(peer)) => {
            out.push_str(&format!(" {} -> {}", show(here), show(peer)));
        }
        (Some(here), None) => out.push_str(&format!(" {}", show(here))),
        (None, Some(peer)) if server => out.push_str(&format!(" from {}", show(peer))),
        (None, Some(peer)) => out.push_str(&format!(" to {}", show(peer))),
        (None, None) => {}
    }
}

/// Address and port; a port of 0 is not one.
fn show(a: SocketAddr) -> String {
    if a.port() != 0 {
        return address::with_port(a);
    }
    address::host(a)
}

/// "(REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID; rxe0 port 1, TCP, RoCE v2, GID ::ffff:10.77.0.2)"
fn brackets(out: &mut String, r: &Report) {
    let mut groups: Vec<String> = Vec::new();
    if !r.explanation.code.is_empty() {
        groups.push(r.explanation.code.clone());
    }
    let path = path(r);
    if !path.is_empty() {
        groups.push(path);
    }
    groups.extend(r.details.iter().cloned());
    if let Some(data) = &r.private_data {
        let shown = private_data(data, r.private_data_max);
        // A reason of ours was put into words already.
        if shown.used > 0 && r.private_data_max > 0 && refusal(r).is_none() {
            groups.push(format!("private data {shown}"));
        }
    }
    if !groups.is_empty() {
        out.push_str(&format!(" ({})", groups.join("; ")));
    }
}

/// Device, port, port space, RoCE version, GID and QP, as far as they are known.
fn path(r: &Report) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(d) = &r.device {
        parts.push(match d.port {
            Some(port) => format!("{} port {port}", d.name),
            None => d.name.clone(),
        });
    }
    if let Some(ps) = r.port_space {
        parts.push(ps.to_string());
    }
    if let Some(d) = &r.device {
        match (&d.roce, d.transport) {
            (Some(roce), _) => parts.push(roce.clone()),
            (None, Transport::Ib) => parts.push("InfiniBand".into()),
            (None, Transport::Iwarp) => parts.push("iWARP".into()),
            (None, Transport::Roce | Transport::Unknown) => {}
        }
        if let Some(gid) = &d.gid {
            parts.push(format!("GID {gid}"));
        }
    }
    if let Some(qp) = r.qp_num {
        parts.push(format!("QP {qp}"));
    }
    parts.join(", ")
}

/// Cause and next command, or how often it happened.
fn tail(out: &mut String, r: &Report) {
    if let Some(repeats) = r.repeats {
        let times = if repeats.count == 1 { "time" } else { "times" };
        out.push_str(&format!(
            " … {} more {times} in {}",
            thousands(repeats.count),
            duration::human(repeats.over)
        ));
        return;
    }
    add_sentence(out, &r.explanation.cause);
    add_sentence(out, &Explanation::next_sentence(&fill::next(r)));
}

fn add_sentence(out: &mut String, sentence: &str) {
    if sentence.is_empty() {
        return;
    }
    if !out.ends_with(['.', '?', '!']) {
        out.push('.');
    }
    out.push(' ');
    out.push_str(sentence);
}

/// 4120 as "4,120".
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Bounds the line, at a character's boundary.
fn cut(mut line: String) -> String {
    if line.len() <= MAX_LINE {
        return line;
    }
    let mut end = MAX_LINE - '…'.len_utf8();
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.truncate(end);
    line.push('…');
    line
}
