//! `cmshim policy check`, `test` and `qos`.

mod common;

use common::{ask, cmshim, set_mode, told, Scratch};

/// What lies in tools/policy, for users to begin with.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/policy/example.toml");

fn test(args: &str) -> (i32, String) {
    let words: Vec<&str> = args.split_whitespace().collect();
    let (status, out, err) = ask(&[&["policy", "test", EXAMPLE], &words[..]].concat());
    assert_eq!(err, "", "{args}");
    (status, out)
}

#[test]
fn the_example_is_good() {
    let (status, out, err) = ask(&["policy", "check", EXAMPLE]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(
        out.contains("example.toml: good; mode observe, default deny, egress_default allow\n"),
        "{out}"
    );
    let rows: Vec<String> = out
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for expected in [
        "tenant line action connections rate ToS",
        "olap 12 allow 64 100/s, burst 200 104 (DSCP 26)",
        "olap egress 1 22 allow 256 - -",
        "olap egress 2 26 deny - - -",
        "lab 30 deny - - -",
        "monitoring 51 allow 2 0.5/s, burst 1 -",
    ] {
        assert!(rows.iter().any(|row| row == expected), "{expected}\n{out}");
    }
}

#[test]
fn all_problems_are_told_with_their_places() {
    let dir = Scratch::new();
    let file = dir.file(
        "p\u{1b}.toml",
        "version = 1\ndefualt = \"deny\"\n[[tenant]]\nmax_connections = 0\n",
    );
    let (status, out, err) = ask(&["policy", "check", file.to_str().unwrap()]);
    assert_eq!((status, err.as_str()), (1, ""));
    let name = file.display().to_string().replace('\u{1b}', "\\u{1b}");
    let lines: Vec<&str> = out
        .lines()
        .map(|line| line.strip_prefix(&name).unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            ":1:1: default: is missing; a policy begins with version = 1 and default = \"deny\" (or \"allow\")",
            ":2:1: defualt: no such key; did you mean default?",
            ":3:1: tenant.name: is missing; each tenant needs one of its own",
            ":4:19: tenant.max_connections: 0 is out of range; allowed: a whole number from 1 to 2147483647",
        ]
    );
    for (command, status) in [("check", 1), ("qos", 1), ("test", 2)] {
        let more = match command {
            "qos" => vec!["--dev", "eth0"],
            "test" => vec!["--peer", "10.0.0.1"],
            _ => vec![],
        };
        let args = [&["policy", command, file.to_str().unwrap()], &more[..]].concat();
        let (got, out, err) = ask(&args);
        assert_eq!(got, status, "{command}");
        assert_eq!(format!("{out}{err}").lines().count(), 4, "{command}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let dir = Scratch::new();
    let check = |path: &std::path::Path| {
        let (status, out, err) = ask(&["policy", "check", path.to_str().unwrap()]);
        assert_eq!((status, err.as_str()), (1, ""));
        out.replace(&path.display().to_string(), "P")
    };
    assert_eq!(check(&dir.path("")), "P: this is a directory, not a file\n");
    assert_eq!(check(&dir.path("none")), "P: no such file\n");
    let large = dir.path("large");
    std::fs::File::create(&large)
        .unwrap()
        .set_len(100 << 20)
        .unwrap();
    assert_eq!(check(&large), "P: larger than 16777216 bytes\n");
    let empty = dir.file("empty", "");
    assert!(check(&empty).starts_with("P:1:1: the file is empty"));
    std::fs::write(&empty, b"version = 1 # \xff").unwrap();
    assert_eq!(check(&empty), "P:1:15: not UTF-8\n");
    set_mode(&empty, 0);
    // Root may read everything: as somebody else.
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(env!("CARGO_BIN_EXE_cmshim"))
        .args(["policy", "check"])
        .arg(&empty);
    set_mode(&dir.path(""), 0o755);
    let is_root = rustix::process::geteuid().is_root();
    if let Some(output) = is_root.then(|| command.output().ok()).flatten() {
        // Where nobody may not start the program itself, that is no answer.
        if output.status.code() == Some(1) {
            assert!(told(output)
                .1
                .ends_with(": cannot be read: Permission denied\n"));
        }
    }
}

#[test]
fn the_rule_that_decides_and_those_before_it() {
    let (status, out) = test("--peer 10.1.2.3 --port 7471");
    assert_eq!(status, 0);
    assert_eq!(
        out,
        "allow: tenant 'olap' in line 12; at most 64 connections, 100/s, burst 200, ToS 104 (DSCP 26)\n  \
         line 12: tenant 'olap', 10.1.0.0/16: matches\n"
    );
    let observed = "(the policy only observes: it would be let through)";
    let (status, out) = test("--peer 10.1.66.1 --port 7471");
    assert_eq!(status, 1);
    assert!(
        out.starts_with(&format!("refuse: tenant 'lab' in line 30 {observed}\n")),
        "{out}"
    );
    let (status, out) = test("--peer 10.2.0.9 --local 10.2.0.2 --port 80");
    assert_eq!(status, 1);
    assert_eq!(
        out,
        format!(
            "refuse: default, no tenant matches {observed}\n  \
             line 36: tenant 'backup', 10.2.0.0/24: 10.2.0.2 is not in its local\n  \
             line 51: tenant 'monitoring', any peer: 80 is not in its ports\n"
        )
    );
    assert_eq!(test("--peer 10.2.0.9 --local 10.2.0.1 --pkey 1").0, 0);
    let (_, out) = test("--peer 10.2.0.9 --local 10.2.0.1 --pkey 0xffff");
    assert!(out.contains("0xffff is not in its pkeys"), "{out}");
    let (_, out) = test("--peer fe80::1 --port 9100");
    assert!(
        out.contains("the peer is not known to be behind this interface"),
        "{out}"
    );
    assert!(
        out.starts_with("allow: tenant 'monitoring' in line 51"),
        "{out}"
    );
    let (_, out) = test("--peer ::ffff:10.1.2.3");
    assert!(
        out.contains("it has ports, and --port is not given"),
        "{out}"
    );
}

#[test]
fn outgoing_connections() {
    let (status, out) = test("--peer 10.1.0.1 --egress --tenant olap");
    assert_eq!(status, 0);
    assert!(
        out.starts_with("allow: egress rule 1 of tenant 'olap' in line 22; at most 256"),
        "{out}"
    );
    let (status, out) = test("--peer 10.9.0.1 --egress --tenant olap");
    assert_eq!(status, 1);
    assert!(
        out.contains("line 22: egress rule 1 of tenant 'olap': 10.9.0.1 is not in its to"),
        "{out}"
    );
    let (status, out) = test("--peer 10.9.0.1 --egress --tenant backup");
    assert_eq!(
        (status, out.as_str()),
        (
            0,
            "allow: egress_default, tenant 'backup' has no egress rules\n"
        )
    );
    let (status, out) = test("--peer 10.9.0.1 --egress");
    assert_eq!(status, 0);
    assert!(out.contains("belongs to no tenant"), "{out}");
}

#[test]
fn wrong_arguments() {
    for (args, expected) in [
        ("--peer host", "--peer host: not an IP address"),
        (
            "--peer fe80::1%no-such-if",
            "--peer fe80::1%no-such-if: no such interface",
        ),
        (
            "--peer 10.0.0.1 --egress --tenant nobody",
            "the policy has no tenant 'nobody'",
        ),
        ("--peer 10.0.0.1 --port 0", "0 is not in 1..=65535"),
        (
            "--peer 10.0.0.1 --pkey 0x10000",
            "not a number from 0 to 0xffff",
        ),
        ("--peer 10.0.0.1 --tenant olap", "--egress"),
        ("", "--peer"),
    ] {
        let words: Vec<&str> = args.split_whitespace().collect();
        let (status, out, err) = ask(&[&["policy", "test", EXAMPLE], &words[..]].concat());
        assert_eq!((status, out.as_str()), (2, ""), "{args}");
        assert!(err.contains(expected), "{args}: {err}");
    }
    for dev in ["", "-x", "a b", "$(reboot)", "sixteencharacter"] {
        let dev = format!("--dev={dev}");
        assert_eq!(ask(&["policy", "qos", EXAMPLE, &dev]).0, 2, "{dev}");
    }
}

#[test]
fn commands_for_queues() {
    let (status, out, err) = ask(&["policy", "qos", EXAMPLE, "--dev", "eth0"]);
    assert_eq!((status, err.as_str()), (0, ""));
    for expected in [
        "# DSCP 26, priority 3: tenant 'olap'\n",
        "RDMA by-passes the kernel, and so tc",
        "UDP port 4791",
        "dcb app replace dev eth0 dscp-prio 26:3\n",
        "mlnx_qos -i eth0 --trust dscp\n",
        "mlnx_qos -i eth0 --dscp2prio set,26,3\n",
        "tc qdisc replace dev eth0 clsact\n",
        "dst_port 4791 ip_tos 0x68/0xfc action skbedit priority 3\n",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    // It is a script: what is no command is a comment, also where names of tenants stand.
    let dir = Scratch::new();
    let evil = dir.file(
        "p.toml",
        "version = 1\ndefault = \"deny\"\n[[tenant]]\nname = \"$(touch x); '\"\ntos = 255\n",
    );
    let (_, out, _) = ask(&["policy", "qos", evil.to_str().unwrap(), "--dev", "eth0"]);
    let harmless = ["", "#", "tc ", "dcb ", "mlnx_qos "];
    assert!(
        out.lines()
            .all(|l| l.is_empty() || harmless[1..].iter().any(|h| l.starts_with(h))),
        "{out}"
    );
    assert!(out.contains("dscp-prio 63:7"), "{out}");
    let none = dir.file("none.toml", "version = 1\ndefault = \"deny\"\n");
    let (status, out, _) = ask(&["policy", "qos", none.to_str().unwrap(), "--dev", "eth0"]);
    assert_eq!(status, 0);
    assert!(
        out.contains("there is nothing to do") && !out.contains("tc "),
        "{out}"
    );
}

/// Where a network namespace can be had, the kernel says whether the commands are right.
#[test]
fn the_kernel_takes_the_commands() {
    let (_, out, _) = ask(&["policy", "qos", EXAMPLE, "--dev", "lo"]);
    let dir = Scratch::new();
    let tc: Vec<&str> = out.lines().filter(|line| line.starts_with("tc ")).collect();
    assert_eq!(tc.len(), 5);
    let script = dir.file("qos.sh", &tc.join("\n"));
    // Can it be asked at all? A kernel without the flower classifier does not say more.
    let known = "tc qdisc add dev lo clsact && \
                 tc filter add dev lo egress protocol ip pref 99 flower action pass || exit 77";
    let run = std::process::Command::new("unshare")
        .args(["-rn", "sh", "-c", &format!("{known}; sh -e \"$0\"")])
        .arg(&script)
        .output();
    let Ok(run) = run else { return };
    let err = String::from_utf8_lossy(&run.stderr);
    match run.status.code() {
        Some(0) => {}
        Some(77) => eprintln!("not looked at: {err}"),
        _ if err.contains("unshare") => eprintln!("not looked at: {err}"),
        _ => panic!("{err}"),
    }
}

#[test]
fn pages_and_completions_know_it() {
    let dir = Scratch::new();
    let target = dir.path("man");
    ask(&["man", "--dir", target.to_str().unwrap()]);
    let page = std::fs::read_to_string(target.join("cmshim-policy.5")).unwrap();
    // roff writes - and ' in its own way.
    let page = page.replace("\\-", "-").replace("\\*(Aq", "'");
    for field in cmshim_core::tenant::FIELDS {
        assert!(page.contains(field.help), "{}", field.name);
    }
    assert!(page.contains(".SH \"POLICY FILE\"") && page.contains("[[tenant.egress]] to"));
    for (name, _) in cmshim_core::tenant::audit::FIELDS {
        assert!(page.contains(&format!("\\fB{name}\\fR")), "{name}");
    }
    assert!(page.contains("3 over-limit"));
    let test = std::fs::read_to_string(target.join("cmshim-policy-test.1")).unwrap();
    let test = test
        .replace("\\-", "-")
        .replace("\\fB", "")
        .replace("\\fR", "")
        .replace("\\fI", "");
    assert!(
        test.contains("cmshim policy test --peer ADDRESS [--port NUMBER]"),
        "{test}"
    );
    assert!(
        test.contains("cmshim(1), cmshim-policy(1), cmshim-policy(5)"),
        "{test}"
    );
    for name in ["check", "test", "show", "qos"] {
        let page = std::fs::read_to_string(target.join(format!("cmshim-policy-{name}.1"))).unwrap();
        assert!(page.contains(".SH \"EXIT STATUS\""), "{name}");
    }
    let script = told(cmshim().args(["completions", "bash"]).output().unwrap()).1;
    assert!(
        script.contains("cmshim__policy__qos") || script.contains("policy__subcmd__qos"),
        "{script}"
    );
}
