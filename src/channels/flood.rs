//! A flood of connect requests that the tenant check refuses: the program's thread comes back from time to time.

use super::channel::How;
use super::{descriptors, table};
use crate::sys;
use crate::sys::guard;
use libc::c_int;

/// Requests that one call refuses before it says that there is no event.
pub const AT_ONCE: usize = 64;

/// May a call on this channel end with EAGAIN, though more events wait in the kernel? Only a non-blocking one's, and only
/// where whoever waits for the channel finds it readable.
pub fn may_end(fd: c_int) -> bool {
    if !descriptors::is_nonblocking(fd) {
        return false;
    }
    let tap = table::find(fd).filter(|tap| tap.app().0 == fd);
    let may = guard::run(|| match tap.map(|tap| (tap, tap.how())) {
        Some((tap, How::Inline | How::Thread)) => tap.edge(),
        Some((_, How::Foreign)) => false,
        // The kernel's own descriptor, for which an edge cannot be made.
        Some((_, How::Plain)) | None => !sys::epoll::by_edges(fd),
    });
    may.unwrap_or(false)
}
