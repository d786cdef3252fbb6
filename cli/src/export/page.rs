//! The text that is served, made when somebody asks and kept for a second.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use tokio::sync::Mutex;
use tokio::task::{spawn_blocking, JoinError};

use crate::stats::age::last_ns;
use crate::stats::find::scan_of;
use crate::stats::metrics;
use crate::stats::open::Found;
use crate::stats::openmetrics::{Form, Text};

/// Clients in a hurry share a text: neither their number nor their speed adds work or memory.
const FRESH: Duration = Duration::from_secs(1);

pub struct Pages {
    /// Processes that are shown.
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    open_metrics: Option<(Instant, Bytes)>,
    plain: Option<(Instant, Bytes)>,
}

impl Kept {
    fn of(&mut self, form: Form) -> &mut Option<(Instant, Bytes)> {
        match form {
            Form::OpenMetrics => &mut self.open_metrics,
            Form::Plain => &mut self.plain,
        }
    }
}

impl Pages {
    pub fn new(most: usize) -> Pages {
        Pages {
            most,
            kept: Mutex::default(),
        }
    }

    /// The lock is held while the text is made: who comes meanwhile gets the same.
    pub async fn page(&self, form: Form) -> Result<Bytes, JoinError> {
        let mut kept = self.kept.lock().await;
        let place = kept.of(form);
        if let Some((_, page)) = place.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(page.clone());
        }
        let most = self.most;
        let page = Bytes::from(spawn_blocking(move || render(most, form)).await?);
        *place = Some((Instant::now(), page.clone()));
        Ok(page)
    }
}

fn render(most: usize, form: Form) -> String {
    let mut left_out = 0;
    let mut scan = scan_of(Vec::new(), |found| {
        if found.len() >= 2 * most {
            left_out += limit(found, most);
        }
    });
    left_out += limit(&mut scan.found, most);
    scan.found
        .sort_by_key(|f| (f.stats.header.pid, f.stats.header.realtime_ns));
    let mut text = metrics::text(&scan.found, form);
    let version = [("version", env!("CARGO_PKG_VERSION").to_owned())];
    let name = "cmshim_export_build";
    text.family(name, "info", "", "The program that serves the metrics");
    text.sample("cmshim_export_build_info", &[&version], 1);
    for (name, help, number) in [
        ("processes", "Processes that are shown", scan.found.len()),
        (
            "processes_left_out",
            "Processes that the limit of processes leaves out",
            left_out,
        ),
        (
            "files_refused",
            "Files that were damaged, or of another version or owner",
            scan.refused.len(),
        ),
        (
            "files_unreadable",
            "Files that only other users may read",
            scan.not_ours,
        ),
    ] {
        number_of(&mut text, name, help, number);
    }
    text.end()
}

fn number_of(text: &mut Text, name: &str, help: &str, number: usize) {
    let name = format!("cmshim_export_{name}");
    text.family(&name, "gauge", "", help);
    text.sample(&name, &[], number);
}

/// Keeps the live ones, and of the others those that recorded something last.
fn limit(found: &mut Vec<Found>, most: usize) -> usize {
    let left_out = found.len().saturating_sub(most);
    if left_out > 0 {
        let last = |f: &Found| f.stats.header.wall_ns(last_ns(&f.stats));
        found.sort_by_cached_key(|f| Reverse((f.alive, last(f), f.inode)));
        found.truncate(most);
    }
    left_out
}
