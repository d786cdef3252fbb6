//! Whatever a file or a variable holds, `load` answers, and soon.

use std::time::Duration;

use cmshim_core::config::{load, Input, KEYS, MAX_BYTES};

fn with_file(text: String) -> Input {
    Input {
        file: Some(("c.toml".into(), Ok(text))),
        program: vec!["rping".into()],
        ..Input::default()
    }
}

/// xorshift64, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

const PIECES: &[&str] = &[
    "[",
    "]",
    "=",
    ".",
    "\"",
    "'",
    "\n",
    "\\",
    "{",
    "}",
    ",",
    "#",
    "program",
    "log",
    "[[",
    "-1",
    "1e9",
    "0x",
    "ä",
    "\u{0}",
    "\u{feff}",
    "true",
    "2020-01-01",
    "\"\"\"",
    "_",
    "nan",
];

#[test]
fn damaged_files() {
    let keys: String = KEYS
        .iter()
        .map(|k| format!("{} = {}\n", k.name, k.default_value()))
        .collect();
    let text: Vec<char> = keys.chars().collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut broken, mut read) = (0, 0);
    for _ in 0..3000 {
        let mut damaged = text.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(damaged.len());
            let until = (at + random.below(4)).min(damaged.len());
            let piece = PIECES[random.below(PIECES.len())];
            damaged.splice(at..until, piece.chars());
        }
        let loaded = load(&with_file(damaged.into_iter().collect()));
        assert_eq!(loaded.settings.len(), KEYS.len());
        for problem in &loaded.problems {
            let line = problem.to_string();
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
        match loaded
            .problems
            .iter()
            .any(|p| p.what.contains("not valid TOML"))
        {
            true => broken += 1,
            false => read += 1,
        }
    }
    assert!(
        broken > 100 && read > 100,
        "one-sided: {broken} broken, {read} read"
    );
}

/// What this thread has used of a processor.
fn processor_time() -> Duration {
    let used = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(used.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn the_largest_files_are_read_in_time() {
    let fill = |unit: &str| unit.repeat(MAX_BYTES as usize / unit.len());
    let numbered: String = (0..60_000).map(|i| format!("wrong.k{i} = 1\n")).collect();
    let programs: String = (0..30_000)
        .map(|i| format!("[program.p{i}]\ndisable = 1\n"))
        .collect();
    let files = [
        ("one long key", format!("{} = 1", fill("k"))),
        ("deep dotted key", format!("{}k = 1", fill("k."))),
        ("deep header", format!("[{}k]", fill("k."))),
        ("deep list", format!("skip = {}", fill("["))),
        ("deep inline tables", fill("a={")),
        ("many unknown keys", numbered),
        ("many program sections", programs),
        ("many headers", fill("[[a]]\n")),
        ("long string", format!("log.file = \"{}\"", fill("x"))),
        ("long list", format!("skip = [{}]", fill("\"a\","))),
        ("comments", fill("#\n")),
        ("zero bytes", fill("\u{0}")),
        ("open strings", fill("\"\"\"a")),
    ];
    for (name, text) in files {
        let start = processor_time();
        let loaded = load(&with_file(text));
        let took = processor_time() - start;
        let line = loaded
            .problems
            .first()
            .map_or(String::new(), ToString::to_string);
        println!(
            "{name}: {took:?}: {} problems, {line:.100}",
            loaded.problems.len()
        );
        assert!(loaded.problems.len() <= 21, "{name}");
        // The longest lists all known keys.
        assert!(line.len() < 1000, "{name}: {} bytes", line.len());
        // Unoptimised code; what is wrong takes minutes. How busy the machine is does not count.
        assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    }
}
