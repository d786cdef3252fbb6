//! A list of CPUs as in `events.cpus` and in sysfs: `5,6`, `0-3,8`.

use serde::{Deserialize, Deserializer};

/// The kernel's `cpu_set_t` of glibc holds this many.
const MOST: usize = 1024;

/// Where a thread may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cpus {
    /// Wherever the program may.
    Any,
    /// On the CPUs of the device's NUMA node.
    Device,
    These(Vec<usize>),
}

impl Cpus {
    /// Reads a setting; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Cpus, String> {
        match text.trim() {
            "" => Ok(Cpus::Any),
            "device" => Ok(Cpus::Device),
            list => list_of(list).map(Cpus::These),
        }
    }
}

/// Reads a list of numbers and ranges.
pub fn list_of(text: &str) -> Result<Vec<usize>, String> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("the range {part} runs backwards"));
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

fn number(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(cpu) if cpu < MOST => Ok(cpu),
        Ok(cpu) => Err(format!("CPU {cpu} is beyond {}", MOST - 1)),
        Err(_) => Err(format!(
            "{} is not a CPU number",
            crate::text::toml::shown(text)
        )),
    }
}

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Cpus, D::Error> {
        Cpus::parse(&String::deserialize(d)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_words() {
        assert_eq!(Cpus::parse(""), Ok(Cpus::Any));
        assert_eq!(Cpus::parse("device"), Ok(Cpus::Device));
        assert_eq!(Cpus::parse("6, 0-2,1"), Ok(Cpus::These(vec![0, 1, 2, 6])));
        for wrong in ["x", "3-1", "1,,2", "-1", "1024", "1-", "Device"] {
            assert!(Cpus::parse(wrong).is_err(), "{wrong}");
        }
    }
}
