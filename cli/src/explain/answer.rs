//! An answer, as text and as JSON.

use cmshim_core::codes::errno::Errno;
use cmshim_core::codes::event::CmEvent;
use cmshim_core::model::{Explanation, Severity};
use serde_json::{json, Value};

use super::errnos::questions;

pub enum Answer {
    /// "event", "async", "wc", "call" or "cmshim", and what it means.
    Explained(&'static str, Explanation),
    /// An event whose meaning hangs on a status that was not given.
    Event(&'static CmEvent),
    Errno(&'static Errno),
}

/// Answers come one under the other; a JSON list holds one object for each.
pub fn render(answers: &[Answer], as_json: bool) -> String {
    if as_json {
        let objects: Vec<Value> = answers.iter().map(object).collect();
        return format!("{:#}\n", json!(objects));
    }
    let texts: Vec<String> = answers.iter().map(text).collect();
    texts.join("\n")
}

fn text(answer: &Answer) -> String {
    match answer {
        Answer::Explained(_, explanation) => explained(explanation),
        Answer::Event(event) => format!(
            "{} {}\n  {}\n  With its status more can be said: cmshim explain --event {} -- STATUS\n",
            event.symbol,
            event.number,
            event.meaning,
            event.name.to_ascii_lowercase()
        ),
        Answer::Errno(errno) => bare_errno(errno),
    }
}

fn bare_errno(errno: &Errno) -> String {
    let mut out = format!(
        "errno {} {}\n  {}\n  It means more together with where it came from:\n",
        errno.number, errno.name, errno.text
    );
    for question in questions(errno) {
        out.push_str(&format!("    {question}\n"));
    }
    out
}

fn explained(e: &Explanation) -> String {
    let mut out = format!("{}\n  {}\n", e.code, e.summary);
    // Nobody is to blame for what is no trouble.
    let who = match e.severity {
        Severity::Error | Severity::Warn => e.who.phrase(),
        Severity::Info | Severity::Debug => "",
    };
    for (title, words) in [("Who", who), ("Cause", &e.cause), ("Next", &e.next)] {
        if !words.is_empty() {
            out.push_str(&format!("  {:6} {words}\n", format!("{title}:")));
        }
    }
    out
}

fn object(answer: &Answer) -> Value {
    match answer {
        Answer::Explained(kind, explanation) => {
            let mut object = json!(explanation);
            object["kind"] = json!(kind);
            object
        }
        Answer::Event(event) => json!({
            "kind": "event",
            "code": event.symbol,
            "summary": event.meaning,
            "numbers": {"event": event.number},
        }),
        Answer::Errno(errno) => json!({
            "kind": "errno",
            "code": errno.name,
            "summary": errno.text,
            "numbers": {"errno": errno.number},
            "ask": questions(errno),
        }),
    }
}
