//! How a call ended, for the features that are told of it.

use super::thread::Mark;
use crate::sys::clock::Moment;

/// How the real call ended.
#[derive(Clone, Copy)]
pub struct Ended {
    pub name: &'static str,
    pub outermost: bool,
    /// errno of the failure.
    pub failed: Option<i32>,
    /// The program's call in the flight recorder, for what is known only now.
    pub mark: Mark,
    /// When this call began, if that was looked at.
    pub began: Option<Moment>,
}

impl Ended {
    /// When a thing that this call made began to be.
    pub fn began(&self) -> Moment {
        self.began.unwrap_or_else(Moment::now)
    }
}
