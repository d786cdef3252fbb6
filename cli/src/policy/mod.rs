//! `cmshim policy`: tenant policies, their decisions, and what is used of their limits.

pub mod args;
mod check;
mod locks;
mod qos;
mod share;
mod show;
mod simulate;
mod words;

use std::path::Path;

use args::{PolicyArgs, PolicyCommand};
use cmshim_core::tenant::{self, Policy};

use crate::failure::Failure;

pub fn policy(args: &PolicyArgs) -> Result<u8, Failure> {
    match &args.command {
        PolicyCommand::Check(args) => check::check(args),
        PolicyCommand::Test(args) => simulate::test(args),
        PolicyCommand::Show(args) => show::show(args),
        PolicyCommand::Qos(args) => qos::qos(args),
    }
}

/// The policy in a file. The error is a line for each problem.
pub fn read(path: &Path) -> Result<Policy, Vec<String>> {
    let name = path.display().to_string();
    let told = |problem: tenant::Problem| problem.in_file(&name);
    let bytes = tenant::file(path).map_err(|problem| vec![told(problem)])?;
    Policy::parse(&bytes).map_err(|problems| problems.into_iter().map(told).collect())
}
