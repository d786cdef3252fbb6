//! What a number or a name means.

use cmshim_core::codes::{async_event, errno, event, reject};
use cmshim_core::explain::{self, CallQuery, EventQuery, Facts};
use cmshim_core::model::{Role, Transport};

use super::answer::Answer;
use crate::args::{ExplainArgs, RoleName, TransportName};
use crate::failure::{Failure, USAGE};

/// Events that say little without their status.
const WITH_STATUS: &[i32] = &[
    event::ADDR_ERROR,
    event::ROUTE_ERROR,
    event::CONNECT_ERROR,
    event::UNREACHABLE,
    event::REJECTED,
    event::MULTICAST_ERROR,
];

/// How the connection was made, as far as it was told.
struct Side {
    transport: Transport,
    role: Role,
}

pub fn answers(args: &ExplainArgs) -> Result<Vec<Answer>, Failure> {
    let side = Side::of(args);
    let code = args.code.as_deref();
    if let Some(name) = &args.event {
        return Ok(vec![side.event(event_number(name)?, code)?]);
    }
    if let Some(name) = &args.asynchronous {
        return Ok(vec![asynchronous(name)?]);
    }
    let code = code.unwrap_or_default();
    if let Some(function) = &args.call {
        return Ok(vec![side.call(function, code)?]);
    }
    let found = match code.parse::<i32>() {
        Ok(number) => side.number(number),
        Err(_) => side.name(code),
    };
    if found.is_empty() {
        return Err(unknown(code));
    }
    Ok(found)
}

impl Side {
    fn of(args: &ExplainArgs) -> Side {
        Side {
            transport: match args.transport {
                Some(TransportName::Ib) => Transport::Ib,
                Some(TransportName::Roce) => Transport::Roce,
                Some(TransportName::Iwarp) => Transport::Iwarp,
                None => Transport::Unknown,
            },
            role: match args.role {
                RoleName::Client => Role::Client,
                RoleName::Server => Role::Server,
            },
        }
    }

    fn event(&self, number: i32, status: Option<&str>) -> Result<Answer, Failure> {
        let status = match status {
            Some(text) => status_number(text)?,
            None if WITH_STATUS.contains(&number) => return Ok(bare(number)),
            None => 0,
        };
        Ok(self.explained(number, status))
    }

    fn explained(&self, event: i32, status: i32) -> Answer {
        let query = EventQuery {
            event,
            status,
            transport: self.transport,
            role: self.role,
            ..EventQuery::default()
        };
        Answer::Explained("event", explain::event(&query))
    }

    fn call(&self, function: &str, code: &str) -> Result<Answer, Failure> {
        let number = status_number(code)?;
        // The negative numbers of rdma_getaddrinfo are EAI_ codes, all others are errnos.
        let is_eai = function == "rdma_getaddrinfo" && code.starts_with('-');
        let query = CallQuery {
            call: function,
            errno: if is_eai {
                number
            } else {
                number.saturating_abs()
            },
            facts: &Facts::default(),
            role: self.role,
            transport: self.transport,
        };
        Ok(Answer::Explained("call", explain::call(&query)))
    }

    /// A positive number is most often the status of a REJECTED; some print errnos without the minus.
    fn number(&self, number: i32) -> Vec<Answer> {
        let mut found = Vec::new();
        if reject::by_number(number).is_some() {
            found.push(self.explained(event::REJECTED, number));
        }
        found.extend(errno::by_number(number).map(Answer::Errno));
        found
    }

    fn name(&self, name: &str) -> Vec<Answer> {
        let mut found = Vec::new();
        if let Some(reject) = reject::by_name(name) {
            found.push(self.explained(event::REJECTED, reject.number));
        }
        if let Some(event) = event::by_name(name) {
            found.extend(self.event(event.number, None));
        }
        if let Some(event) = async_event::by_name(name) {
            found.push(Answer::Explained(
                "async",
                explain::async_event(event.number),
            ));
        }
        found.extend(errno::by_name(name).map(Answer::Errno));
        found
    }
}

fn bare(number: i32) -> Answer {
    match event::by_number(number) {
        Some(event) => Answer::Event(event),
        None => Side {
            transport: Transport::Unknown,
            role: Role::None,
        }
        .explained(number, 0),
    }
}

fn asynchronous(name: &str) -> Result<Answer, Failure> {
    let found = match name.parse() {
        Ok(number) => async_event::by_number(number),
        Err(_) => async_event::by_name(name),
    };
    let event = found.ok_or_else(|| {
        let names = async_event::ALL.iter().map(|e| (e.number, e.symbol));
        not_one_of("--async", name, names)
    })?;
    Ok(Answer::Explained(
        "async",
        explain::async_event(event.number),
    ))
}

fn event_number(name: &str) -> Result<i32, Failure> {
    let found = match name.parse() {
        Ok(number) => event::by_number(number),
        Err(_) => event::by_name(name),
    };
    found.map(|event| event.number).ok_or_else(|| {
        let names = event::ALL.iter().map(|e| (e.number, e.name));
        not_one_of("--event", name, names)
    })
}

/// A status as delivered: a reason is positive, an errno negative.
fn status_number(text: &str) -> Result<i32, Failure> {
    let by_name = || {
        let reject = reject::by_name(text).map(|r| r.number);
        reject.or_else(|| errno::by_name(text).map(|e| -e.number))
    };
    text.parse().ok().or_else(by_name).ok_or_else(|| {
        let what = "is no status: write a number, a reject reason (IB_CM_REJ_STALE_CONN) or an errno (ETIMEDOUT)";
        Failure::new(USAGE, format!("{text:?} {what}"))
    })
}

fn not_one_of<'n>(
    option: &str,
    name: &str,
    names: impl Iterator<Item = (i32, &'n str)>,
) -> Failure {
    let names: Vec<String> = names
        .map(|(number, name)| format!("{number} {name}"))
        .collect();
    Failure::new(
        USAGE,
        format!("{option}: {name:?} is not one of {}", names.join(", ")),
    )
}

fn unknown(code: &str) -> Failure {
    let message = format!(
        "{code:?} is not known: write a number (a reject reason, or with a minus an errno) or a name \
         such as IB_CM_REJ_STALE_CONN, UNREACHABLE, QP_FATAL or ECONNREFUSED; see cmshim explain --list"
    );
    Failure::new(USAGE, message)
}
