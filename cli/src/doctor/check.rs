//! What one check found.

use serde::Serialize;

/// From nothing to look at, to trouble; the greatest of several counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    NotApplicable,
    Ok,
    Warn,
    Fail,
}

impl Verdict {
    /// As the text output has it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::NotApplicable => "n/a",
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub id: &'static str,
    pub title: &'static str,
    #[serde(rename = "status")]
    pub verdict: Verdict,
    /// What was found, in a few words.
    pub value: String,
    /// The parts of it, one for each port, interface or file.
    pub details: Vec<String>,
    pub why: &'static str,
    /// Commands that mend it.
    pub mend: Vec<String>,
}

impl Check {
    /// Nothing found yet.
    pub fn new(id: &'static str, title: &'static str, why: &'static str) -> Check {
        Check {
            id,
            title,
            verdict: Verdict::NotApplicable,
            value: String::new(),
            details: Vec::new(),
            why,
            mend: Vec::new(),
        }
    }

    /// The end of a check that has one finding.
    pub fn is(mut self, verdict: Verdict, value: impl Into<String>) -> Check {
        self.raise(verdict);
        self.value = value.into();
        self
    }

    /// With a command that mends it.
    pub fn by(mut self, command: impl Into<String>) -> Check {
        self.mend(command);
        self
    }

    /// One finding among several.
    pub fn found(&mut self, verdict: Verdict, detail: impl Into<String>) {
        self.raise(verdict);
        self.details.push(detail.into());
    }

    pub fn raise(&mut self, verdict: Verdict) {
        self.verdict = self.verdict.max(verdict);
    }

    pub fn mend(&mut self, command: impl Into<String>) {
        let command = command.into();
        if !self.mend.contains(&command) {
            self.mend.push(command);
        }
    }
}
