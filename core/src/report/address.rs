//! Addresses as other tools take them: the scope of a link-local one by the name of its interface.

use std::fs;
use std::net::SocketAddr;

/// The scope of an IPv6 address that has one.
pub(super) fn scope(a: SocketAddr) -> Option<u32> {
    match a {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => Some(v6.scope_id()),
        _ => None,
    }
}

/// The scope by name, by number if this host has no such interface.
fn scope_name(a: SocketAddr) -> Option<String> {
    let number = scope(a)?;
    Some(interface(number).unwrap_or_else(|| number.to_string()))
}

/// Name of the interface with this number.
fn interface(number: u32) -> Option<String> {
    fs::read_dir("/sys/class/net")
        .ok()?
        .flatten()
        .find(|entry| {
            fs::read_to_string(entry.path().join("ifindex"))
                .is_ok_and(|text| text.trim().parse() == Ok(number))
        })
        .and_then(|entry| entry.file_name().into_string().ok())
}

/// The address without its port: "fe80::1%eth0".
pub(super) fn host(a: SocketAddr) -> String {
    match scope_name(a) {
        Some(name) => format!("{}%{name}", a.ip()),
        None => a.ip().to_string(),
    }
}

/// Address and port: "[fe80::1%eth0]:7471".
pub(super) fn with_port(a: SocketAddr) -> String {
    match scope_name(a) {
        Some(name) => format!("[{}%{name}]:{}", a.ip(), a.port()),
        None => a.to_string(),
    }
}

/// The address as `ip route get` takes it: "fe80::1 dev eth0".
pub(super) fn route(a: SocketAddr) -> String {
    match scope_name(a) {
        Some(name) => format!("{} dev {name}", a.ip()),
        None => a.ip().to_string(),
    }
}
