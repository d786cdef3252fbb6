//! Text from outside in messages: escaped, quoted, cut; near names; places in a file; texts in words of a file.

mod escape;
mod lines;
pub mod packed;
mod suggest;
pub(crate) mod toml;

pub use escape::{escaped, is_dangerous, printable};
pub(crate) use escape::{json as escape_json, quoted};
pub(crate) use lines::Lines;
pub(crate) use suggest::nearest;
