//! The report: one screen.

use std::time::Duration;

use cmshim_core::report::duration::human;
use cmshim_core::stats::{Counter, Phase, What, RUNNING};

use super::sum::Sum;
use super::{failures, saved, unanswered, Subject};
use crate::stats::open::Found;
use cmshim_core::text::escaped;

/// Columns of a terminal, and of the words at the left.
const WIDTH: usize = 80;
const LEFT: usize = 14;

/// `hidden` files could not be read; `left` still run.
pub fn report(
    subject: &Subject,
    took: Duration,
    sum: &Sum,
    hidden: usize,
    left: &[String],
) -> String {
    let mut out = format!(
        "cmshim report: {}, process {}, ran {}\n",
        escaped(&subject.program),
        subject.pid,
        human(took)
    );
    if sum.files.is_empty() {
        part(&mut out, "nothing", &nothing(hidden, left));
        still_run(&mut out, left);
        return out;
    }
    if let Some(who) = processes(sum) {
        part(&mut out, "processes", &who);
    }
    part(&mut out, "connections", &connections(sum));
    match failures::lines(sum).as_slice() {
        [] => part(&mut out, "failed", "nothing"),
        lines => parts(&mut out, "failed", lines),
    }
    parts(&mut out, "warned", &failures::warnings(sum));
    if let Some(call) = sum.own.and_then(inside) {
        part(&mut out, "ended", &call);
    }
    still_run(&mut out, left);
    phases(&mut out, sum);
    part(&mut out, "pool", &saved::pool(sum));
    part(&mut out, "batching", &saved::batching(sum));
    if let Some(file) = sum.most_telling() {
        part(
            &mut out,
            "more",
            &format!(
                "cmshim events {}",
                escaped(&file.path.display().to_string())
            ),
        );
    }
    out
}

fn nothing(hidden: usize, left: &[String]) -> String {
    let hidden = match hidden {
        0 => String::new(),
        n => format!(", or its file is among {n} that only their users may read"),
    };
    let none = match left {
        [] => "no RDMA call was seen: the program made none, the library has no effect in it, or statistics are off",
        _ => "no RDMA call was seen before the program ended",
    };
    format!("{none}{hidden}")
}

/// What went into the background goes on, and nobody waits for it.
fn still_run(out: &mut String, left: &[String]) {
    if !left.is_empty() {
        let who = escaped(&listed(left));
        let told = format!("{who}; what they do from now on is not told here: cmshim stat --all");
        part(out, "still run", &told);
    }
}

/// The first four, and how many more.
fn listed(names: &[String]) -> String {
    let (first, rest) = names.split_at(names.len().min(4));
    match rest.len() {
        0 => first.join(", "),
        n => format!("{} and {n} more", first.join(", ")),
    }
}

/// Several, or another one than the program itself.
fn processes(sum: &Sum) -> Option<String> {
    let live = sum.files.iter().filter(|f| f.alive).count();
    if sum.files.len() == 1 && sum.own.is_some() && live == 0 {
        return None;
    }
    let names: Vec<String> = sum.files.iter().map(|f| named(f)).collect();
    let live = match live {
        0 => String::new(),
        n => format!("; {n} of them still live, and go on counting"),
    };
    Some(format!("all of these together: {}{live}", listed(&names)))
}

fn named(file: &Found) -> String {
    format!("{} {}", file.stats.header.program, file.stats.header.pid)
}

fn connections(sum: &Sum) -> String {
    let count = |counter| sum.counter(counter);
    let mut parts = vec![
        format!("{} made", count(Counter::ConnectionsMade)),
        format!("{} failed", count(Counter::ConnectionsFailed)),
        format!("{} open at the end", count(Counter::ConnectionsOpen)),
    ];
    match unanswered::count(sum) {
        0 => {}
        1 => parts.push("1 connect without an answer".to_owned()),
        n => parts.push(format!("{n} connects without an answer")),
    }
    for (counter, words) in [
        (Counter::RequestsTaken, "requests taken"),
        (Counter::RequestsRefused, "refused by the program"),
        (Counter::TenantsRefused, "refused by the tenant check"),
        (
            Counter::TenantsObserved,
            "that the tenant check only observed",
        ),
        (Counter::EventsUnacked, "events not acked"),
    ] {
        match count(counter) {
            0 => {}
            n => parts.push(format!("{n} {words}")),
        }
    }
    parts.join(", ")
}

/// The call that the dead process had not come back from.
fn inside(own: &Found) -> Option<String> {
    let last = own.stats.records.last().filter(|_| !own.alive)?;
    match last.what {
        What::Call(entry) if last.status == RUNNING => {
            let peer = last.peer.address();
            let peer = peer
                .map(|peer| format!(", peer {peer}"))
                .unwrap_or_default();
            Some(format!("inside {}{peer}", entry.name()))
        }
        _ => None,
    }
}

fn phases(out: &mut String, sum: &Sum) {
    let mut name = "phases";
    for phase in Phase::ALL {
        let times = sum.phase(*phase);
        let Some(p50) = times.quantile_ns(0.5) else {
            continue;
        };
        let p99 = times.quantile_ns(0.99).unwrap_or(p50);
        let [p50, p99, max] = [p50, p99, times.max_ns].map(|ns| human(Duration::from_nanos(ns)));
        let line = format!(
            "{:21} {:>6} x  p50 {p50:>6}  p99 {p99:>6}  max {max:>6}",
            phase.name(),
            times.count()
        );
        part(out, name, &line);
        name = "";
    }
}

/// A word at the left, and text beside it; long text goes on below.
/// One below the other.
fn parts(out: &mut String, name: &str, lines: &[String]) {
    for (n, line) in lines.iter().enumerate() {
        part(out, if n == 0 { name } else { "" }, line);
    }
}

fn part(out: &mut String, name: &str, text: &str) {
    let (first, next) = (format!("  {name:<12}"), " ".repeat(LEFT));
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&first)
        .subsequent_indent(&next)
        .break_words(false);
    out.push_str(&textwrap::fill(text, options));
    out.push('\n');
}
