//! Values that completion offers, while others (numbers) are taken as well.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

#[derive(Debug, Clone)]
pub struct Suggested(Vec<String>);

impl Suggested {
    /// The names in small letters, as they are typed.
    pub fn new(names: impl Iterator<Item = &'static str>) -> Suggested {
        Suggested(names.map(str::to_ascii_lowercase).collect())
    }
}

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            self.0.iter().map(|name| PossibleValue::new(name.clone())),
        ))
    }
}
