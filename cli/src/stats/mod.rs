//! `cmshim stat`, `cmshim events` and `cmshim hist`: what statistics files say.

pub mod age;
pub mod args;
mod bars;
mod events;
pub mod find;
mod hist;
pub mod metrics;
mod object;
pub mod open;
pub mod openmetrics;
pub mod overview;
pub mod owner;
mod svg;
pub mod table;
pub mod timeline;
mod words;

pub use events::events;
pub use hist::hist;

use args::StatArgs;

use crate::failure::{Failure, FOUND};
use crate::output;
use open::Found;
use openmetrics::Form;

pub fn stat(args: &StatArgs) -> Result<u8, Failure> {
    let (found, refused) = match &args.process {
        Some(process) => (vec![find::one(process)?], false),
        None => {
            let scan = find::all()?;
            (scan.found, !scan.refused.is_empty())
        }
    };
    output::print(&shown(&found, args))?;
    Ok(if refused { FOUND } else { 0 })
}

fn shown(found: &[Found], args: &StatArgs) -> String {
    if args.prometheus {
        return metrics::text(found, Form::OpenMetrics).end();
    }
    if !args.json {
        let parts: Vec<String> = found.iter().map(overview::text).collect();
        return parts.join("\n");
    }
    let mut objects: Vec<_> = found.iter().map(object::object).collect();
    let json = match (args.all, objects.pop()) {
        (false, Some(one)) => one,
        (_, last) => objects.into_iter().chain(last).collect(),
    };
    format!("{json:#}\n")
}
