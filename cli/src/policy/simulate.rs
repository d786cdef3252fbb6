//! `cmshim policy test`: a decision, and how it came about.

use std::net::IpAddr;

use cmshim_core::tenant::{
    interface_index, Condition, ConnectionRequest, Mode, Policy, Step, Verdict,
};

use super::args::TestArgs;
use super::words;
use crate::failure::{Failure, FOUND, USAGE};
use crate::output;

pub fn test(args: &TestArgs) -> Result<u8, Failure> {
    let policy = match super::read(&args.file) {
        Ok(policy) => policy,
        Err(problems) => {
            problems
                .iter()
                .for_each(|problem| output::complain(problem));
            return Ok(USAGE);
        }
    };
    let ask = ask(args)?;
    if let Some(name) = &args.tenant {
        if !policy.subjects().iter().any(|s| s.name == *name) {
            return Err(Failure::new(
                USAGE,
                format!("the policy has no tenant '{name}'"),
            ));
        }
    }
    let own = args.tenant.as_deref();
    let (verdict, trace) = match args.egress {
        true => (policy.outgoing(own, &ask), policy.trace_outgoing(own, &ask)),
        false => (policy.incoming(&ask), policy.trace_incoming(&ask)),
    };
    let mut out = decision(&policy, &verdict, args);
    for step in &trace {
        out.push_str(&step_text(&policy, step, args));
    }
    output::print(&out)?;
    Ok(if verdict.allow { 0 } else { FOUND })
}

fn ask(args: &TestArgs) -> Result<ConnectionRequest, Failure> {
    let wrong = |what: String| Failure::new(USAGE, format!("--peer {}: {what}", args.peer));
    let (peer, scope) = match args.peer.split_once('%') {
        Some((peer, scope)) => (peer, Some(scope)),
        None => (args.peer.as_str(), None),
    };
    let peer: IpAddr = peer
        .parse()
        .map_err(|_| wrong("not an IP address".into()))?;
    let scope = match scope {
        None => 0,
        Some(text) => match text.parse().ok().or_else(|| interface_index(text)) {
            Some(number) => number,
            None => return Err(wrong("no such interface with an IPv6 address".into())),
        },
    };
    Ok(ConnectionRequest {
        peer: Some(peer),
        scope,
        local: args.local,
        port: args.port.unwrap_or(0),
        pkey: args.pkey,
        gid: args.gid.map(|gid| match gid {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        }),
    })
}

/// The first line: what, and by which rule.
fn decision(policy: &Policy, verdict: &Verdict, args: &TestArgs) -> String {
    let word = if verdict.allow { "allow" } else { "refuse" };
    let subjects = policy.subjects();
    let mut line = match verdict.subject {
        Some(place) => {
            let who = words::subject(subjects, place);
            let limits = words::limits(&subjects[place]);
            let limits = match limits.is_empty() || !verdict.allow {
                true => String::new(),
                false => format!("; {limits}"),
            };
            format!("{word}: {who} in line {}{limits}", verdict.line)
        }
        None if args.egress => format!("{word}: egress_default, {}", no_egress(policy, args)),
        None => format!("{word}: default, no tenant matches"),
    };
    if !verdict.allow && policy.mode() == Mode::Observe {
        line.push_str(" (the policy only observes: it would be let through)");
    }
    line.push('\n');
    line
}

fn no_egress(policy: &Policy, args: &TestArgs) -> String {
    match &args.tenant {
        None => "the process belongs to no tenant (--tenant)".to_owned(),
        Some(name) => {
            let mut rules = policy.subjects().iter().filter(|s| s.egress);
            match rules.any(|s| s.name == *name) {
                true => format!("no egress rule of tenant '{name}' matches"),
                false => format!("tenant '{name}' has no egress rules"),
            }
        }
    }
}

/// One rule that was asked.
fn step_text(policy: &Policy, step: &Step, args: &TestArgs) -> String {
    let who = words::subject(policy.subjects(), step.subject);
    let at = match (&step.net, args.egress) {
        (Some(net), _) => format!(", {net}"),
        (None, false) => ", any peer".to_owned(),
        (None, true) => String::new(),
    };
    let what = match step.fails {
        None => "matches".to_owned(),
        Some(condition) => lacks(condition, args),
    };
    format!("  line {}: {who}{at}: {what}\n", step.line)
}

fn lacks(condition: Condition, args: &TestArgs) -> String {
    let shown = |name: &str, option: &str, value: Option<String>| match value {
        Some(value) => format!("{value} is not in its {name}"),
        None => format!("it has {name}, and {option} is not given"),
    };
    match condition {
        Condition::Scope => "the peer is not known to be behind this interface".to_owned(),
        Condition::To => format!("{} is not in its to", args.peer),
        Condition::Local => shown("local", "--local", args.local.map(|a| a.to_string())),
        Condition::Ports => shown("ports", "--port", args.port.map(|p| p.to_string())),
        Condition::Pkeys => shown("pkeys", "--pkey", args.pkey.map(|p| format!("{p:#06x}"))),
        Condition::Gids => shown("gids", "--gid", args.gid.map(|g| g.to_string())),
    }
}
