//! Whose an address is, and which ports and rights there are: asked when a call has failed.

use super::limits;
use crate::reasons::subject::given_address;
use cmshim_core::explain::Here;
use std::ffi::CStr;
use std::fs;
use std::net::IpAddr;

/// The network device of this host, as this process sees it, that has the address. `None`: not known.
pub fn device_of(address: IpAddr) -> Option<Here> {
    if matches!(address, IpAddr::V4(v4) if v4.is_loopback()) {
        // All of 127.0.0.0/8 is local, though only one address of it is listed.
        return Some(Here::On("lo".to_owned()));
    }
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `first` is writable.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return None;
    }
    let mut found = Here::No;
    let mut next = first;
    // SAFETY: the list is whole until it is freed below, and ends with null.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: an entry's address is null or as long as its family says.
        let has = unsafe { given_address(entry.ifa_addr) }.map(|a| a.ip());
        if has == Some(address) {
            // SAFETY: an entry's name is NUL-terminated.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) };
            found = Here::On(name.to_string_lossy().into_owned());
            break;
        }
        next = entry.ifa_next;
    }
    // SAFETY: made by getifaddrs, and freed once.
    unsafe { libc::freeifaddrs(first) };
    Some(found)
}

/// The ports that the kernel picks by itself. The file is that of this process's network namespace.
pub fn ephemeral_ports() -> Option<(u16, u16)> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Has this process CAP_NET_BIND_SERVICE?
pub fn may_take_low_ports() -> Option<bool> {
    const CAP_NET_BIND_SERVICE: u32 = 10;
    limits::capability(CAP_NET_BIND_SERVICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_on_their_device() {
        let of = |text: &str| device_of(text.parse().unwrap());
        assert_eq!(of("127.0.0.1"), Some(Here::On("lo".to_owned())));
        assert_eq!(of("127.9.9.9"), Some(Here::On("lo".to_owned())));
        assert_eq!(of("203.0.113.77"), Some(Here::No));
        assert_eq!(of("2001:db8::77"), Some(Here::No));
    }

    #[test]
    fn the_range_of_ports_is_read() {
        let (first, last) = ephemeral_ports().unwrap();
        assert!(0 < first && first <= last);
    }
}
