//! The typed configuration, one field for each row of the table.
//!
//! The struct is filled from the checked values by name: `deny_unknown_fields` and the absence of
//! field defaults make a row without a field, or a field without a row, an error that the tests see.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use super::cpus::Cpus;
use super::setting::Setting;
use crate::pool::Settings;

/// What every part of cmshim is told to do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub disable: bool,
    pub skip: Vec<String>,
    /// Whether threads of our own are allowed.
    #[serde(deserialize_with = "on_off")]
    pub threads: bool,
    pub log: Log,
    pub reasons: Reasons,
    pub listen: Listen,
    pub stats: Stats,
    pub pool: Pool,
    pub events: Events,
    pub tenant: Tenant,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// `None` is standard error. Still holds `%p`: see [`Log::path_for`].
    #[serde(deserialize_with = "non_empty")]
    pub file: Option<String>,
    pub level: Level,
    pub format: Format,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasons {
    pub enable: bool,
    /// Zero is off.
    #[serde(rename = "early_warning_ms", deserialize_with = "millis")]
    pub early_warning: Duration,
    /// Zero is off.
    #[serde(rename = "watchdog_ms", deserialize_with = "millis")]
    pub watchdog: Duration,
    /// Zero is off.
    #[serde(rename = "short_lived_ms", deserialize_with = "millis")]
    pub short_lived: Duration,
    /// Zero is off.
    #[serde(rename = "slow_connect_ms", deserialize_with = "millis")]
    pub slow_connect: Duration,
    /// Zero writes every line.
    #[serde(rename = "repeat_s", deserialize_with = "seconds")]
    pub repeat: Duration,
    /// Bytes shown.
    pub private_data_max: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// 0 leaves the program's backlog alone.
    pub min_backlog: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stats {
    pub enable: bool,
    /// `None` is the first usable one of the built-in places.
    #[serde(deserialize_with = "non_empty")]
    pub dir: Option<String>,
    pub readers: Readers,
}

/// Who may read the statistics of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Readers {
    User,
    Group,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    pub enable: bool,
    /// Ready ones of one key, from and to.
    pub min: u32,
    pub max: u32,
    pub warm: u32,
    #[serde(rename = "idle_s", deserialize_with = "seconds")]
    pub idle: Duration,
    /// Percent.
    pub device_share: u32,
    pub recycle: bool,
    #[serde(rename = "quarantine_ms", deserialize_with = "millis")]
    pub quarantine: Duration,
}

impl Pool {
    /// As the book wants it: a minimum above the maximum counts as the maximum.
    pub fn settings(&self) -> Settings {
        Settings {
            min: self.min.min(self.max),
            max: self.max,
            warm: self.warm,
            idle: self.idle,
            share: self.device_share,
            recycle: self.recycle,
            quarantine: self.quarantine,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    mode: EventsMode,
    /// The most events taken with one system call.
    pub batch: usize,
    pub cpus: Cpus,
    /// Zero is off.
    #[serde(rename = "busy_poll_us", deserialize_with = "micros")]
    pub busy_poll: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EventsMode {
    Auto,
    Off,
    Inline,
    Thread,
}

/// Who takes CM events from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taker {
    /// librdmacm, as without us.
    Librdmacm,
    /// We, in the program's own call.
    Inline,
    /// A thread of ours.
    Thread,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// `None` is off.
    #[serde(deserialize_with = "non_empty")]
    pub policy: Option<String>,
    pub on_error: OnError,
    #[serde(deserialize_with = "non_empty")]
    pub name: Option<String>,
    /// See [`own_tenant`](crate::tenant::own_tenant).
    #[serde(deserialize_with = "non_empty")]
    pub cgroup: Option<String>,
    /// `None` is the first usable one of the built-in places.
    #[serde(deserialize_with = "non_empty")]
    pub dir: Option<String>,
    /// `None` is no audit. Still holds `%p`.
    #[serde(deserialize_with = "non_empty")]
    pub audit: Option<String>,
    pub audit_allowed: bool,
    pub audit_per_s: u32,
    /// Zero waits for as long as it takes.
    #[serde(rename = "check_ms", deserialize_with = "millis")]
    pub check: Duration,
}

/// What holds while there is no policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    Deny,
    Allow,
}

impl Config {
    /// Who takes CM events from the kernel; no thread where none may be started.
    pub fn events_taker(&self) -> Taker {
        let asked = self.events.cpus != Cpus::Any
            || !self.events.busy_poll.is_zero()
            || self.tenant.policy.is_some();
        match self.events.mode {
            EventsMode::Off => Taker::Librdmacm,
            EventsMode::Thread if self.threads => Taker::Thread,
            EventsMode::Auto if asked && self.threads => Taker::Thread,
            _ => Taker::Inline,
        }
    }
}

/// The order is by how much is written: `Off` is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Text,
    Json,
}

impl Log {
    /// The file for this process, with `%p` replaced; `None` is standard error.
    pub fn path_for(&self, pid: u32) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(file.replace("%p", &pid.to_string()))
    }
}

/// Fills the struct from one setting per row of the table.
pub(super) fn build(settings: &[Setting]) -> Result<Config, String> {
    let mut root = Map::new();
    for setting in settings {
        let value = serde_json::to_value(&setting.value).map_err(|e| e.to_string())?;
        insert(&mut root, setting.key, value)?;
    }
    Config::deserialize(Json::Object(root)).map_err(|e| e.to_string())
}

fn insert(map: &mut Map<String, Json>, key: &str, value: Json) -> Result<(), String> {
    let Some((section, rest)) = key.split_once('.') else {
        map.insert(key.to_owned(), value);
        return Ok(());
    };
    let inner = map
        .entry(section)
        .or_insert_with(|| Json::Object(Map::new()));
    match inner {
        Json::Object(inner) => insert(inner, rest, value),
        _ => Err(format!("{section} is a key and a section")),
    }
}

fn millis<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    u64::deserialize(d).map(Duration::from_millis)
}

fn seconds<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    u64::deserialize(d).map(Duration::from_secs)
}

fn micros<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    u64::deserialize(d).map(Duration::from_micros)
}

fn on_off<'de, D: Deserializer<'de>>(d: D) -> Result<bool, D::Error> {
    let word = String::deserialize(d)?;
    Ok(word == "on")
}

fn non_empty<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(d)?;
    Ok(Some(text).filter(|t| !t.is_empty()))
}
