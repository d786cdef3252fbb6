//! Statistics of one process, as they lie in its file below `stats.dir`.
//!
//! The library writes the file through a mapping, with single atomic operations; readers copy the
//! file and take the copy apart with [`Snapshot::parse`]. Nothing in it is trusted.
//!
//! # The file
//!
//! 64-bit words in the byte order of the machine. The first [`layout::HEADER_WORDS`] are the header:
//!
//! | word | what |
//! |---|---|
//! | 0 | the bytes `CMSHSTAT` |
//! | 1 | low half: version of the layout ([`layout::VERSION`]); high half: 0x01020304, which shows the byte order |
//! | 2 | length of the file in bytes |
//! | 3 | process id, as the process itself sees it |
//! | 4 | start time of the process: field 22 of /proc/PID/stat, in clock ticks since boot |
//! | 5 | effective user id when the file was made; it has to be the file's owner |
//! | 6, 7 | boot id: the 16 bytes of /proc/sys/kernel/random/boot_id |
//! | 8, 9 | when the file was made: CLOCK_REALTIME and CLOCK_MONOTONIC, in ns; all other times are CLOCK_MONOTONIC |
//! | 10 | records that were ever begun in the flight recorder |
//! | 11 | the variable CMSHIM_FAMILY, a number that `cmshim run --report` gives to a program and its children; else 0 |
//! | 12–15 | version of the library, text, padded with zero bytes |
//! | 16–23 | name of the program as in /proc/PID/comm, text, padded with zero bytes |
//! | 24–47 | eight sections, three words each: offset in bytes, number of items, bytes of an item |
//! | 48–63 | 0 |
//!
//! The sections, in this order:
//!
//! | section | item |
//! |---|---|
//! | counters | one word for each row of [`Counter`] |
//! | entries | three words for each row of [`Entry`]: calls by the program, calls by librdmacm itself, failures |
//! | by-pass | one word for each row of [`Bypass`] |
//! | events | one word for each number of `enum rdma_cm_event_type`, then one for all unknown ones |
//! | batches | one word for each batch size from 0; the last one takes all larger ones |
//! | phases | a [`Histogram`] for each row of [`Phase`]: sum of all values in ns, largest value in ns, the buckets |
//! | recorder | [`Record`]s of eight words, the newest at (word 10 − 1) modulo their number |
//! | reasons | [`Reason`]s of sixteen words, in no order |
//!
//! Rows are only ever added at the end of a table, so a reader of another build reads what both
//! know: further items of the file are ignored and missing ones are zero. Anything else that changes
//! makes a new version.
//!
//! # Consistency
//!
//! Each counter is right by itself; two of them may be some calls apart. Records and reasons carry a
//! check sum: one that was being written when the copy was made, or when the process died, is left out.
//!
//! # Life
//!
//! The mapping holds a `flock` on the file for as long as the process lives, so a file that can be
//! locked belongs to none. [`places`] says where files are.

mod check;
mod header;
mod histogram;
pub mod layout;
pub mod places;
mod reason;
mod record;
mod snapshot;
mod tables;

pub use header::Header;
pub use histogram::{bucket_bounds, bucket_of, Histogram, BUCKETS, MAX_NS, MIN_NS};
pub use reason::{Reason, CODE_BYTES};
pub use record::{Peer, Record, What, RUNNING};
pub use snapshot::{Damaged, EntryCounts, Snapshot, MAX_BYTES};
pub use tables::{
    Bypass, Counter, Entry, Kind, Phase, Row, BATCH_SIZES, EVENT_KINDS, REASONS, RECORDS,
};
