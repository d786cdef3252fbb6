//! Too few file descriptors, whatever number says so.

use super::causes::{caused_by_kernel, caused_by_program};
use super::query::Descriptors;
use crate::model::Explanation;

/// Words for a process whose descriptors are at their limit, or nearly.
pub(super) fn short_of_descriptors(d: Descriptors) -> Option<Explanation> {
    d.short().then(|| Explanation {
        summary: format!(
            "this process is out of file descriptors: {} open, limit {}",
            d.open, d.limit
        ),
        ..descriptors(24)
    })
}

/// EMFILE and ENFILE.
pub(super) fn descriptors(number: i32) -> Explanation {
    if number == 23 {
        caused_by_kernel(
            "the whole machine is out of file descriptors",
            "",
            "cat /proc/sys/fs/file-nr; sysctl fs.file-max",
        )
    } else {
        caused_by_program(
            "this process is out of file descriptors",
            "Each event channel, completion channel and open device takes one or more; are they leaked on failed connections?",
            "ls /proc/PID/fd | wc -l; raise it with ulimit -n or LimitNOFILE=",
        )
    }
}
