//! The few C structures that the shim reads, and nothing more.
//!
//! Declared by hand, so that no user needs libclang to build; each size and offset is checked in
//! `tests` against rdma-sys, which is generated from the installed headers. Structures that are
//! only ever reached through a pointer are declared up to the last member that is read.

pub mod cm;
pub mod data;
pub mod ucm;
pub mod verbs;

#[cfg(test)]
mod tests;
