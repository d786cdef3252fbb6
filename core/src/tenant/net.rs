//! Addresses and prefixes as 128 bits.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// An address: IPv4, and IPv6 that is an IPv4-mapped one, lie in a space of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    v4: bool,
    /// IPv4 as `::ffff:a.b.c.d`.
    bits: u128,
}

impl Address {
    pub fn of(address: IpAddr) -> Address {
        let canonical = address.to_canonical();
        Address {
            v4: canonical.is_ipv4(),
            bits: bits_of(canonical),
        }
    }

    pub fn of_gid(gid: [u8; 16]) -> Address {
        Address {
            v4: false,
            bits: u128::from_be_bytes(gid),
        }
    }
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_ipv6_mapped()),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

/// A prefix. The order is that of a walk through the tree of all prefixes: what holds others comes before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Net {
    first: Address,
    /// Of 128 bits.
    length: u8,
}

/// What was written: a prefix and perhaps the interface behind `%`.
#[derive(Debug)]
pub(super) struct Written<'t> {
    pub net: Net,
    pub scope: Option<&'t str>,
}

/// By what prefixes and names are sorted.
pub(super) type SortKey = (bool, u128, u64);

impl Net {
    /// The prefix that is this address alone.
    pub fn only(address: Address) -> Net {
        Net {
            first: address,
            length: 128,
        }
    }

    /// Sorts as the prefix does, and then by a number.
    pub fn sort_key(&self, number: u32) -> SortKey {
        let low = u64::from(self.length) << 32 | u64::from(number);
        (self.first.v4, self.first.bits, low)
    }

    pub fn holds(&self, address: Address) -> bool {
        self.first.v4 == address.v4 && (self.first.bits ^ address.bits) & mask(self.length) == 0
    }

    /// Whether it holds all of `other`.
    pub fn covers(&self, other: &Net) -> bool {
        self.length <= other.length && self.holds(other.first)
    }

    /// Reads an address or a prefix of addresses; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Written<'_>, String> {
        let (address, length, scope) = pieces(text);
        let address: IpAddr = address
            .parse()
            .map_err(|_| format!("{} is no IP address", crate::text::toml::shown(address)))?;
        let net = Net::of(address, length)?;
        if scope.is_some() && !net.is_link_local() {
            return Err(format!(
                "{net} is not link-local (fe80::/10), so it has no interface behind %"
            ));
        }
        Ok(Written { net, scope })
    }

    /// Reads a GID or a prefix of GIDs.
    pub fn parse_gid(text: &str) -> Result<Net, String> {
        let written = Net::parse(text)?;
        if written.scope.is_some() {
            return Err("a GID has no interface behind %".to_owned());
        }
        let mut net = written.net;
        net.first.v4 = false;
        Ok(net)
    }

    fn of(address: IpAddr, length: Option<&str>) -> Result<Net, String> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(text) => prefix_length(text, most)?,
        };
        let (bits, length) = (bits_of(address), length + (128 - most));
        let first = IpAddr::V6(Ipv6Addr::from(bits & mask(length)));
        // ::/0 holds more than the mapped addresses.
        let v4 = length >= 96 && Address::of(first).v4;
        let net = Net {
            first: Address {
                v4,
                bits: bits & mask(length),
            },
            length,
        };
        match net.first.bits == bits {
            true => Ok(net),
            false => Err(format!(
                "{address}/{} has bits behind its prefix; the network is {net}, the one address {address}",
                length - (128 - most)
            )),
        }
    }

    fn is_link_local(&self) -> bool {
        !self.first.v4 && self.length >= 10 && self.first.bits >> 118 == 0xfe80 >> 6
    }
}

/// Address, prefix length and interface: `fe80::/10%eth0`, or `fe80::%eth0/10` as in RFC 4007.
fn pieces(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let cut = |text, at| match str::split_once(text, at) {
        Some((head, tail)) => (head, Some(tail)),
        None => (text, None),
    };
    let (head, scope) = cut(text, '%');
    let (address, length) = cut(head, '/');
    match (length, scope.map(|scope| cut(scope, '/'))) {
        (None, Some((scope, length))) => (address, length, Some(scope)),
        _ => (address, length, scope),
    }
}

fn prefix_length(text: &str, most: u8) -> Result<u8, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u8>() {
        Ok(length) if digits && length <= most => Ok(length),
        _ if digits => Err(format!("the prefix length {text} is larger than {most}")),
        _ => Err(format!(
            "{} is no prefix length",
            crate::text::toml::shown(text)
        )),
    }
}

const fn mask(length: u8) -> u128 {
    match length {
        0 => 0,
        length => u128::MAX << (128 - length),
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v6 = Ipv6Addr::from(self.first.bits);
        let (address, length, most): (IpAddr, u8, u8) = match self.first.v4 {
            true => (IpAddr::V6(v6).to_canonical(), self.length - 96, 32),
            false => (v6.into(), self.length, 128),
        };
        match length == most {
            true => write!(f, "{address}"),
            false => write!(f, "{address}/{length}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match Net::parse(text) {
            Ok(written) => match written.scope {
                Some(scope) => format!("{} {scope}", written.net),
                None => written.net.to_string(),
            },
            Err(why) => format!("! {why}"),
        }
    }

    #[test]
    fn what_may_be_written() {
        for (text, expected) in [
            ("10.1.0.0/16", "10.1.0.0/16"),
            ("10.1.2.3", "10.1.2.3"),
            ("10.1.2.3/32", "10.1.2.3"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("::/0", "::/0"),
            ("fd00:1::/64", "fd00:1::/64"),
            ("::ffff:10.1.0.0/112", "10.1.0.0/16"),
            ("::ffff:10.1.2.3", "10.1.2.3"),
            ("fe80::/10%eth0", "fe80::/10 eth0"),
            ("fe80::%eth0/10", "fe80::/10 eth0"),
            ("fe80::1%7", "fe80::1 7"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_may_not() {
        for (text, expected) in [
            ("10.1.2.3/16", "! 10.1.2.3/16 has bits behind its prefix; the network is 10.1.0.0/16, the one address 10.1.2.3"),
            ("::1/0", "! ::1/0 has bits behind its prefix; the network is ::/0, the one address ::1"),
            ("10.0.0.0/33", "! the prefix length 33 is larger than 32"),
            ("::/1000", "! the prefix length 1000 is larger than 128"),
            ("10.0.0.0/", "! \"\" is no prefix length"),
            ("10.0.0.0/+8", "! \"+8\" is no prefix length"),
            ("10.0.0.0/-1", "! \"-1\" is no prefix length"),
            ("10.0.0.0/8/8", "! \"8/8\" is no prefix length"),
            ("host", "! \"host\" is no IP address"),
            ("", "! \"\" is no IP address"),
            ("010.0.0.1", "! \"010.0.0.1\" is no IP address"),
            ("10.0.0.1%eth0", "! 10.0.0.1 is not link-local (fe80::/10), so it has no interface behind %"),
            ("fd00::/8%eth0", "! fd00::/8 is not link-local (fe80::/10), so it has no interface behind %"),
            ("fe80::/9%eth0", "! fe80::/9 is not link-local (fe80::/10), so it has no interface behind %"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn families_do_not_mix_but_mapped_is_ipv4() {
        let net = |text| Net::parse(text).unwrap().net;
        let address = |text: &str| Address::of(text.parse().unwrap());
        assert!(net("10.0.0.0/8").holds(address("::ffff:10.1.2.3")));
        assert!(!net("::/0").holds(address("10.1.2.3")));
        assert!(!net("0.0.0.0/0").holds(address("::1")));
        assert!(net("0.0.0.0/0").holds(address("255.0.0.1")));
        assert!(net("10.0.0.0/8").covers(&net("10.1.0.0/16")));
        assert!(!net("10.1.0.0/16").covers(&net("10.0.0.0/8")));
    }

    #[test]
    fn gids_are_128_bits() {
        let gid = |text: &str| Address::of_gid(text.parse::<Ipv6Addr>().unwrap().octets());
        let net = Net::parse_gid("10.1.0.0/16").unwrap();
        assert!(net.holds(gid("::ffff:10.1.2.3")));
        assert!(Net::parse_gid("::/0")
            .unwrap()
            .holds(gid("::ffff:10.1.2.3")));
        assert!(Net::parse_gid("fe80::/10%eth0").is_err());
    }
}
