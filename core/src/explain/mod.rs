//! From codes and circumstances to words: who said no, what it means, what to run next.
//!
//! The words follow what the kernel (`drivers/infiniband/core`) and rdma-core do, not what the
//! names of the codes suggest.

mod address;
mod causes;
mod connected;
mod descriptors;
mod event;
mod memory;
mod named;
mod plain;
mod policy;
mod port;
mod progress;
mod qp;
mod query;
mod rejected;
mod resolve;
mod stage;
mod watch;
mod words;

mod call;
mod connect;
mod setup;

pub use address::{Addresses, Here};
pub use call::call;
pub use event::event;
pub use named::{named, Named};
pub use plain::{
    completion, list, plain, plain_async, plain_errno, plain_event, plain_reject, Row,
};
pub use port::Port;
pub use progress::Progress;
pub use query::{CallQuery, Descriptors, EventQuery, Facts, Limit};
pub use stage::{calls, place, stage_of_call, stage_of_event, what_of_call, what_of_event};
pub use watch::{
    async_event, backlog_overflow, no_answer_yet, no_answer_yet_by, slow_connect, unacked, Blocked,
    WARNINGS,
};
