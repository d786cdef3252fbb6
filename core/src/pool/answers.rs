//! What the book is asked, and what it answers.

use super::{Key, Miss};
use std::time::Instant;

/// Two completion channels that wait for a bundle, by address: for receives and for sends.
pub type Pair = [ChannelPtr; 2];

/// Address of a completion channel of the pool: a name here, followed only by who was given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelPtr(pub usize);

/// Which ones are to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Pd(usize),
    Cq(usize),
    Srq(usize),
    Context(usize),
    All,
}

impl Scope {
    pub(super) fn covers(self, key: &Key) -> bool {
        match self {
            Scope::Pd(pd) => key.pd == pd,
            Scope::Cq(cq) => key.send_cq == cq || key.recv_cq == cq,
            Scope::Srq(srq) => key.srq == srq,
            Scope::Context(context) => key.context == context,
            Scope::All => true,
        }
    }
}

/// Answer to a creation.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<T> {
    /// This one, which is the caller's from now on; `ring`: there is work for the keeper.
    Hit {
        item: T,
        ring: bool,
    },
    Miss(Miss),
}

/// What the keeper is to do next. It ends each flight.
#[derive(Debug, PartialEq, Eq)]
pub enum Job<T> {
    /// Make one; `measure`: ask the device for its limits before. A bundle is made on this pair.
    Make {
        flight: u64,
        key: Key,
        measure: bool,
        pair: Option<Pair>,
    },
    Drop {
        flight: u64,
        item: T,
    },
    /// Try out whether queue pairs of this device may be used again.
    Probe {
        flight: u64,
        context: usize,
    },
    /// Close channels that no bundle needs.
    Close {
        flight: u64,
        pairs: Vec<Pair>,
    },
    /// Nothing before this time, or until somebody rings.
    Wait(Option<Instant>),
}

/// What was taken out, for the caller to destroy before it ends the flight.
#[derive(Debug, PartialEq, Eq)]
pub struct Evicted<T> {
    pub items: Vec<T>,
    pub pairs: Vec<Pair>,
    pub flight: u64,
    /// The object that goes had been created through us: where its destruction fails, it is known again.
    pub known: bool,
}
