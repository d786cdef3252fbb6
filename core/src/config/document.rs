//! The documented default file.

use super::table::{Key, KEYS};

const HEAD: &str = "\
# Configuration of cmshim: /etc/cmshim.toml, or the file that CMSHIM_CONFIG names.
#
# Each key is shown with its default, and is off: take away the # before it to set it.
# Each key has a variable, which is stronger than the file: listen.min_backlog is
# CMSHIM_LISTEN_MIN_BACKLOG. `cmshim config` prints what holds, and where it comes from.
#
# Values for one program go into its own section, and are stronger than the general ones:
#
#     [program.rping]
#     log.level = \"debug\"
";

/// A TOML file with every key, its help, what is allowed and its default, all commented out.
pub fn default_file() -> String {
    let mut out = HEAD.to_owned();
    let mut section = "";
    for key in KEYS {
        if key.section() != section {
            section = key.section();
            out.push_str(&format!("\n[{section}]\n"));
        }
        out.push('\n');
        describe(&mut out, key);
    }
    out
}

fn describe(out: &mut String, key: &Key) {
    let text = format!("{}. {}", key.help, key.more);
    for line in wrapped(&text, 90) {
        out.push_str(&format!("# {line}\n"));
    }
    out.push_str(&format!("# Allowed: {}.\n", key.kind.allowed()));
    out.push_str(&format!("#{} = {}\n", key.leaf(), key.default_value()));
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
