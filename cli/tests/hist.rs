//! `cmshim hist` on made-up files.

mod common;

use std::process::Command;

use cmshim_core::stats::Phase;
use common::stats_file::StatsFile;
use common::{ask, Scratch};

fn example() -> StatsFile {
    StatsFile::new(4711, "a<b&\"c")
        .times(Phase::Connect, &[1_000_000; 60])
        .times(Phase::Connect, &[5_000_000; 30])
        .times(Phase::Connect, &[102_000_000_000])
}

#[test]
fn bars_fill_the_line_and_show_each_value() {
    let dir = Scratch::new();
    let path = example().write(&dir.path("copy"));
    let (status, out, err) = ask(&["hist", path.to_str().unwrap(), "connect"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "connect of a<b&\"c 4711");
    assert_eq!(
        lines[2],
        "91 measured: mean 1.1 s, p50 1 ms, p90 5 ms, p99 102 s, max 102 s"
    );
    let bars: Vec<(&str, usize)> = lines[4..]
        .iter()
        .filter_map(|line| Some((line.split_whitespace().nth(2)?, line.chars().count())))
        .filter(|(count, _)| *count != "0")
        .collect();
    assert_eq!(bars.len(), 3, "{out}");
    assert_eq!(bars[0], ("60", 80));
    assert_eq!(bars[1], ("30", 47));
    assert_eq!(bars[2], ("1", 16));
    assert!(lines.len() < 32, "{out}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn a_picture_is_well_formed_and_has_the_same_bars() {
    let dir = Scratch::new();
    let path = example().write(&dir.path("copy"));
    let svg = dir.path("out.svg");
    let (file, target) = (path.to_str().unwrap(), svg.to_str().unwrap());
    let (status, out, err) = ask(&["hist", file, "connect", "--svg", target]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "", ""));
    let read = "import sys, xml.dom.minidom as m\n\
         d = m.parse(sys.argv[1]).documentElement\n\
         bars = [r for r in d.getElementsByTagName('rect') if r.getAttribute('class') == 'bar']\n\
         print(d.tagName, len(bars), d.getElementsByTagName('title')[0].firstChild.data)";
    let read = Command::new("python3")
        .args(["-c", read, target])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&read.stdout),
        "svg 3 connect of a<b&\"c 4711\n",
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    let (status, _, err) = ask(&["hist", file, "connect", "--svg", "/proc/no/x"]);
    assert_eq!(
        (status, err.as_str()),
        (1, "cmshim: /proc/no/x: No such file or directory\n")
    );
}

#[test]
fn phases_without_times_and_unknown_ones_are_told() {
    let dir = Scratch::new();
    let path = example().write(&dir.path("copy"));
    let file = path.to_str().unwrap();
    let (status, out, err) = ask(&["hist", file, "resolve-addr"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.ends_with("copy: no time of resolve_addr yet\n"),
        "{err}"
    );
    let (status, _, err) = ask(&["hist", file, "lunch"]);
    assert_eq!(status, 2);
    assert!(
        err.contains("there is no phase \"lunch\"; phases are resolve_addr, "),
        "{err}"
    );
    assert_eq!(ask(&["hist", file]).0, 2);
}

/// Connect times of bench/churn in the lab: from what time on, in µs, and how many.
const CHURN: [(u64, usize); 14] = [
    (1_573, 10),
    (2_098, 82),
    (3_146, 27),
    (4_195, 36),
    (6_292, 123),
    (8_389, 114),
    (12_583, 118),
    (16_778, 173),
    (25_166, 65),
    (33_555, 50),
    (50_332, 23),
    (67_109, 13),
    (100_664, 4),
    (134_218, 1),
];

/// The picture in README is what the program makes of these times; `make pictures` writes it anew.
#[test]
fn the_committed_picture_is_what_hist_makes() {
    let dir = Scratch::new();
    let mut file = StatsFile::new(303, "churn");
    for (us, count) in CHURN {
        file = file.times(Phase::Connect, &vec![us * 1000; count]);
    }
    let path = file.write(&dir.path("copy"));
    let made = dir.path("hist.svg");
    let (status, _, err) = ask(&[
        "hist",
        path.to_str().unwrap(),
        "connect",
        "--svg",
        made.to_str().unwrap(),
    ]);
    assert_eq!((status, err.as_str()), (0, ""));
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/hist.svg");
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        std::fs::copy(&made, committed).unwrap();
    }
    let same = std::fs::read(committed).ok() == std::fs::read(&made).ok();
    assert!(same, "docs/hist.svg is not what hist makes: make pictures");
}
