//! `cmshim export` on made-up files: what it answers, to whom, and that nobody can keep it from others.

mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cmshim_core::stats::Counter;
use common::server::{full, host, promtool, Server};
use common::{cmshim, told, Scratch};
use rustix::process::Signal;

#[test]
fn a_client_gets_the_format_that_it_asks_for() {
    let dir = Scratch::new();
    let _held = host(&dir);
    let server = Server::of(&dir, &[]);
    let (head, body) = server.ask("GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text");
    assert!(head.starts_with("http/1.1 200 ok"), "{head}");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(kind), "{head}");
    assert!(body.ends_with("# EOF\n"));
    assert!(body.contains("# TYPE cmshim_connections_made counter\n"));
    let (head, plain) = server.ask("GET /metrics HTTP/1.0");
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8";
    assert!(head.contains(kind), "{head}");
    assert!(plain.contains("# TYPE cmshim_connections_made_total counter\n"));
    assert!(!plain.contains("# EOF") && !plain.contains("# UNIT"));
    let samples = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(samples(&body), samples(&plain));
    // What `cmshim stat` prints, and the server's own.
    let mut stat = cmshim();
    stat.env("CMSHIM_STATS_DIR", dir.path(""))
        .args(["stat", "--all", "--prometheus"]);
    let (_, stat, _) = told(stat.output().unwrap());
    let stat = stat.strip_suffix("# EOF\n").unwrap();
    let own = body.strip_prefix(stat).unwrap();
    assert!(own.contains("\ncmshim_export_processes 2\n"), "{own}");
}

#[test]
fn each_counter_of_the_table_is_there() {
    let dir = Scratch::new();
    let _held = host(&dir);
    let (_, body) = Server::of(&dir, &[]).ask("GET /metrics HTTP/1.1");
    for counter in Counter::ALL {
        let ending = format!("}} {}", *counter as u64 + 1);
        let [total, gauge] = ["_total{", "{"].map(|end| format!("cmshim_{}{end}", counter.name()));
        let sample = body
            .lines()
            .find(|line| line.starts_with(&total) || line.starts_with(&gauge));
        let sample = sample.unwrap_or_else(|| panic!("no {total}"));
        assert!(sample.ends_with(&ending), "{sample}");
    }
}

#[test]
fn other_paths_and_methods_are_told() {
    let dir = Scratch::new();
    let server = Server::of(&dir, &[]);
    for (request, status, body) in [
        ("GET /healthz HTTP/1.1", "200", "ok\n"),
        ("GET /healthz?x=1 HTTP/1.1", "200", "ok\n"),
        ("GET / HTTP/1.1", "200", "cmshim: see /metrics\n"),
        ("GET /metrics/x HTTP/1.1", "404", "not here; see /metrics\n"),
        ("POST /metrics HTTP/1.1", "405", "GET or HEAD\n"),
        ("HEAD /healthz HTTP/1.1", "200", ""),
        ("nonsense", "400", ""),
    ] {
        let (head, got) = server.ask(request);
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{head}");
        assert_eq!(got, body, "{request}");
    }
    let (head, _) = server.ask("DELETE /metrics HTTP/1.1");
    assert!(head.contains("\r\nallow: get, head"), "{head}");
    let long = "a".repeat(100_000);
    let mut stream = server.connect();
    let _ = stream.write_all(format!("GET /{long} HTTP/1.1\r\n\r\n").as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.len() < 1000, "{answer:?}");
    // One that sends no more than its request still reads.
    let mut stream = server.connect();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 OK"), "{answer}");
    // With no process at all there are the server's own numbers.
    let (_, body) = server.ask("GET /metrics HTTP/1.1");
    assert!(body.contains("\ncmshim_export_processes 0\n"), "{body}");
}

/// Silent clients, those that send a byte now and then, and those that do not read: the next one is served at once, and
/// memory stays where it was.
#[test]
fn slow_clients_keep_nothing_from_others() {
    let dir = Scratch::new();
    let held: Vec<File> = (1..=100)
        .map(|pid| full(pid).write_alive(&dir.path(&format!("{pid}.cmstats"))))
        .collect();
    let server = Server::of(&dir, &[]);
    let whole = server.ask("GET /metrics HTTP/1.1").1.len();
    assert!(whole > 2_000_000, "{whole}");
    let before = server.resident();
    let mut slow = Vec::new();
    for n in 0..300 {
        let mut stream = server.connect();
        let begin = match n % 3 {
            0 => "",
            1 => "GET /metrics HTTP/1.1\r\nX: ",
            _ => "GET /metrics HTTP/1.1\r\n\r\n",
        };
        // It may be ended already.
        let _ = stream.write_all(begin.as_bytes());
        slow.push(stream);
    }
    // One after another, they would take minutes to be timed out.
    let (head, body) = server.ask("GET /metrics HTTP/1.1");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(body.len(), whole);
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 50_000, "{grown} KiB more");
    // Only the latest are still served.
    let files = format!("/proc/{}/fd", server.child.id());
    until(|| std::fs::read_dir(&files).unwrap().count() < 16 + 16);
    drop(held);
}

/// Waits for an outcome; a server makes its answer anew once a second.
fn until(outcome: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !outcome() {
        assert!(Instant::now() < end, "it does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_number_of_processes_is_limited() {
    let dir = Scratch::new();
    let _held = host(&dir);
    let path = |pid: u32| dir.path(&format!("{pid}.cmstats"));
    full(5).write(&path(5));
    let server = Server::of(&dir, &["--processes", "1"]);
    let (_, body) = server.ask("GET /metrics HTTP/1.1");
    assert!(body.contains("cmshim_process_alive{pid=\"4711\""));
    assert_eq!(body.matches("\ncmshim_process_alive{").count(), 1);
    assert!(body.contains("\ncmshim_export_processes_left_out 2\n"));
    std::fs::write(path(6), "damaged").unwrap();
    let told = |line: &str| server.ask("GET /metrics HTTP/1.1").1.contains(line);
    until(|| told("\ncmshim_export_files_refused 1\n"));
    // Any user may make very many.
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id()));
        let status = status.unwrap();
        let most = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = most.unwrap().split_whitespace().nth(1).unwrap();
        kib.parse::<u64>().unwrap() / 1024
    };
    let before = memory();
    for pid in 1000..1600 {
        full(pid).write(&path(pid));
    }
    until(|| told("\ncmshim_export_processes_left_out 602\n"));
    assert!(memory() < before + 40, "{before} MiB, then {}", memory());
}

#[test]
fn signals_end_it_well() {
    let dir = Scratch::new();
    for signal in [Signal::TERM, Signal::INT] {
        let server = Server::of(&dir, &[]);
        // A connection that says nothing is not waited for.
        let _silent = server.connect();
        assert_eq!(server.end(signal), Some(0));
    }
}

#[test]
fn wrong_addresses_are_told() {
    let dir = Scratch::new();
    let server = Server::of(&dir, &[]);
    for (listen, status, words) in [
        (server.address.as_str(), 1, "Address already in use"),
        ("192.0.2.1:9464", 1, "Cannot assign requested address"),
        ("9464", 2, "write ADDRESS:PORT"),
        ("127.0.0.1:x", 2, "write ADDRESS:PORT"),
        ("127.0.0.1:99999", 2, "write ADDRESS:PORT"),
        ("", 2, "write ADDRESS:PORT"),
    ] {
        let told = told(
            cmshim()
                .args(["export", "--listen", listen])
                .output()
                .unwrap(),
        );
        assert_eq!((told.0, told.1.as_str()), (status, ""), "{listen}");
        let begin = format!("cmshim: --listen {listen}: ");
        assert!(
            told.2.starts_with(&begin) && told.2.contains(words),
            "{}",
            told.2
        );
        assert_eq!(told.2.lines().count(), 1, "{}", told.2);
    }
}

/// Prometheus's own tool reads it, and finds nothing to criticise.
#[test]
fn promtool_accepts_it() {
    let Some(promtool) = promtool() else {
        return;
    };
    let dir = Scratch::new();
    let _held = host(&dir);
    let (_, body) = Server::of(&dir, &[]).ask("GET /metrics HTTP/1.1");
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = check.stdin.take().unwrap();
    input.write_all(body.as_bytes()).unwrap();
    drop(input);
    let said = told(check.wait_with_output().unwrap());
    assert_eq!(said, (0, String::new(), String::new()));
}
