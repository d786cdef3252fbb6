//! Files as metrics. Each family stands once, with the samples of all processes.

use cmshim_core::stats::{
    Bypass, Counter, Entry, Kind, Phase, Snapshot, BATCH_SIZES, EVENT_KINDS, MAX_NS, MIN_NS,
};

use super::object::seconds;
use super::open::Found;
use super::openmetrics::{Form, Label, Text};
use super::overview::{event_name, value};

/// A file and the labels that all of its samples have.
struct Process<'a> {
    labels: Vec<Label>,
    alive: bool,
    stats: &'a Snapshot,
}

/// The families of these files; others may follow.
pub fn text(found: &[Found], form: Form) -> Text {
    let all: Vec<Process> = found.iter().map(|one| process(one, found)).collect();
    let mut text = Text::new(form);
    about(&mut text, &all);
    counters(&mut text, &all);
    calls(&mut text, &all);
    bypasses(&mut text, &all);
    events(&mut text, &all);
    batches(&mut text, &all);
    failures(&mut text, &all);
    phases(&mut text, &all);
    text
}

/// Process id and name; also the file, where two of other pid namespaces have the same ones: each series may
/// stand only once.
fn process<'a>(one: &'a Found, all: &[Found]) -> Process<'a> {
    let key = |f: &'a Found| (f.stats.header.pid, f.stats.header.program.as_str());
    let (pid, program) = key(one);
    let same = |f: &&Found| (f.stats.header.pid, f.stats.header.program.as_str()) == (pid, program);
    let mut labels = vec![("pid", pid.to_string()), ("program", program.to_owned())];
    if all.iter().filter(same).count() > 1 {
        labels.push(("file", one.path.to_string_lossy().into_owned()));
    }
    Process {
        labels,
        alive: one.alive,
        stats: &one.stats,
    }
}

fn about(text: &mut Text, all: &[Process]) {
    text.family("cmshim_process", "info", "", "Who wrote the statistics");
    for p in all {
        let header = &p.stats.header;
        let more = [
            ("uid", header.uid.to_string()),
            ("library", header.library.clone()),
        ];
        text.sample("cmshim_process_info", &[&p.labels, &more], 1);
    }
    text.family(
        "cmshim_process_alive",
        "gauge",
        "",
        "1 if the process lives, 0 if it is dead",
    );
    for p in all {
        text.sample("cmshim_process_alive", &[&p.labels], u8::from(p.alive));
    }
    let (name, unit) = ("cmshim_since_timestamp_seconds", "seconds");
    text.family(
        name,
        "gauge",
        unit,
        "When the process began to count, since 1970",
    );
    for p in all {
        text.sample(name, &[&p.labels], seconds(p.stats.header.realtime_ns));
    }
}

fn counters(text: &mut Text, all: &[Process]) {
    for counter in Counter::ALL {
        let row = counter.row();
        let name = format!("cmshim_{}", row.name);
        let (kind, ending) = match row.kind {
            Kind::Count => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
        };
        text.family(&name, kind, "", row.help);
        // A dead process has nothing open any more.
        for p in all.iter().filter(|p| p.alive || row.kind == Kind::Count) {
            text.sample(
                &format!("{name}{ending}"),
                &[&p.labels],
                value(p.stats, *counter),
            );
        }
    }
}

/// Calls that were never made are left out, as are phases: most programs use few of them.
fn calls(text: &mut Text, all: &[Process]) {
    let used = |p: &Process| {
        let counts = Entry::ALL
            .iter()
            .map(|e| (e.name().to_owned(), p.stats.entry(*e)));
        counts
            .filter(|(_, c)| *c != Default::default())
            .collect::<Vec<_>>()
    };
    text.family(
        "cmshim_calls",
        "counter",
        "",
        "Calls by the program, and by librdmacm itself",
    );
    for p in all {
        for (call, counts) in used(p) {
            for (by, n) in [("program", counts.calls), ("librdmacm", counts.inner)] {
                let labels = [("call", call.clone()), ("by", by.to_owned())];
                text.sample("cmshim_calls_total", &[&p.labels, &labels], n);
            }
        }
    }
    text.family(
        "cmshim_calls_failed",
        "counter",
        "",
        "Calls of either that failed",
    );
    for p in all {
        for (call, counts) in used(p) {
            let labels = [("call", call)];
            text.sample(
                "cmshim_calls_failed_total",
                &[&p.labels, &labels],
                counts.failed,
            );
        }
    }
}

fn bypasses(text: &mut Text, all: &[Process]) {
    text.family(
        "cmshim_bypassed",
        "counter",
        "",
        "What went past the shim unchanged, by reason",
    );
    for p in all {
        for bypass in Bypass::ALL {
            let labels = [("reason", bypass.name().to_owned())];
            text.sample(
                "cmshim_bypassed_total",
                &[&p.labels, &labels],
                p.stats.bypass(*bypass),
            );
        }
    }
}

fn events(text: &mut Text, all: &[Process]) {
    text.family(
        "cmshim_events",
        "counter",
        "",
        "Events that the program took, by type",
    );
    for p in all {
        for number in 0..=EVENT_KINDS {
            let labels = [("event", event_name(number).to_owned())];
            text.sample(
                "cmshim_events_total",
                &[&p.labels, &labels],
                p.stats.event(number),
            );
        }
    }
}

fn batches(text: &mut Text, all: &[Process]) {
    let (name, help) = (
        "cmshim_batch_events",
        "Events that one system call brought from the kernel",
    );
    text.family(name, "histogram", "events", help);
    for p in all {
        let sizes = (0..BATCH_SIZES - 1).map(|size| (format!("{size}.0"), p.stats.batches(size)));
        let larger = p.stats.batches(BATCH_SIZES - 1);
        let sum = p.stats.counter(Counter::EventsBatched);
        let mut total = 0u64;
        for (le, count) in sizes.chain([("+Inf".to_owned(), larger)]) {
            total = total.saturating_add(count);
            let labels = [("le", le)];
            text.sample(&format!("{name}_bucket"), &[&p.labels, &labels], total);
        }
        text.sample(&format!("{name}_count"), &[&p.labels], total);
        text.sample(&format!("{name}_sum"), &[&p.labels], sum);
    }
}

fn failures(text: &mut Text, all: &[Process]) {
    let (name, help) = (
        "cmshim_failures",
        "Findings by code and peer, the 64 most frequent of a process",
    );
    text.family(name, "counter", "", help);
    for p in all {
        for reason in &p.stats.reasons {
            let peer = reason.peer.address().map(|peer| peer.ip().to_string());
            let labels = [
                ("code", reason.code.clone()),
                ("peer", peer.unwrap_or_default()),
                ("who", word(reason.who)),
                ("stage", word(reason.stage)),
            ];
            text.sample("cmshim_failures_total", &[&p.labels, &labels], reason.count);
        }
    }
}

/// The word as it stands in JSON.
fn word(what: Option<impl serde::Serialize>) -> String {
    let word = serde_json::to_value(what).ok();
    word.as_ref()
        .and_then(|w| w.as_str())
        .unwrap_or("unknown")
        .to_owned()
}

fn phases(text: &mut Text, all: &[Process]) {
    let name = "cmshim_phase_seconds";
    text.family(
        name,
        "histogram",
        "seconds",
        "How long each phase of a connection took",
    );
    for p in all {
        for phase in Phase::ALL {
            let times = p.stats.phase(*phase);
            if times.count() == 0 {
                continue;
            }
            let labels = [("phase", phase.name().to_owned())];
            // One bucket for each doubling. "Below" is taken for "not above": a value that is the limit to the ns
            // counts one bucket higher.
            let limits = std::iter::successors(Some(2 * MIN_NS), |ns| Some(2 * ns));
            for limit in limits.take_while(|ns| *ns <= MAX_NS) {
                let le = [("le", seconds(limit).to_string())];
                let below = times.below(limit);
                text.sample(&format!("{name}_bucket"), &[&p.labels, &labels, &le], below);
            }
            let le = [("le", "+Inf".to_owned())];
            text.sample(
                &format!("{name}_bucket"),
                &[&p.labels, &labels, &le],
                times.count(),
            );
            text.sample(
                &format!("{name}_count"),
                &[&p.labels, &labels],
                times.count(),
            );
            text.sample(
                &format!("{name}_sum"),
                &[&p.labels, &labels],
                seconds(times.sum_ns),
            );
        }
    }
}
