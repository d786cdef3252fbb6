//! What is counted by name: a tenant, or one of its egress rules.

use super::fnv;

/// Longest name of a tenant, in bytes.
pub const NAME_BYTES: usize = 64;

/// The key of connections that no tenant matches: that of an empty name.
pub const NO_TENANT_KEY: u64 = key(b"in:");

/// A tenant (for incoming connections) or one of its egress rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// The tenant's name.
    pub name: String,
    pub egress: bool,
    /// The same in every process and after every reload, as long as the name (and the egress rule's number)
    /// stays. Never 0.
    pub key: u64,
    pub allow: bool,
    /// Live connections.
    pub max_connections: Option<u32>,
    pub rate: Option<Rate>,
    /// Type of service of its connections; a DSCP stands in the upper six bits.
    pub tos: Option<u8>,
    /// Of its table in the file, from 1.
    pub line: usize,
}

impl Subject {
    /// Whether it needs a row that the processes of the host share.
    pub fn limited(&self) -> bool {
        self.max_connections.is_some() || self.rate.is_some()
    }
}

/// Connects per second, and how many may come at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub per_s: f64,
    pub burst: u32,
}

impl Rate {
    /// Time between two connects, rounded up: a rate is never exceeded.
    pub fn period_ns(&self) -> u64 {
        // A cast from a float saturates, and makes 0 of what is no number.
        ((1e9 / self.per_s).ceil() as u64).max(1)
    }

    /// How far the bucket may be ahead of the clock.
    pub fn tolerance_ns(&self) -> u64 {
        self.period_ns()
            .saturating_mul(u64::from(self.burst.max(1) - 1))
    }
}

/// The key of a tenant (`None`) or of its egress rule with this number, from 0.
pub fn key_of(name: &str, egress: Option<usize>) -> u64 {
    match egress {
        None => key(format!("in:{name}").as_bytes()),
        Some(ordinal) => key(format!("out:{name}:{ordinal}").as_bytes()),
    }
}

/// 0 means a free row.
const fn key(bytes: &[u8]) -> u64 {
    match fnv::hash(bytes) {
        0 => 1,
        hash => hash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_stable_and_differ() {
        assert_eq!(key_of("", None), NO_TENANT_KEY);
        let keys = [
            key_of("olap", None),
            key_of("olap", Some(0)),
            key_of("olap", Some(1)),
            NO_TENANT_KEY,
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(*key != 0 && !keys[..i].contains(key));
        }
    }

    #[test]
    fn periods_never_exceed_the_rate() {
        let rate = |per_s, burst| Rate { per_s, burst };
        assert_eq!(rate(3.0, 1).period_ns(), 333_333_334);
        assert_eq!(rate(3.0, 1).tolerance_ns(), 0);
        assert_eq!(rate(100.0, 200).tolerance_ns(), 1_990_000_000);
        assert_eq!(rate(1e12, 5).period_ns(), 1);
        assert_eq!(rate(0.0, 2).tolerance_ns(), u64::MAX);
    }
}
