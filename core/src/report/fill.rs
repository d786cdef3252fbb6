//! The next command, ready to paste: placeholders become this incident's own values.

use super::{address, Report};

/// PEER, PORT, HERE and PID in the `next` of an explanation, as far as they are known.
pub(super) fn next(r: &Report) -> String {
    let mut out = r.explanation.next.clone();
    if let Some(dst) = r.dst {
        out = out.replace(
            "ip route get PEER",
            &format!("ip route get {}", address::route(dst)),
        );
        out = replace_word(&out, "PEER", &address::host(dst));
        if dst.port() != 0 {
            out = replace_word(&out, "PORT", &dst.port().to_string());
        }
    }
    if let Some(src) = r.src {
        out = out.replace("ip route get HERE", &format!("ip route get {}", src.ip()));
        out = replace_word(&out, "HERE", &address::host(src));
    }
    replace_word(&out, "PID", &r.pid.to_string())
}

/// Replaces `word` where it stands alone, not inside a longer name.
fn replace_word(text: &str, word: &str, value: &str) -> String {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len() + value.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        out.push_str(before);
        let alone = !out.chars().next_back().is_some_and(part_of_name)
            && !after.chars().next().is_some_and(part_of_name);
        out.push_str(if alone { value } else { word });
        rest = after;
    }
    out.push_str(rest);
    out
}
