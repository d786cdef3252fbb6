//! Names and strings in messages about TOML files.

/// A TOML string: quotes, with whatever cannot stand between them escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A foreign string in a message: quoted, so that it stays on one line, and cut when long.
pub(crate) fn shown(text: &str) -> String {
    const LIMIT: usize = 60;
    if text.chars().count() <= LIMIT {
        return quoted(text);
    }
    let head: String = text.chars().take(LIMIT).collect();
    format!("{}...", quoted(&head))
}

/// A foreign key in a message: bare where TOML allows that, else as [`shown`].
pub(crate) fn shown_key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 60 && name.chars().all(bare) {
        name.to_owned()
    } else {
        shown(name)
    }
}
