//! `cmshim policy check`.

use cmshim_core::tenant::{Mode, Policy};

use super::args::CheckArgs;
use super::words;
use crate::failure::{Failure, FOUND};
use crate::output;
use crate::stats::table::{section, Row};

pub fn check(args: &CheckArgs) -> Result<u8, Failure> {
    match super::read(&args.file) {
        Ok(policy) => {
            let name = args.file.display();
            output::print(&format!("{name}: {}", summary(&policy)))?;
            Ok(0)
        }
        Err(problems) => {
            output::print_lines(&problems)?;
            Ok(FOUND)
        }
    }
}

/// "good; mode enforce, ...", and a line for each tenant and egress rule.
fn summary(policy: &Policy) -> String {
    let word = |allow| if allow { "allow" } else { "deny" };
    let mode = match policy.mode() {
        Mode::Enforce => "enforce",
        Mode::Observe => "observe",
    };
    let mut out = format!(
        "good; mode {mode}, default {}, egress_default {}\n",
        word(policy.default_allow()),
        word(policy.egress_default())
    );
    let subjects = policy.subjects();
    let cell = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let row = |(place, subject): (usize, &cmshim_core::tenant::Subject)| {
        let name = match words::ordinal(subjects, place) {
            Some(number) => format!("  {} egress {number}", subject.name),
            None => subject.name.clone(),
        };
        Row::new([
            name,
            subject.line.to_string(),
            word(subject.allow).to_owned(),
            cell(subject.max_connections.map(|n| n.to_string())),
            cell(subject.rate.as_ref().map(words::rate)),
            cell(subject.tos.map(words::tos)),
        ])
    };
    let rows: Vec<Row> = subjects.iter().enumerate().map(row).collect();
    section(
        &mut out,
        &["tenant", "line", "action", "connections", "rate", "ToS"],
        &rows,
    );
    out
}
