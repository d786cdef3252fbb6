//! What a number or a name means.

use cmshim_core::codes::{async_event, errno, event, reject, wc_status};
use cmshim_core::explain::{self, CallQuery, EventQuery, Facts};
use cmshim_core::model::{Role, Transport};

use super::answer::Answer;
use super::{errnos, functions};
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

/// A code in digits.
enum Digits {
    Number(i32),
    /// No code has so many.
    TooLarge,
    No,
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
    let found = match digits(code) {
        Digits::Number(number) => side.number(number),
        Digits::TooLarge => return Err(out_of_range(code)),
        Digits::No => side.name(code),
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
        let function = functions::known(function)?;
        let eai = explain::named(self.transport, self.role)
            .into_iter()
            .find(|named| named.kind == "eai" && named.name.eq_ignore_ascii_case(code.trim()));
        if let (Some(named), "rdma_getaddrinfo") = (eai, function) {
            return Ok(Answer::Explained("call", named.explanation));
        }
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

    /// A positive number is most often the status of a REJECTED or of a completion; some print
    /// errnos without the minus.
    fn number(&self, number: i32) -> Vec<Answer> {
        let mut found = Vec::new();
        if reject::by_number(number).is_some() {
            found.push(self.explained(event::REJECTED, number));
        }
        found.extend(completion(number));
        found.extend(event::by_number(number).map(Answer::Event));
        match errno::by_number(number) {
            Some(errno) if number < 0 => found.extend(self.errno(errno)),
            errno => found.extend(errno.map(Answer::Errno)),
        }
        found
    }

    /// An errno, and with the transport told, the event that most often brings it.
    fn errno(&self, errno: &'static errno::Errno) -> Vec<Answer> {
        let status = -errno.number;
        let first = errnos::events(errno.number).first();
        let likely = first.filter(|_| self.transport != Transport::Unknown);
        let mut found: Vec<Answer> = likely
            .map(|&event| self.explained(event, status))
            .into_iter()
            .collect();
        found.push(Answer::Errno(errno));
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
        if let Some(status) = wc_status::by_name(name) {
            found.extend(completion(status.number));
        }
        found.extend(self.without_table(name));
        if let Some(errno) = errno::by_name(name) {
            found.extend(self.errno(errno));
        }
        found
    }

    fn without_table(&self, name: &str) -> Option<Answer> {
        let wanted = name.trim().replace('-', "_");
        let named = explain::named(self.transport, self.role)
            .into_iter()
            .find(|named| named.name.eq_ignore_ascii_case(&wanted))?;
        let kind = match named.kind {
            "sidr" => "event",
            "eai" => "call",
            own => own,
        };
        Some(Answer::Explained(kind, named.explanation))
    }
}

fn completion(number: i32) -> Option<Answer> {
    explain::completion(number).map(|explanation| Answer::Explained("wc", explanation))
}

fn digits(code: &str) -> Digits {
    let code = code.trim();
    let bare = code.strip_prefix(['-', '+']).unwrap_or(code);
    if bare.is_empty() || !bare.bytes().all(|b| b.is_ascii_digit()) {
        return Digits::No;
    }
    code.parse().map_or(Digits::TooLarge, Digits::Number)
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
        let sidr = || {
            explain::named(Transport::Unknown, Role::Client)
                .into_iter()
                .find(|named| named.kind == "sidr" && named.name.eq_ignore_ascii_case(text))
                .and_then(|named| named.number)
        };
        reject
            .or_else(|| errno::by_name(text).map(|e| -e.number))
            .or_else(sidr)
    };
    match digits(text) {
        Digits::Number(number) => Ok(number),
        Digits::TooLarge => Err(out_of_range(text)),
        Digits::No => by_name().ok_or_else(|| {
            let what = "is no status: write a number, a reject reason (IB_CM_REJ_STALE_CONN) or an errno (ETIMEDOUT)";
            Failure::new(USAGE, format!("{text:?} {what}"))
        }),
    }
}

/// A number that no table could hold.
fn out_of_range(text: &str) -> Failure {
    let message = format!(
        "{text} is not known: it is out of range; codes are small: reject reasons 1 to 35, completion \
         statuses 0 to 23, errnos 1 to 133 (with either sign); see cmshim explain --list"
    );
    Failure::new(USAGE, message)
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
        "{code:?} is not known: write a number (a reject reason or a completion status, or with a minus \
         an errno) or a name such as IB_CM_REJ_STALE_CONN, UNREACHABLE, QP_FATAL, IBV_WC_RETRY_EXC_ERR or \
         ECONNREFUSED; see cmshim explain --list"
    );
    Failure::new(USAGE, message)
}
