//! Where lines go: stderr or a file, behind the `log` facade.
//!
//! The program must not notice: a full pipe, a closed reader, a full disk or a descriptor that
//! became something else loses the line (it is counted), and nothing else happens.

use crate::sys::output;
use cmshim_core::codes::errno;
use cmshim_core::config::{self, Format};
use cmshim_core::report::{note_json, note_text};
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

/// Target of lines that are complete already (`report::text` or `report::json`).
pub const LINE: &str = "cmshim::line";

/// The one logger of this object.
struct Sink {
    program: String,
    settings: config::Log,
    lost: AtomicU64,
    /// Was it said that the file cannot be written?
    told: AtomicBool,
}

/// Makes the sink from the configuration and puts it behind `log`.
pub fn install(program: &str, settings: &config::Log) {
    let sink = Box::leak(Box::new(Sink {
        program: program.to_owned(),
        settings: config::Log {
            file: settings.file.clone().map(from_here),
            ..settings.clone()
        },
        lost: AtomicU64::new(0),
        told: AtomicBool::new(false),
    }));
    if log::set_logger(sink).is_ok() {
        log::set_max_level(filter(settings.level));
    }
}

/// A relative name counts from the directory of the first call, wherever the program goes later.
fn from_here(file: String) -> String {
    match std::env::current_dir() {
        Ok(dir) if !file.starts_with('/') => dir.join(&file).to_string_lossy().into_owned(),
        _ => file,
    }
}

fn filter(level: config::Level) -> LevelFilter {
    match level {
        config::Level::Off => LevelFilter::Off,
        config::Level::Error => LevelFilter::Error,
        config::Level::Warn => LevelFilter::Warn,
        config::Level::Info => LevelFilter::Info,
        config::Level::Debug => LevelFilter::Debug,
    }
}

impl Sink {
    /// A line of the shim about itself, in the configured format.
    fn own_line(&self, level: Level, message: &str) -> String {
        let pid = std::process::id();
        let mut line = match self.settings.format {
            Format::Text => note_text(&self.program, pid, message),
            Format::Json => note_json(
                SystemTime::now(),
                &self.program,
                pid,
                level.as_str(),
                message,
            ),
        };
        line.push('\n');
        line
    }

    /// Says once that the file takes no lines, where somebody may look for them instead.
    fn no_file(&self, path: &str, why: output::Errno) {
        if self.told.load(Ordering::Relaxed) {
            return;
        }
        let message = format!(
            "log.file {path} cannot be written: {}; lines that it does not take go to stderr",
            errno::describe(why)
        );
        if output::to_stderr(&self.own_line(Level::Warn, &message)) {
            self.told.store(true, Ordering::Relaxed);
        }
    }

    /// To the file if there is one and it takes the line, else to stderr. What was lost is told
    /// as soon as a line can be written again.
    fn put(&self, line: &str) {
        let path = self.settings.path_for(std::process::id());
        let write = |line: &str| match path.as_ref().map(|p| (p, output::to_file(p, line))) {
            Some((_, Ok(()))) => true,
            Some((path, Err(why))) => {
                self.no_file(path, why);
                output::to_stderr(line)
            }
            None => output::to_stderr(line),
        };
        if !write(line) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            write(&self.own_line(
                Level::Warn,
                &format!("{lost} lines before the last one could not be written"),
            ));
        }
    }
}

impl Log for Sink {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if record.target() == LINE {
            self.put(&format!("{}\n", record.args()));
        } else {
            self.put(&self.own_line(record.level(), &record.args().to_string()));
        }
    }

    fn flush(&self) {}
}
