//! The few C structures that the shim reads, and nothing more.
//!
//! Declared by hand, so that no user needs libclang to build; `crate::headers` has a C compiler check each size, offset,
//! number and function type against the installed headers. Structures that are only ever reached through a
//! pointer are declared up to the last member that is read.

pub mod cm;
pub mod ucm;
pub mod verbs;

/// Address of an rdma_cm_id: a name, never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdPtr(pub usize);
