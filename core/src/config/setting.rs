//! The effective value of a key, and where it comes from.

use std::fmt;

use serde::Serialize;

use super::value::Value;

/// Where an effective value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum Origin {
    Default,
    File {
        path: String,
        line: usize,
        /// The program's section, for example `program.rping`; `None` for the general part.
        section: Option<String>,
    },
    #[serde(rename = "variable")]
    Var {
        name: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File {
                path,
                line,
                section: None,
            } => write!(f, "{path}:{line}"),
            Origin::File {
                path,
                line,
                section: Some(section),
            } => write!(f, "{path}:{line} [{section}]"),
            Origin::Var { name } => f.write_str(name),
        }
    }
}

/// The effective value of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub key: &'static str,
    pub value: Value,
    pub origin: Origin,
}
