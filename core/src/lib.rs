//! What cmshim knows without touching RDMA.
//!
//! Nothing in here calls a C library or needs a device, so all of it is tested as plain Rust.
#![forbid(unsafe_code)]

pub mod codes;
pub mod config;
pub mod event_queue;
pub mod explain;
pub mod flood;
pub mod model;
pub mod pool;
pub mod report;
pub mod stats;
pub mod tenant;
pub mod text;
