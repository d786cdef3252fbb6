//! Network interfaces by name, for peers with a link-local address.

use std::net::Ipv6Addr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Interfaces that have an IPv6 address, as the process's own network namespace sees them.
const WITH_IPV6: &str = "/proc/self/net/if_inet6";

/// What a prefix says about the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Any,
    Number(u32),
    /// Place in [`Interfaces`].
    Named(u32),
}

/// The interfaces that a policy names, with their numbers of the moment.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    all: Vec<(String, AtomicU32)>,
}

impl Interfaces {
    /// A number (other than 0), or the name of an interface.
    pub fn scope(&mut self, text: &str) -> Result<Scope, String> {
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return match text.parse() {
                Ok(number) if number > 0 => Ok(Scope::Number(number)),
                _ => Err(format!("{text} is no number of an interface")),
            };
        }
        // IFNAMSIZ is 16, with the zero byte; the kernel allows no / and no white space.
        let odd = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
        if text.is_empty() || text.len() > 15 || text.chars().any(odd) {
            let shown = crate::text::toml::shown(text);
            return Err(format!("{shown} is no name of an interface"));
        }
        let place = self.all.iter().position(|(name, _)| name == text);
        let place = place.unwrap_or_else(|| {
            self.all.push((text.to_owned(), AtomicU32::new(0)));
            self.all.len() - 1
        });
        Ok(Scope::Named(place as u32))
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Looks at the numbers anew. What is not there has none.
    pub fn look_up(&self) {
        if self.is_empty() {
            return;
        }
        self.take_numbers(&std::fs::read_to_string(WITH_IPV6).unwrap_or_default());
    }

    fn take_numbers(&self, table: &str) {
        for (name, number) in &self.all {
            number.store(number_in(table, name).unwrap_or(0), Relaxed);
        }
    }

    /// Whether a peer behind interface number `scope` (0: not known) is meant.
    pub fn holds(&self, wanted: Scope, scope: u32) -> bool {
        match wanted {
            Scope::Any => true,
            Scope::Number(number) => number == scope,
            Scope::Named(place) => {
                let named = self.all.get(place as usize);
                scope != 0 && named.is_some_and(|(_, number)| number.load(Relaxed) == scope)
            }
        }
    }

    /// As it was written, with the number for an interface with a name.
    pub fn words(&self, wanted: Scope) -> String {
        match wanted {
            Scope::Any => String::new(),
            Scope::Number(number) => number.to_string(),
            Scope::Named(place) => {
                self.all
                    .get(place as usize)
                    .map_or_else(String::new, |(name, number)| match number.load(Relaxed) {
                        0 => format!("{name} (not there, or without an IPv6 address)"),
                        number => format!("{name} (number {number})"),
                    })
            }
        }
    }
}

/// The number of an interface of this host that has an IPv6 address.
pub fn index_of(name: &str) -> Option<u32> {
    number_in(&std::fs::read_to_string(WITH_IPV6).ok()?, name)
}

/// The number of the one interface of this host that has this address; `None` too if several have it.
pub fn index_with(address: Ipv6Addr) -> Option<u32> {
    number_with(&std::fs::read_to_string(WITH_IPV6).ok()?, address)
}

fn number_with(table: &str, address: Ipv6Addr) -> Option<u32> {
    let wanted = format!("{:032x}", u128::from(address));
    let lines = table.lines().filter(|line| line.starts_with(&wanted));
    let mut numbers = lines.map(|line| line.split_ascii_whitespace().nth(1));
    let number = numbers.next()??;
    numbers
        .next()
        .is_none()
        .then(|| u32::from_str_radix(number, 16).ok())?
}

/// A line: address, number (hexadecimal), prefix length, scope, flags, name.
fn number_in(table: &str, name: &str) -> Option<u32> {
    let mut lines = table.lines().map(|line| line.split_ascii_whitespace());
    lines.find_map(|mut fields| {
        let number = fields.nth(1)?;
        (fields.nth(3)? == name).then(|| u32::from_str_radix(number, 16).ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
00000000000000000000000000000001 01 80 10 80       lo
fe80000000000000020000fffe000001 1f 40 20 80     eth0
";

    #[test]
    fn numbers_of_the_kernel_are_hexadecimal() {
        assert_eq!(number_in(TABLE, "lo"), Some(1));
        assert_eq!(number_in(TABLE, "eth0"), Some(31));
        assert_eq!(number_in(TABLE, "eth"), None);
    }

    #[test]
    fn an_address_that_two_interfaces_have_names_none() {
        let with = |table: &str, text: &str| number_with(table, text.parse().unwrap());
        assert_eq!(with(TABLE, "fe80::200:ff:fe00:1"), Some(31));
        assert_eq!(with(TABLE, "fe80::200:ff:fe00:2"), None);
        let twice = TABLE.to_owned() + "fe80000000000000020000fffe000001 20 40 20 80     eth1\n";
        assert_eq!(with(&twice, "fe80::200:ff:fe00:1"), None);
    }

    #[test]
    fn scopes_are_numbers_or_names() {
        let mut some = Interfaces::default();
        assert_eq!(some.scope("3"), Ok(Scope::Number(3)));
        assert_eq!(some.scope("eth0"), Ok(Scope::Named(0)));
        assert_eq!(some.scope("eth1"), Ok(Scope::Named(1)));
        assert_eq!(some.scope("eth0"), Ok(Scope::Named(0)));
        for wrong in ["", "0", "99999999999", "a/b", "a b", "sixteencharacter"] {
            assert!(some.scope(wrong).is_err(), "{wrong}");
        }
        assert!(some.holds(Scope::Any, 0));
        assert!(some.holds(Scope::Number(3), 3));
        assert!(!some.holds(Scope::Number(3), 4));
    }

    #[test]
    fn an_interface_may_come_and_go() {
        let mut some = Interfaces::default();
        let eth0 = some.scope("eth0").unwrap();
        let behind = |table, scope| {
            some.take_numbers(table);
            some.holds(eth0, scope)
        };
        assert!(!behind("", 31));
        assert!(behind(TABLE, 31));
        assert!(!behind(TABLE, 1));
        // It comes again with another number.
        let later = TABLE.replace("1f", "20");
        assert!(behind(&later, 32) && !behind(&later, 31));
        // What is not there is not the interface with number 0.
        assert!(!behind("", 0));
    }
}
