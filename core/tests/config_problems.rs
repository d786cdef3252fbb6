//! Each wrong thing is named with its place and what would be right, and a default is used.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use cmshim_core::config::{load, parse_setting, Config, Input, Level, Loaded, Value};

fn with_file(text: &str) -> Loaded {
    load(&Input {
        file: Some(("c.toml".into(), Ok(text.into()))),
        ..Input::default()
    })
}

fn with_var(name: &str, value: &str) -> Loaded {
    load(&Input {
        vars: vec![(name.into(), value.into())],
        ..Input::default()
    })
}

/// The only problem, as a line; everything else must be as by default.
fn line_of(loaded: &Loaded) -> String {
    assert_eq!(loaded.problems.len(), 1, "{:?}", loaded.problems);
    assert_eq!(loaded.config, Config::default());
    let line = loaded.problems[0].to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

/// The line without the list of all names, which `the_names_are_listed` looks at.
fn without_names(line: &str) -> String {
    match line.split_once("; known: ") {
        Some((start, _)) => format!("{start}; known: ..."),
        None => line.to_owned(),
    }
}

fn file_line(text: &str) -> String {
    line_of(&with_file(text))
}

fn var_line(name: &str, value: &str) -> String {
    line_of(&with_var(name, value))
}

#[test]
fn wrong_values_in_a_file() {
    let table = [
        (
            "[listen]\nmin_backlog = 70000\n",
            "c.toml:2:15: listen.min_backlog: 70000 is out of range; \
             allowed: a whole number from 0 to 65535; used: 128 (default)",
        ),
        (
            "listen.min_backlog = -1",
            "c.toml:1:22: listen.min_backlog: -1 is negative; \
             allowed: a whole number from 0 to 65535; used: 128 (default)",
        ),
        (
            "reasons.watchdog_ms = 99999999999999999999999999999999999999999999",
            "c.toml:1:23: reasons.watchdog_ms: the number is out of range; \
             allowed: a whole number from 0 to 600000 ms; used: 1000 (default)",
        ),
        (
            "reasons.watchdog_ms = 1.5",
            "c.toml:1:23: reasons.watchdog_ms: this is a number with a point; \
             allowed: a whole number from 0 to 600000 ms; used: 1000 (default)",
        ),
        (
            "reasons.watchdog_ms = \"5\"",
            "c.toml:1:23: reasons.watchdog_ms: \"5\" is a string; \
             allowed: a whole number from 0 to 600000 ms; used: 1000 (default)",
        ),
        (
            "disable = \"yes\"",
            "c.toml:1:11: disable: \"yes\" is a string; allowed: true or false; used: false (default)",
        ),
        (
            "disable = 1",
            "c.toml:1:11: disable: this is a whole number; \
             allowed: true or false; used: false (default)",
        ),
        (
            "log.format = \"xml\"",
            "c.toml:1:14: log.format: \"xml\" is not one of the words; \
             allowed: \"text\", \"json\"; used: \"text\" (default)",
        ),
        (
            "threads = true",
            "c.toml:1:11: threads: this is true or false; \
             allowed: \"on\", \"off\"; used: \"on\" (default)",
        ),
        (
            "log.file = \"a\\u0000b\"",
            "c.toml:1:12: log.file: a file name cannot hold a zero byte; \
             allowed: a file name, %p in it is the process id, or \"\" for none; used: \"\" (default)",
        ),
        (
            "skip = \"sshd\"",
            "c.toml:1:8: skip: \"sshd\" is a string; \
             allowed: a list of program names, each without a directory; used: [] (default)",
        ),
        (
            "skip = [\"a\", 1]",
            "c.toml:1:8: skip: this is a whole number in the list; \
             allowed: a list of program names, each without a directory; used: [] (default)",
        ),
        (
            "skip = [\"/usr/bin/a\"]",
            "c.toml:1:8: skip: \"/usr/bin/a\" has a directory in it; \
             allowed: a list of program names, each without a directory; used: [] (default)",
        ),
    ];
    for (text, line) in table {
        assert_eq!(file_line(text), line);
    }
}

#[test]
fn unknown_and_misplaced_keys_in_a_file() {
    let table = [
        ("[lisen]\nmin_backlog = 1", "c.toml:1:2: lisen: no such key; did you mean listen?"),
        ("[log]\nlevle = \"off\"", "c.toml:2:1: log.levle: no such key; did you mean log.level?"),
        ("min_backlog = 4", "c.toml:1:1: min_backlog: no such key; did you mean listen.min_backlog?"),
        ("colour = 4", "c.toml:1:1: colour: no such key; known: ..."),
        ("\"a\\nb\" = 4", "c.toml:1:1: \"a\\u000Ab\": no such key; known: ..."),
        (
            "\"log.level\" = \"off\"",
            "c.toml:1:1: \"log.level\": no such key (a name in quotes is one name); \
             write log.level without quotes",
        ),
        (
            "log = 3",
            "c.toml:1:1: log: this is a whole number, but this is a section; \
             write [log] once and its keys beneath",
        ),
        (
            "[[log]]\nlevel = \"off\"",
            "c.toml:1:3: log: this is a list, but this is a section; \
             write [log] once and its keys beneath",
        ),
        (
            "[listen.min_backlog]\nx = 1",
            "c.toml:1:1: listen.min_backlog: this is a section; \
             allowed: a whole number from 0 to 65535; used: 128 (default)",
        ),
        (
            "[program.\"/usr/bin/rping\"]\ndisable = true",
            "c.toml:1:10: program.\"/usr/bin/rping\": a path, but programs are known by their names; \
             write [program.rping]",
        ),
        ("program = 1", "c.toml:1:1: program: this is a whole number; write [program.NAME] and its keys beneath"),
        (
            "[program]\nrping = 1",
            "c.toml:2:1: program.rping: this is a whole number, not a program's section; \
             write [program.NAME] and its keys beneath",
        ),
        (
            "[program.rping]\nskip = [\"a\"]",
            "c.toml:2:1: program.rping.skip: cannot stand in a program's section; \
             set it at the top of the file",
        ),
        (
            "[program.rping]\nlog.colour = 1",
            "c.toml:2:5: program.rping.log.colour: no such key; known: ...",
        ),
        (
            "[program.a]\nprogram.b.disable = true",
            "c.toml:2:1: program.a.program: no such key; known: ...",
        ),
    ];
    for (text, line) in table {
        assert_eq!(without_names(&file_line(text)), line);
    }
}

#[test]
fn the_names_are_listed() {
    let line = file_line("colour = 4");
    assert!(line.contains("; known: disable, skip, threads, "), "{line}");
    assert!(
        line.ends_with(", events, tenant"),
        "sections, not all their keys: {line}"
    );
    let of_section = file_line("[log]\ncolour = 4");
    assert!(
        of_section.ends_with("; known: log.file, log.level, log.format"),
        "{of_section}"
    );
    let own = file_line("[program.rping]\ncolour = 4");
    assert!(own.contains("; known: disable, threads, "), "{own}");
    let line = var_line("CMSHIM_COLOUR", "x");
    assert!(line.contains("; known: CMSHIM_DISABLE, "), "{line}");
    assert!(line.ends_with(", CMSHIM_CONFIG, CMSHIM_LIBRARY"), "{line}");
}

#[test]
fn file_names_that_nobody_means() {
    for (name, what) in [
        ("~/x", "~ is not expanded here"),
        ("~", "~ is not expanded here"),
        ("/tmp/%q", "%q means nothing, only %p does"),
        ("/tmp/%p.%d", "%d means nothing"),
    ] {
        let line = var_line("CMSHIM_LOG_FILE", name);
        assert!(line.contains(what), "{line}");
        assert!(line.contains("; allowed: a file name, %p in it"), "{line}");
        let line = file_line(&format!("log.file = \"{name}\""));
        assert!(line.contains(what), "{line}");
    }
    for name in ["/tmp/a~b", "/tmp/%p", "100%", "/tmp/5%-%p"] {
        let loaded = with_var("CMSHIM_LOG_FILE", name);
        assert_eq!(loaded.problems, []);
        assert_eq!(loaded.config.log.file.as_deref(), Some(name));
    }
}

#[test]
fn another_programs_section_is_checked_too() {
    let text = "[program.rping]\nlog.level = \"loud\"\n";
    let other = file_line(text);
    assert_eq!(
        other,
        "c.toml:2:13: program.rping.log.level: \"loud\" is not one of the words; \
         allowed: \"off\", \"error\", \"warn\", \"info\", \"debug\""
    );
    let own = load(&Input {
        file: Some(("c.toml".into(), Ok(text.into()))),
        program: vec!["rping".into()],
        ..Input::default()
    });
    assert_eq!(line_of(&own), format!("{other}; used: \"warn\" (default)"));
}

#[test]
fn a_broken_file_is_one_problem_and_variables_still_count() {
    let texts = [
        ("log.level = \"off\"\nlisten = {", 2),
        ("a = 1\n\nb = = 2\n", 3),
        ("disable = true\ndisable = true\n", 2),
        ("[log]\nlevel=\"off\"\n[log]\nfile=\"x\"\n", 3),
        ("log = 1\n[log]\nlevel=\"off\"\n", 2),
        ("disable = TRUE\n", 1),
        ("\u{0}", 1),
        ("disable", 1),
    ];
    for (text, number) in texts {
        let loaded = load(&Input {
            file: Some(("c.toml".into(), Ok(text.into()))),
            vars: vec![("CMSHIM_LOG_LEVEL".into(), "debug".into())],
            ..Input::default()
        });
        let [problem] = &loaded.problems[..] else {
            panic!("{text:?}: {:?}", loaded.problems);
        };
        assert_eq!(problem.line, Some(number), "{text:?}: {problem}");
        assert!(problem.column.is_some(), "{problem}");
        let line = problem.to_string();
        assert!(line.contains("not valid TOML: "), "{line}");
        assert!(line.ends_with("; nothing of this file is used"), "{line}");
        assert!(!line.contains('\n'));
        assert_eq!(loaded.config.log.level, Level::Debug);
        assert!(!loaded.config.disable);
    }
}

#[test]
fn empty_files_and_odd_white_space_are_fine() {
    for text in [
        "",
        "\n\n",
        "# only a comment",
        "\u{feff}",
        "[log]\r\nlevel = \"warn\"\r\n",
    ] {
        assert_eq!(with_file(text).problems, [], "{text:?}");
    }
}

#[test]
fn an_unreadable_file_is_named() {
    let loaded = load(&Input {
        file: Some(("/x".into(), Err("no such file".into()))),
        ..Input::default()
    });
    assert_eq!(
        line_of(&loaded),
        "/x: no such file; nothing of this file is used"
    );
}

#[test]
fn columns_count_characters() {
    let problems = with_file("log = { \"äöü\" = 1, levle = 1 }").problems;
    assert_eq!(
        without_names(&problems[0].to_string()),
        "c.toml:1:9: log.\"äöü\": no such key; known: ..."
    );
    assert!(problems[1]
        .to_string()
        .starts_with("c.toml:1:20: log.levle: "));
}

#[test]
fn wrong_variables() {
    let table = [
        (
            ("CMSHIM_LISTEN_MIN_BACKLOG", "many"),
            "CMSHIM_LISTEN_MIN_BACKLOG: \"many\" is not a whole number; \
             allowed: a whole number from 0 to 65535; used: 128 (default)",
        ),
        (
            ("CMSHIM_LISTEN_MIN_BACKLOG", ""),
            "CMSHIM_LISTEN_MIN_BACKLOG: \"\" is not a whole number; \
             allowed: a whole number from 0 to 65535; used: 128 (default)",
        ),
        (
            ("CMSHIM_LISTEN_MIN_BACKLOG", "-5"),
            "CMSHIM_LISTEN_MIN_BACKLOG: -5 is negative; \
             allowed: a whole number from 0 to 65535; used: 128 (default)",
        ),
        (
            ("CMSHIM_DISABLE", "maybe"),
            "CMSHIM_DISABLE: \"maybe\" is neither; allowed: true or false; used: false (default)",
        ),
        (
            ("CMSHIM_LOG_LEVEL", "WARNING"),
            "CMSHIM_LOG_LEVEL: \"WARNING\" is not one of the words; \
             allowed: \"off\", \"error\", \"warn\", \"info\", \"debug\"; used: \"warn\" (default)",
        ),
        (
            ("CMSHIM_LOG_LEVLE", "x"),
            "CMSHIM_LOG_LEVLE: no such setting; did you mean CMSHIM_LOG_LEVEL?",
        ),
        (
            ("CMSHIM_log_level", "off"),
            "CMSHIM_log_level: no such setting; did you mean CMSHIM_LOG_LEVEL?",
        ),
        (
            ("CMSHIM_CONFG", "x"),
            "CMSHIM_CONFG: no such setting; did you mean CMSHIM_CONFIG?",
        ),
        (
            ("CMSHIM_COLOUR", "x"),
            "CMSHIM_COLOUR: no such setting; known: ...",
        ),
        (("CMSHIM_", "x"), "CMSHIM_: no such setting; known: ..."),
    ];
    for ((name, value), line) in table {
        assert_eq!(without_names(&var_line(name, value)), line);
    }
}

#[test]
fn a_huge_number_in_a_variable() {
    let line = var_line("CMSHIM_REASONS_REPEAT_S", &"9".repeat(500));
    assert!(
        line.contains("is out of range; allowed: a whole number from 0 to 3600 s"),
        "{line}"
    );
    assert!(line.len() < 250, "{line}");
}

#[test]
fn variables_take_the_usual_spellings() {
    for (text, value) in [("1", true), ("ON", true), ("yes", true), (" false ", false)] {
        let loaded = with_var("CMSHIM_DISABLE", text);
        assert_eq!(loaded.problems, []);
        assert_eq!(loaded.config.disable, value);
    }
    for level in ["INFO", "Info", " info "] {
        let loaded = with_var("CMSHIM_LOG_LEVEL", level);
        assert_eq!(loaded.problems, []);
        assert_eq!(loaded.config.log.level, Level::Info);
    }
    let loaded = with_var("CMSHIM_SKIP", " sshd, a b ,,");
    assert_eq!(loaded.config.skip, ["sshd", "a b"]);
}

#[test]
fn variables_that_are_not_utf8() {
    let bad = || OsString::from_vec(b"\xff\xfe".to_vec());
    let loaded = load(&Input {
        vars: vec![("CMSHIM_LOG_LEVEL".into(), bad()), ("HOME".into(), bad())],
        ..Input::default()
    });
    assert!(line_of(&loaded).starts_with("CMSHIM_LOG_LEVEL: \"\u{fffd}\u{fffd}\" is not UTF-8; "));
    let loaded = load(&Input {
        vars: vec![(OsString::from_vec(b"CMSHIM_\xff".to_vec()), "x".into())],
        ..Input::default()
    });
    assert_eq!(
        without_names(&line_of(&loaded)),
        "\"CMSHIM_\u{fffd}\": no such setting; known: ..."
    );
}

#[test]
fn a_variable_set_twice_counts_once() {
    let loaded = load(&Input {
        vars: vec![
            ("CMSHIM_LOG_LEVEL".into(), "info".into()),
            ("CMSHIM_LOG_LEVEL".into(), "off".into()),
        ],
        ..Input::default()
    });
    assert_eq!(loaded.config.log.level, Level::Info);
    let line = loaded.problems[0].to_string();
    assert_eq!(line, "CMSHIM_LOG_LEVEL: is set twice; the first one counts");
}

#[test]
fn a_wrong_variable_leaves_the_files_value() {
    let loaded = load(&Input {
        file: Some(("c.toml".into(), Ok("listen.min_backlog = 7".into()))),
        vars: vec![("CMSHIM_LISTEN_MIN_BACKLOG".into(), "x".into())],
        ..Input::default()
    });
    assert_eq!(loaded.config.listen.min_backlog, 7);
    assert!(loaded.problems[0]
        .to_string()
        .ends_with("; used: 7 (c.toml:1)"));
}

#[test]
fn many_problems_are_counted() {
    let text: String = (0..5000).map(|i| format!("wrong{i} = 1\n")).collect();
    let loaded = with_file(&text);
    assert_eq!(loaded.problems.len(), 21);
    assert_eq!(loaded.problems[0].line, Some(1));
    assert_eq!(loaded.problems[20].to_string(), "c.toml: and 4980 more");
}

#[test]
fn settings_on_a_command_line() {
    let good = parse_setting("listen.min_backlog", "7").unwrap();
    assert_eq!(
        good,
        ("CMSHIM_LISTEN_MIN_BACKLOG".to_owned(), Value::Int(7))
    );
    let line = |key, text| parse_setting(key, text).unwrap_err().to_string();
    assert_eq!(
        line("listen.min_backlog", "x"),
        "listen.min_backlog: \"x\" is not a whole number; allowed: a whole number from 0 to 65535"
    );
    assert_eq!(
        line("log.levle", "x"),
        "log.levle: no such key; did you mean log.level?"
    );
    assert!(line("colour", "x").starts_with("colour: no such key; known: disable, skip, "));
}
