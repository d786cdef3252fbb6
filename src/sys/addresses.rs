//! Whose an address is, and which ports and rights there are: asked when a call has failed.

use super::limits;
use cmshim_core::explain::Here;
use libc::{sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage};
use std::ffi::CStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// The address in a C structure; other families than IPv4 and IPv6 are none.
pub fn socket_address(storage: &sockaddr_storage) -> Option<SocketAddr> {
    let at = std::ptr::from_ref(storage);
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the storage is large enough and aligned for every family, and holds this one.
            let sin = unsafe { &*at.cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(sin.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(sin.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let sin6 = unsafe { &*at.cast::<sockaddr_in6>() };
            let ip = Ipv6Addr::from(sin6.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(ip, u16::from_be(sin6.sin6_port), 0, sin6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// The address that the program passes to a call.
///
/// # Safety
/// `address` is null or points to a socket address as long as its family says.
pub unsafe fn given_address(address: *const sockaddr) -> Option<SocketAddr> {
    // SAFETY: see above; at least the family is there.
    let family = i32::from(unsafe { address.as_ref()? }.sa_family);
    let length = match family {
        libc::AF_INET => size_of::<sockaddr_in>(),
        libc::AF_INET6 => size_of::<sockaddr_in6>(),
        _ => return None,
    };
    let mut storage = std::mem::MaybeUninit::<sockaddr_storage>::zeroed();
    // SAFETY: `length` bytes are there (see above) and fit into a zeroed storage, which is valid.
    let storage = unsafe {
        std::ptr::copy_nonoverlapping(address.cast::<u8>(), storage.as_mut_ptr().cast(), length);
        storage.assume_init()
    };
    socket_address(&storage)
}

/// Is the address one of this host's own loopback connection?
pub fn same_host(src: Option<SocketAddr>, dst: Option<SocketAddr>) -> bool {
    let ip = |a: Option<SocketAddr>| a.map(|a| a.ip());
    match (ip(src), ip(dst)) {
        (Some(a), Some(b)) => a == b || IpAddr::is_loopback(&b),
        _ => false,
    }
}

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
    fn addresses_are_read_as_given() {
        let v4: sockaddr_in = sockaddr_in {
            sin_family: libc::AF_INET as u16,
            sin_port: 7471u16.to_be(),
            sin_addr: libc::in_addr {
                s_addr: u32::from(Ipv4Addr::new(10, 77, 0, 1)).to_be(),
            },
            sin_zero: [0; 8],
        };
        // SAFETY: a whole sockaddr_in.
        let read = unsafe { given_address(std::ptr::from_ref(&v4).cast()) };
        assert_eq!(read, "10.77.0.1:7471".parse().ok());
        let v6 = sockaddr_in6 {
            sin6_family: libc::AF_INET6 as u16,
            sin6_port: 1u16.to_be(),
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr {
                s6_addr: [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            },
            sin6_scope_id: 3,
        };
        // SAFETY: a whole sockaddr_in6.
        let read = unsafe { given_address(std::ptr::from_ref(&v6).cast()) };
        assert_eq!(
            read.map(|a| a.to_string()),
            Some("[fe80::1%3]:1".to_owned())
        );
        // SAFETY: null is allowed.
        assert_eq!(unsafe { given_address(std::ptr::null()) }, None);
    }

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
