//! The section SYNOPSIS, in which each option stands with its value.

use clap::{Arg, ArgAction, Command};
use clap_mangen::roff::{bold, italic, roman, Inline, Roff};

pub fn section(command: &Command, name: &str) -> Roff {
    let mut words = vec![bold(name.replace('-', " "))];
    for option in command.get_opts().chain(flags(command)) {
        let (open, close) = match option.is_required_set() {
            true => (" ", ""),
            false => (" [", "]"),
        };
        words.push(roman(open));
        words.extend(with_value(option));
        words.push(roman(close));
    }
    if command.has_subcommands() {
        words.extend([roman(" "), italic("COMMAND"), roman(" ...")]);
    }
    for positional in command.get_positionals() {
        words.extend(operand(positional));
    }
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    roff.text(words);
    roff
}

/// Options without a value; those of help stand in OPTIONS.
fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    let no_value = |arg: &&Arg| matches!(arg.get_action(), ArgAction::SetTrue);
    command.get_arguments().filter(no_value)
}

fn with_value(option: &Arg) -> Vec<Inline> {
    let long = option.get_long().map(|long| format!("--{long}"));
    let mut words = vec![bold(long.unwrap_or_default())];
    if option.get_action().takes_values() {
        words.extend([roman(" "), italic(value_name(option))]);
    }
    words
}

fn operand(positional: &Arg) -> Vec<Inline> {
    let name = italic(value_name(positional));
    let (open, close) = if positional.is_required_set() {
        (" ", "")
    } else {
        (" [", "]")
    };
    let more = if positional.is_trailing_var_arg_set() {
        vec![roman(" ["), italic("ARGUMENT"), roman("]...")]
    } else {
        Vec::new()
    };
    let mut words = vec![roman(open), name, roman(close)];
    words.extend(more);
    words
}

fn value_name(arg: &Arg) -> String {
    match arg.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => arg.get_id().as_str().to_ascii_uppercase(),
    }
}
