//! Epoll sets of this process, as the kernel shows them.

use super::list;
use libc::c_int;

/// Is the descriptor in an epoll set by EPOLLET? Looks through all sets; where that cannot be done, it may be.
pub fn by_edges(fd: c_int) -> bool {
    let Ok(numbers) = list::names("/proc/thread-self/fd") else {
        return true;
    };
    let numbers = numbers.iter().filter_map(|name| name.to_str());
    numbers
        .filter(|number| is_set(number))
        .any(|number| has_by_edges(number, fd))
}

fn is_set(number: &str) -> bool {
    let link = std::fs::read_link(format!("/proc/thread-self/fd/{number}"));
    link.is_ok_and(|to| to.as_os_str() == "anon_inode:[eventpoll]")
}

fn has_by_edges(set: &str, fd: c_int) -> bool {
    let shown = std::fs::read_to_string(format!("/proc/thread-self/fdinfo/{set}"));
    shown.is_ok_and(|shown| shown.lines().any(|line| is_by_edges(line, fd)))
}

/// `tfd: %8d events: %8x …` (`ep_show_fdinfo`, fs/eventpoll.c).
fn is_by_edges(line: &str, fd: c_int) -> bool {
    let mut words = line.split_whitespace();
    let mut after = |name| words.find(|word| *word == name).and_then(|_| words.next());
    let number = after("tfd:").and_then(|number| number.parse::<c_int>().ok());
    let events = after("events:").and_then(|events| u32::from_str_radix(events, 16).ok());
    number == Some(fd) && events.is_none_or(|events| events & libc::EPOLLET as u32 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(set: c_int, fd: c_int, events: c_int) {
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: 0,
        };
        // SAFETY: `event` lives across the call.
        let added = unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &mut event) };
        assert_eq!(added, 0);
    }

    #[test]
    fn a_descriptor_is_found_in_the_sets() {
        // SAFETY: no pointer is passed.
        let (one, other, fd) = unsafe {
            (
                libc::epoll_create1(libc::EPOLL_CLOEXEC),
                libc::epoll_create1(libc::EPOLL_CLOEXEC),
                libc::eventfd(0, libc::EFD_CLOEXEC),
            )
        };
        assert!(!by_edges(fd));
        add(one, fd, libc::EPOLLIN);
        assert!(!by_edges(fd));
        add(other, fd, libc::EPOLLIN | libc::EPOLLET);
        assert!(by_edges(fd));
        for fd in [one, other, fd] {
            // SAFETY: opened above.
            unsafe { libc::close(fd) };
        }
    }
}
