//! Events read ahead: taken from the kernel in a batch, not handed to the program yet.
//!
//! [`Queue`] holds those of one channel. Taking the next one needs no lock, so that a thread which is
//! cancelled or leaves by longjmp in the middle harms nobody; everything else needs [`Behind`], which the
//! caller keeps under the channel's lock. Per id the order is always the kernel's.

mod event;
mod queue;
mod ring;

pub use event::{Event, Gone, GroupHandle, IdHandle, BYTES, WORDS};
pub use queue::{Listener, Queue, QueueState, Room};
