//! Explanations of failed calls, by who is to blame.

use crate::model::{Explanation, Severity, Who};

/// A finding without its code, which [`call`] fills in.
pub(super) fn caused_by(
    who: Who,
    severity: Severity,
    summary: impl Into<String>,
    cause: impl Into<String>,
    next: impl Into<String>,
) -> Explanation {
    Explanation::new(who, severity, "failed", "", summary)
        .with_cause(cause)
        .with_next(next)
}

/// An error found in this kernel.
pub(super) fn caused_by_kernel(
    summary: impl Into<String>,
    cause: impl Into<String>,
    next: impl Into<String>,
) -> Explanation {
    caused_by(Who::ThisKernel, Severity::Error, summary, cause, next)
}

/// An error that the program's own arguments or order of calls made.
pub(super) fn caused_by_program(
    summary: impl Into<String>,
    cause: impl Into<String>,
    next: impl Into<String>,
) -> Explanation {
    caused_by(Who::ThisProcess, Severity::Error, summary, cause, next)
}
