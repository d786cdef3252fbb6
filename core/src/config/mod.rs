//! Configuration: built-in defaults, then a TOML file, then `CMSHIM_*` variables.
//!
//! One table, [`KEYS`], declares each key. The file reader, the variables, `cmshim config`, the
//! man page and the documented default file all come from it. A new key is one row there and one
//! field of [`Config`]; a test fails when the two differ.
//!
//! ```
//! use cmshim_core::config::{load, Input};
//!
//! let loaded = load(&Input {
//!     file: Some(("/etc/cmshim.toml".into(), Ok("[listen]\nmin_backlog = 256\n".into()))),
//!     ..Input::default()
//! });
//! assert_eq!(loaded.config.listen.min_backlog, 256);
//! assert!(loaded.problems.is_empty());
//! ```
//!
//! A library that is about to start asks [`gather`] for what it may read and hands that to
//! [`load`], which is pure and never fails: each wrong thing becomes a [`Problem`], and the value
//! of the next lower rank (in the end the built-in default) is used.

pub mod cpus;
mod document;
mod file;
mod input;
mod lookup;
mod problem;
mod resolve;
mod setting;
mod source;
mod table;
mod typed;
mod value;
mod vars;

pub use document::default_file;
pub(crate) use file::is_a_value;
pub use input::Input;
pub use problem::Problem;
pub use resolve::{is_lost_policy, load, Loaded};
pub use setting::{Origin, Setting};
pub use source::{
    gather, read_bytes, read_file, reason, CONFIG_VARIABLE, DEFAULT_PATH, FAMILY_VARIABLE,
    LIBRARY_VARIABLE, MAX_BYTES,
};
pub use table::{Key, Kind, Preset, KEYS};
pub use typed::{
    Config, Events, Format, Level, Listen, Log, OnError, Pool, Readers, Reasons, Stats, Taker,
    Tenant,
};
pub use value::Value;
pub use vars::parse_setting;
