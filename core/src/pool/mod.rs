//! The book-keeping of the pool of queue pairs: which ones are kept ready, how many, and when they go.
//!
//! Pure: objects are addresses that are compared and never followed, what lies on a shelf is the
//! caller's own type, and the time is an argument.

mod answers;
mod book;
mod front;
mod hash;
mod key;
mod pace;
mod recycle;
mod stock;
mod work;

pub use answers::{ChannelPtr, Evicted, Job, Pair, Scope, Taken};
pub use book::Book;
pub use front::{Front, Packed};
pub use key::{Caps, Key, Miss, QPT_RC, QPT_UC};
pub use pace::Pace;
pub use recycle::{Leaving, Verdict};
pub use stock::FEW;

use std::time::Duration;

/// What the configuration says of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Ready ones of a key in use, at least.
    pub min: u32,
    /// Ready ones of a key, at most.
    pub max: u32,
    /// Ready ones from a key's first creation on.
    pub warm: u32,
    /// What nobody wanted for so long is given back.
    pub idle: Duration,
    /// Percent of a device's queue pairs and completion queues that may lie ready.
    pub share: u32,
    /// Used ones come back.
    pub recycle: bool,
    /// How long such a one rests before it is used again.
    pub quarantine: Duration,
}
