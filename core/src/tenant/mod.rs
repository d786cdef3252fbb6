//! Who may connect: the policy file, decisions by it, and what is told about them.
//!
//! Pure: a policy is read from bytes and asked; who watches the file, counts connections and refuses is
//! elsewhere. The parts:
//!
//! | part | what |
//! |---|---|
//! | [`Policy`] | a policy file that was read, and its decisions |
//! | [`tokens`] | connects per second, for many threads and processes |
//! | [`reason`] | why a connection was refused, as the peer gets it in the reject's private data |
//! | [`audit`] | one decision as a line of JSON |
//! | [`share`] | the file in which the processes of a host count together |
//! | [`own_tenant`] | the tenant of a process, from its cgroup |
//!
//! # Which rule decides
//!
//! For an incoming connection: of the tenants whose `peers` hold the peer's address, the one with the most
//! specific prefix; among equal prefixes the one that comes first in the file; tenants without `peers` come last.
//! If one of its other conditions (`local`, `ports`, `pkeys`, `gids`) does not hold, the next one is asked, and
//! in the end `default` decides. What is not known does not hold: a tenant with `pkeys` is passed over when the
//! P_Key of the request cannot be told.
//!
//! For an outgoing one: the first of the `[[tenant.egress]]` rules of the process's own tenant that holds, else
//! `egress_default`.
//!
//! An IPv4-mapped IPv6 address is the IPv4 address, so `::/0` is every IPv6 peer and no IPv4 one. GIDs are compared as
//! 128 bits: `10.1.0.0/16` there is `::ffff:10.1.0.0/112`. Of a P_Key the top bit (membership) does not count.
//!
//! # For those who call this
//!
//! - [`file`] reads the bytes (at most [`MAX_BYTES`], no directory, no FIFO), [`Policy::parse`] takes them apart; a
//!   [`Problem`] with line 0 is about the whole file, and [`Problem::in_file`] puts the file's name in front.
//! - At most [`MAX_LIMITED`] (1,000) subjects have a limit, of 1,024 rows: one row is for connections of no tenant
//!   ([`NO_TENANT_KEY`]), the others are left for names of policies before a reload. Subjects without a limit can do
//!   without a row.
//! - Egress rules are numbered from 0 in [`key_of`].
//! - Numbers of interfaces that the policy names (`fe80::/10%eth0`) are looked up by [`Policy::parse`], and again by
//!   [`Policy::look_up_interfaces`], which may be called at any time from any thread.
//! - [`tokens::take`] does nothing else than the bucket: ask for the connection limit first, so that a
//!   connection over the limit takes no token.

pub mod audit;
mod cgroup;
mod decide;
mod document;
mod fnv;
mod interfaces;
mod net;
mod policy;
mod problem;
mod read;
pub mod reason;
mod rule;
pub mod share;
mod subject;
pub mod tokens;
mod trace;
mod tree;

pub use cgroup::{cgroup_path, check_pattern, own_tenant};
pub use decide::{ConnectionRequest, Verdict};
pub use document::{Field, FIELDS};
pub use interfaces::{index_of as interface_index, index_with as interface_with};
pub use policy::{Mode, Policy};
pub use problem::Problem;
pub use read::{file, MAX_BYTES, MAX_LIMITED, MAX_PREFIXES, MAX_TABLES};
pub use subject::{key_of, Rate, Subject, NAME_BYTES, NO_TENANT_KEY};
pub use trace::{Condition, Step};
