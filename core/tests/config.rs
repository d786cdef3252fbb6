//! The table against the struct, and the ranks of defaults, file, programs and variables.

use std::time::Duration;

use cmshim_core::config::{
    default_file, load, Config, Format, Input, Kind, Level, Loaded, Origin, Taker, Value, KEYS,
};

fn with_file(text: &str) -> Loaded {
    load(&input(text, &[], &[]))
}

fn input(text: &str, vars: &[(&str, &str)], program: &[&str]) -> Input {
    Input {
        file: Some(("/etc/cmshim.toml".into(), Ok(text.into()))),
        vars: vars.iter().map(|(n, v)| (n.into(), v.into())).collect(),
        program: program.iter().map(|&p| p.to_owned()).collect(),
        ..Input::default()
    }
}

fn setting<'l>(loaded: &'l Loaded, key: &str) -> (&'l Value, &'l Origin) {
    let found = loaded.settings.iter().find(|s| s.key == key).unwrap();
    (&found.value, &found.origin)
}

/// Values at the edges of what a key takes, as a variable writes them.
fn edges(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Bool => vec!["true".into(), "false".into()],
        Kind::Choice(words) => words.iter().map(|&w| w.to_owned()).collect(),
        Kind::Int { min, max, .. } => vec![min.to_string(), max.to_string()],
        Kind::Directory => vec![String::new(), "/run/a b".into()],
        Kind::File => vec![String::new(), "/etc/a b".into()],
        Kind::Tenant => vec![String::new(), "ä b".into(), "x".repeat(64)],
        Kind::CgroupPattern => vec![String::new(), "/*/{tenant}.slice/**".into()],
        Kind::Path => vec![String::new(), "/a b/c:d".into(), "x".repeat(4095)],
        Kind::Names => vec![String::new(), "a,b c".into()],
        Kind::Cpus => vec![
            String::new(),
            "0".into(),
            "5,6".into(),
            "0-3,1023".into(),
            "device".into(),
        ],
    }
}

/// A row without a field or a field without a row makes `load` panic; so does a range or a word
/// that the field's type does not take.
#[test]
fn table_and_struct_agree() {
    for key in KEYS {
        for text in edges(&key.kind) {
            let loaded = load(&Input {
                vars: vec![(key.variable().into(), text.clone().into())],
                ..Input::default()
            });
            assert_eq!(loaded.problems, [], "{} = {text:?}", key.name);
            let (_, origin) = setting(&loaded, key.name);
            let name = key.variable();
            assert_eq!(*origin, Origin::Var { name });
        }
    }
}

#[test]
fn every_row_is_well_formed() {
    let mut names = Vec::new();
    let mut variables = Vec::new();
    let mut sections: Vec<&str> = Vec::new();
    for key in KEYS {
        let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
        assert!(key.name.chars().all(ok), "{}", key.name);
        assert!(!names.contains(&key.name), "{} twice", key.name);
        names.push(key.name);
        // a.b_c and a.b.c would have one variable.
        assert!(!variables.contains(&key.variable()), "{}", key.variable());
        variables.push(key.variable());
        if sections.last() != Some(&key.section()) {
            assert!(
                !sections.contains(&key.section()),
                "{} stands apart",
                key.name
            );
            sections.push(key.section());
        }
        assert!(
            !key.help.is_empty() && !key.help.ends_with('.'),
            "{}",
            key.name
        );
        assert!(
            key.more.is_empty() || key.more.ends_with('.'),
            "{}",
            key.name
        );
    }
    assert_eq!(sections[0], "", "keys without a section come first");
}

#[test]
fn the_rule_of_variables() {
    let key = KEYS
        .iter()
        .find(|k| k.name == "listen.min_backlog")
        .unwrap();
    assert_eq!(key.variable(), "CMSHIM_LISTEN_MIN_BACKLOG");
    assert_eq!((key.section(), key.leaf()), ("listen", "min_backlog"));
}

#[test]
fn built_in_defaults() {
    let config = Config::default();
    assert!(!config.disable && config.skip.is_empty() && config.threads);
    assert_eq!(config.log.file, None);
    assert_eq!(config.log.level, Level::Warn);
    assert_eq!(config.log.format, Format::Text);
    assert!(config.reasons.enable);
    assert_eq!(config.reasons.early_warning, Duration::from_secs(5));
    assert_eq!(config.reasons.watchdog, Duration::from_secs(1));
    assert_eq!(config.reasons.short_lived, Duration::from_secs(1));
    assert_eq!(config.reasons.slow_connect, Duration::from_secs(4));
    assert_eq!(config.reasons.repeat, Duration::from_secs(10));
    assert_eq!(config.reasons.private_data_max, 64);
    assert_eq!(config.listen.min_backlog, 128);
}

#[test]
fn a_file_sets_every_kind() {
    let loaded = with_file(
        "disable = true\nskip = [\"sshd\", \"a b\"]\nthreads = \"off\"\n\
         log = { file = \"/var/log/x.%p\", level = \"debug\", format = \"json\" }\n\
         [reasons]\nenable = false\nrepeat_s = 0\nearly_warning_ms = 0x10\n[listen]\nmin_backlog = 1_000\n",
    );
    assert_eq!(loaded.problems, []);
    let config = &loaded.config;
    assert!(config.disable && !config.threads && !config.reasons.enable);
    assert_eq!(config.skip, ["sshd", "a b"]);
    assert_eq!(config.log.path_for(7), Some("/var/log/x.7".into()));
    assert_eq!(
        (config.log.level, config.log.format),
        (Level::Debug, Format::Json)
    );
    assert_eq!(config.reasons.repeat, Duration::ZERO);
    assert_eq!(config.reasons.early_warning, Duration::from_millis(16));
    assert_eq!(config.listen.min_backlog, 1000);
}

#[test]
fn variables_are_stronger_than_the_file() {
    let text = "[log]\nlevel = \"info\"\nformat = \"json\"\n";
    let loaded = load(&input(
        text,
        &[("CMSHIM_LOG_LEVEL", "error"), ("PATH", "/bin")],
        &[],
    ));
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.log.level, Level::Error);
    assert_eq!(
        setting(&loaded, "log.level").1.to_string(),
        "CMSHIM_LOG_LEVEL"
    );
    assert_eq!(
        setting(&loaded, "log.format").1.to_string(),
        "/etc/cmshim.toml:3"
    );
    assert_eq!(setting(&loaded, "log.file").1, &Origin::Default);
}

#[test]
fn reserved_variables_are_no_problem() {
    let vars = [
        ("CMSHIM_CONFIG", "/x"),
        ("CMSHIM_LIBRARY", "/y"),
        ("CMSHIM", "/z"),
    ];
    assert_eq!(load(&input("", &vars, &[])).problems, []);
}

const PROGRAMS: &str = "\
log.level = \"error\"
[program.rping]
log.level = \"debug\"
[program.\"my sqld\".log]
level = \"off\"
[program.\"my sqld\".listen]
min_backlog = 9
";

#[test]
fn a_programs_section_counts_for_it_only() {
    let level = |program: &[&str]| load(&input(PROGRAMS, &[], program)).config.log.level;
    assert_eq!(level(&[]), Level::Error);
    assert_eq!(level(&["ls"]), Level::Error);
    assert_eq!(level(&["rping"]), Level::Debug);
    assert_eq!(level(&["my sqld"]), Level::Off);
    let loaded = load(&input(PROGRAMS, &[], &["my sqld"]));
    assert_eq!(loaded.config.listen.min_backlog, 9);
    let origin = setting(&loaded, "log.level").1.to_string();
    assert_eq!(origin, "/etc/cmshim.toml:5 [program.\"my sqld\"]");
    let vars = [("CMSHIM_LOG_LEVEL", "info")];
    assert_eq!(
        load(&input(PROGRAMS, &vars, &["rping"])).config.log.level,
        Level::Info
    );
}

#[test]
fn the_first_name_of_a_program_is_the_strongest() {
    let level = |program: &[&str]| load(&input(PROGRAMS, &[], program)).config.log.level;
    assert_eq!(level(&["rping", "my sqld"]), Level::Debug);
    assert_eq!(level(&["my sqld", "rping"]), Level::Off);
}

#[test]
fn skip_names_the_program() {
    let skipped = |program: &[&str]| {
        let text = "skip = [\"sshd\", \"a-program-with-a-long-name\"]";
        load(&input(text, &[], program)).skipped()
    };
    assert!(skipped(&["sshd"]));
    assert!(skipped(&["python3", "sshd"]));
    assert!(!skipped(&["ssh"]) && !skipped(&[]));
    // What /proc/PID/comm shows of the long name: 15 bytes.
    assert!(skipped(&["a-program-with-"]));
    assert!(!skipped(&["a-program"]));
    assert!(!load(&input("disable = true", &[], &[])).active());
}

#[test]
fn the_default_file_has_no_problem() {
    let text = default_file();
    let loaded = with_file(&text);
    assert_eq!(loaded.problems, []);
    assert!(loaded.settings.iter().all(|s| s.origin == Origin::Default));
    assert!(text.lines().all(|line| line.len() <= 100));
}

#[test]
fn the_default_file_names_every_default() {
    let on: String = default_file()
        .lines()
        .map(|l| match l.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') && rest.contains(" = ") => format!("{rest}\n"),
            _ => format!("{l}\n"),
        })
        .collect();
    let loaded = with_file(&on);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config, Config::default());
    for setting in &loaded.settings {
        assert!(
            matches!(setting.origin, Origin::File { .. }),
            "{}",
            setting.key
        );
    }
}

/// The lab plays programs in the modes auto, thread and off: inline has to be what auto is.
#[test]
fn who_takes_events() {
    let taker = |text: &str| {
        let loaded = with_file(text);
        assert!(loaded.problems.is_empty(), "{text}");
        loaded.config.events_taker()
    };
    assert_eq!(taker(""), Taker::Inline);
    for (text, expected) in [
        ("events.mode = \"inline\"", Taker::Inline),
        ("events.mode = \"off\"", Taker::Librdmacm),
        ("events.mode = \"thread\"", Taker::Thread),
        ("events.cpus = \"0\"", Taker::Thread),
        ("events.busy_poll_us = 1", Taker::Thread),
        ("tenant.policy = \"/p.toml\"", Taker::Thread),
        (
            "tenant.policy = \"/p.toml\"\nthreads = \"off\"",
            Taker::Inline,
        ),
        (
            "tenant.policy = \"/p.toml\"\nevents.mode = \"off\"",
            Taker::Librdmacm,
        ),
        (
            "events.mode = \"inline\"\nevents.cpus = \"0\"",
            Taker::Inline,
        ),
        ("events.mode = \"thread\"\nthreads = \"off\"", Taker::Inline),
    ] {
        assert_eq!(taker(text), expected, "{text}");
    }
}
