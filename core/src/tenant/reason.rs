//! Why a connection was refused, in the private data of the reject, so that a peer under cmshim can say it.
//!
//! The bytes, numbers big endian (a reject carries 148 bytes of private data on InfiniBand and RoCE):
//!
//! | bytes | what |
//! |---|---|
//! | 0–3 | `CMSR` |
//! | 4 | version of the layout: 1 |
//! | 5 | [`Code`] |
//! | 6–7 | length of all |
//! | 8–11 | milliseconds after which to try again; 0xffffffff: not known |
//! | 12–15 | live connections of the tenant, where they are the reason |
//! | 16–19 | the limit: of connections for `OverLimit`; connects per second, rounded up, for `Rate`; else 0 |
//! | 20 | length of the tenant's name |
//! | 21– | the tenant's name, UTF-8, at most 64 bytes |
//!
//! In any later version the first eight bytes mean the same. A code that is not known is told by its number: new ones need
//! no new version.

use super::subject::NAME_BYTES;
use crate::text::printable;
use std::fmt;

pub const MAGIC: [u8; 4] = *b"CMSR";
pub const VERSION: u8 = 1;
/// Private data of a reject: IBTA, REJ message.
pub const MOST_BYTES: usize = 148;

/// Bytes before the name.
const FIXED: usize = 21;
/// Bytes that every version has.
const EVERY: usize = 8;
const NO_TIME: u32 = u32::MAX;

/// Why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Code {
    /// No tenant of the policy matches.
    NoTenant = 1,
    /// The tenant may not.
    Denied = 2,
    /// The tenant has as many live connections as it may have.
    OverLimit = 3,
    /// The tenant connects too often.
    Rate = 4,
    /// The policy cannot be read, and until it can nobody may connect.
    Unreadable = 5,
    /// The program's own check (`cmshim_set_access_check`) refused.
    Program = 6,
    /// The tenant has a limit, and its connections cannot be counted.
    Uncounted = 7,
    /// No egress rule matches, and `egress_default` refuses. Never sent: there is no request yet.
    EgressDefault = 128,
    /// The policy does not have the tenant that this process is said to be. Never sent.
    UnknownTenant = 129,
}

impl Code {
    /// Those that a peer is told.
    pub const SENT: [Code; 7] = [
        Code::NoTenant,
        Code::Denied,
        Code::OverLimit,
        Code::Rate,
        Code::Unreadable,
        Code::Program,
        Code::Uncounted,
    ];

    pub fn by_number(number: u8) -> Option<Code> {
        Code::SENT.into_iter().find(|code| *code as u8 == number)
    }

    /// For programs: in the audit log and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Code::NoTenant => "no-tenant",
            Code::Denied => "denied",
            Code::OverLimit => "over-limit",
            Code::Rate => "rate",
            Code::Unreadable => "unreadable",
            Code::Program => "program",
            Code::Uncounted => "uncounted",
            Code::EgressDefault => "egress-default",
            Code::UnknownTenant => "unknown-tenant",
        }
    }
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason<'a> {
    pub code: Code,
    pub retry_after_ms: Option<u32>,
    /// Live connections of the tenant.
    pub used: u32,
    pub limit: u32,
    /// Empty for none.
    pub tenant: &'a str,
}

/// What was received. Nobody vouches for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedReason {
    pub version: u8,
    /// Its number if it is not known here.
    pub code: Result<Code, u8>,
    pub retry_after_ms: Option<u32>,
    pub used: u32,
    pub limit: u32,
    /// Without control characters.
    pub tenant: String,
}

/// The bytes to send. A name that is too long is cut at a character.
pub fn encode(reason: &Reason) -> Vec<u8> {
    let mut length = reason.tenant.len().min(NAME_BYTES);
    while !reason.tenant.is_char_boundary(length) {
        length -= 1;
    }
    let name = &reason.tenant.as_bytes()[..length];
    let all = (FIXED + name.len()) as u16;
    // The last value means that the time is not known.
    let retry = reason
        .retry_after_ms
        .map_or(NO_TIME, |ms| ms.min(NO_TIME - 1));
    let mut bytes = Vec::with_capacity(all.into());
    bytes.extend(MAGIC);
    bytes.extend([VERSION, reason.code as u8]);
    bytes.extend(all.to_be_bytes());
    for number in [retry, reason.used, reason.limit] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.push(name.len() as u8);
    bytes.extend(name);
    bytes
}

/// Takes private data apart, which may be padded with zeros; `None` if it is no reason of ours, or damaged.
pub fn decode(data: &[u8]) -> Option<OwnedReason> {
    let (version, code) = (*data.get(4)?, *data.get(5)?);
    let all = usize::from(u16::from_be_bytes([*data.get(6)?, *data.get(7)?]));
    if !data.starts_with(&MAGIC) || version == 0 || !(EVERY..=data.len()).contains(&all) {
        return None;
    }
    let mut reason = OwnedReason {
        version,
        code: Code::by_number(code).ok_or(code),
        retry_after_ms: None,
        used: 0,
        limit: 0,
        tenant: String::new(),
    };
    if version == VERSION {
        fill(&mut reason, &data[..all])?;
    }
    Some(reason)
}

/// What version 1 has behind the first bytes.
fn fill(reason: &mut OwnedReason, data: &[u8]) -> Option<()> {
    let number = |at: usize| {
        let bytes = data.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    reason.retry_after_ms = Some(number(8)?).filter(|ms| *ms != NO_TIME);
    reason.used = number(12)?;
    reason.limit = number(16)?;
    let length = usize::from(*data.get(FIXED - 1)?);
    let name = data.get(FIXED..FIXED + length)?;
    reason.tenant = printable(std::str::from_utf8(name).ok()?);
    Some(())
}

impl OwnedReason {
    /// For programs: the code's name, or its number.
    pub fn code_name(&self) -> String {
        match self.code {
            Ok(code) => code.name().to_owned(),
            Err(number) => number.to_string(),
        }
    }
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words(f, Ok(self.code), self.tenant, self.used, self.limit)
    }
}

impl fmt::Display for OwnedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words(f, self.code, &self.tenant, self.used, self.limit)
    }
}

fn words(
    f: &mut fmt::Formatter<'_>,
    code: Result<Code, u8>,
    tenant: &str,
    used: u32,
    limit: u32,
) -> fmt::Result {
    let whose = match tenant {
        "" => "the tenant".to_owned(),
        name => format!("tenant '{name}'"),
    };
    match code {
        Ok(Code::NoTenant) => f.write_str("no tenant matches this connection"),
        Ok(Code::Denied) => write!(f, "{whose} may not connect"),
        Ok(Code::OverLimit) if limit == 0 => {
            write!(f, "{whose} has as many connections as it may have")
        }
        Ok(Code::OverLimit) => write!(f, "{whose} has {used} of {limit} connections"),
        Ok(Code::Rate) if limit == 1 => write!(f, "{whose} connects more often than once a second"),
        Ok(Code::Rate) if limit > 0 => {
            write!(f, "{whose} connects more often than {limit} times a second")
        }
        Ok(Code::Rate) => write!(f, "{whose} connects too often"),
        Ok(Code::Unreadable) => {
            f.write_str("the policy cannot be read, and nobody may connect until it can")
        }
        Ok(Code::Program) if tenant.is_empty() => f.write_str("the program's own check refused"),
        Ok(Code::Program) => write!(f, "the program's own check refused {whose}"),
        Ok(Code::Uncounted) => write!(
            f,
            "{whose} has a limit, and its connections cannot be counted"
        ),
        Ok(Code::EgressDefault) if tenant.is_empty() => {
            f.write_str("this process belongs to no tenant, and egress_default refuses")
        }
        Ok(Code::EgressDefault) => write!(
            f,
            "no egress rule of {whose} matches, and egress_default refuses"
        ),
        Ok(Code::UnknownTenant) => write!(f, "it has no {whose}, which tenant.name names"),
        Err(number) => write!(
            f,
            "for reason {number}, which only a newer version of cmshim knows"
        ),
    }
}
