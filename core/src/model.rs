//! The words that all parts share: who said no, at which stage, over which transport.

use serde::Serialize;

/// Who ended or prevented the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The program that runs above the shim, by its own call or its own arguments.
    ThisProcess,
    /// The kernel of this host: CM, verbs, driver, neighbour table, limits.
    ThisKernel,
    /// Nobody answered: the path between the hosts, or a silent peer.
    Network,
    /// The CM of the peer's kernel, without the peer's program having a say.
    PeerKernel,
    /// The peer's program (or its death, which looks the same on the wire).
    PeerProgram,
    /// The tenant policy of a peer that runs under cmshim.
    PeerPolicy,
}

impl Who {
    /// All of them. Their places are their numbers in statistics files: new ones come last.
    pub const ALL: [Who; 6] = [
        Who::ThisProcess,
        Who::ThisKernel,
        Who::Network,
        Who::PeerKernel,
        Who::PeerProgram,
        Who::PeerPolicy,
    ];

    /// The name in a sentence: "refused by the peer's kernel".
    pub const fn phrase(self) -> &'static str {
        match self {
            Who::ThisProcess => "this process",
            Who::ThisKernel => "this kernel",
            Who::Network => "the network",
            Who::PeerKernel => "the peer's kernel",
            Who::PeerProgram => "the peer's program",
            Who::PeerPolicy => "policy of the peer",
        }
    }
}

/// How far the connection (or the set-up beside it) had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Event channel and id creation, options.
    Setup,
    /// Binding to a local address and port.
    Bind,
    /// Listening for connect requests.
    Listen,
    /// Address resolution (ARP or neighbour discovery, device choice).
    Address,
    /// Route resolution (path record on InfiniBand, local on RoCE).
    Route,
    /// Creating, moving or destroying the queue pair.
    Qp,
    /// Creating a completion queue or its channel.
    Cq,
    /// Registering memory.
    Memory,
    /// The active side's request and its answer.
    Connect,
    /// The passive side's answer.
    Accept,
    /// After ESTABLISHED.
    Established,
    /// Multicast join and leave.
    Multicast,
    /// Disconnecting and destroying.
    Teardown,
    /// Asynchronous trouble of device or port.
    Device,
}

impl Stage {
    /// All of them. Their places are their numbers in statistics files: new ones come last.
    pub const ALL: [Stage; 14] = [
        Stage::Setup,
        Stage::Bind,
        Stage::Listen,
        Stage::Address,
        Stage::Route,
        Stage::Qp,
        Stage::Cq,
        Stage::Memory,
        Stage::Connect,
        Stage::Accept,
        Stage::Established,
        Stage::Multicast,
        Stage::Teardown,
        Stage::Device,
    ];

    /// The stage as a noun, as it stands in a line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Setup => "setup",
            Stage::Bind => "bind",
            Stage::Listen => "listen",
            Stage::Address => "address",
            Stage::Route => "route",
            Stage::Qp => "qp",
            Stage::Cq => "cq",
            Stage::Memory => "memory",
            Stage::Connect => "connect",
            Stage::Accept => "accept",
            Stage::Established => "established",
            Stage::Multicast => "multicast",
            Stage::Teardown => "teardown",
            Stage::Device => "device",
        }
    }
}

/// What carries the connection. It decides how a status number is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// InfiniBand link layer: a positive status is an IB reject reason.
    Ib,
    /// RDMA over Converged Ethernet, v1 or v2: read like InfiniBand.
    Roce,
    /// iWARP: a status is a negative errno.
    Iwarp,
    /// Not known (no device bound yet).
    Unknown,
}

/// Which end of the connection this process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The side that calls rdma_connect.
    Client,
    /// The side that listens, accepts or rejects.
    Server,
    /// Neither: multicast, datagram set-up, verbs only.
    None,
}

/// How loud a line is. The order is by loudness: `Error` is the loudest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Error,
    Warn,
    Info,
    Debug,
}

/// The bare numbers behind an explanation, for programs that read the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Numbers {
    /// RDMA CM event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<i32>,
    /// Status of the event as delivered: IB reject reason or negative errno.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// errno, positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// Asynchronous event of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub async_event: Option<i32>,
}

/// A code turned into words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub who: Who,
    pub severity: Severity,
    /// What happened, as a verb phrase that can stand before "by WHO" or alone:
    /// "refused", "timed out", "failed", "ended".
    pub verb: &'static str,
    /// Name and number: "REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID".
    pub code: String,
    /// The finding in plain words: "nobody listens there".
    pub summary: String,
    /// The likely cause, as a sentence or question. May be empty.
    pub cause: String,
    /// What to run or change next, as a sentence. May be empty.
    pub next: String,
    /// The same code as numbers.
    pub numbers: Numbers,
}

impl Explanation {
    /// An explanation with nothing but its finding; the rest is added with the `with_` functions.
    pub fn new(
        who: Who,
        severity: Severity,
        verb: &'static str,
        code: impl Into<String>,
        summary: impl Into<String>,
    ) -> Explanation {
        Explanation {
            who,
            severity,
            verb,
            code: code.into(),
            summary: summary.into(),
            cause: String::new(),
            next: String::new(),
            numbers: Numbers::default(),
        }
    }

    /// "refused by the peer's kernel", "failed in this process".
    pub fn verdict(&self) -> String {
        let preposition = match self.verb {
            "failed" | "timed out" | "blocked" | "delayed" => "in",
            "still waiting" => "for",
            _ => "by",
        };
        format!("{} {preposition} {}", self.verb, self.who.phrase())
    }

    /// What to do next as a sentence: a bare command is introduced by "Run:".
    pub fn next_sentence(next: &str) -> String {
        if next.starts_with(|c: char| c.is_ascii_lowercase()) {
            format!("Run: {next}")
        } else {
            next.to_string()
        }
    }

    pub fn with_cause(mut self, cause: impl Into<String>) -> Explanation {
        self.cause = cause.into();
        self
    }

    pub fn with_next(mut self, next: impl Into<String>) -> Explanation {
        self.next = next.into();
        self
    }

    pub fn with_numbers(mut self, numbers: Numbers) -> Explanation {
        self.numbers = numbers;
        self
    }
}
