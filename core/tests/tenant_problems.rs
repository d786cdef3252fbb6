//! Policy files that are wrong: each mistake is named, with its place.

use cmshim_core::tenant::{self, Policy, MAX_BYTES};
use std::path::{Path, PathBuf};

/// Each problem on a line.
fn problems(bytes: impl AsRef<[u8]>) -> Vec<String> {
    match Policy::parse(bytes.as_ref()) {
        Ok(policy) => panic!("nothing is wrong: {policy:?}"),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// The problems of a policy with one tenant, into whose table these lines are put, from line 5 on.
fn of_tenant(lines: &str) -> Vec<String> {
    let name = match lines.starts_with("name") {
        true => "",
        false => "name = \"a\"",
    };
    problems(format!(
        "version = 1\ndefault = \"deny\"\n[[tenant]]\n{name}\n{lines}\n"
    ))
}

#[track_caller]
fn one(lines: &str, expected: &str) {
    assert_eq!(of_tenant(lines), [expected]);
}

const PREFIXES: &str =
    "allowed: a list of addresses and prefixes: \"10.1.0.0/16\", \"fd00:1::/64\", \"fe80::/10%eth0\"";

#[test]
fn files_that_are_no_policies() {
    let begin = "a policy begins with version = 1 and default = \"deny\" (or \"allow\")";
    let empty = format!("1:1: the file is empty; {begin}");
    assert_eq!(problems(""), [empty.as_str()]);
    assert_eq!(problems(" \n\t\n"), [empty.as_str()]);
    assert_eq!(problems(b"# \xc3\xa4\n# \xc3\xa4\xff"), ["2:4: not UTF-8"]);
    assert_eq!(
        problems("version = 1\ndefault = deny\n\n[[tenant]\n"),
        [
            "2:11: not valid TOML: string values must be quoted, expected literal string",
            "4:10: not valid TOML: unclosed array table, expected `]`"
        ]
    );
    assert_eq!(
        problems("version = 1\ndefault = \"deny\"\nversion = 1\n"),
        ["3:1: not valid TOML: duplicate key"]
    );
}

#[test]
fn version_and_default_are_needed() {
    let begin = "a policy begins with version = 1 and default = \"deny\" (or \"allow\")";
    assert_eq!(
        problems("default = \"deny\"\n"),
        [format!("1:1: version: is missing; {begin}")]
    );
    let action = "allowed: \"allow\", \"deny\"";
    assert_eq!(
        problems("default = 7\n"),
        [
            format!("1:1: version: is missing; {begin}"),
            format!("1:11: default: this is a whole number; {action}"),
        ]
    );
    // A version that is no number is a mistake like others, and does not hide them.
    for (version, what) in [
        ("-1", "-1 is negative"),
        (
            "99999999999999999999999999999999999999999999",
            "the number is out of range",
        ),
        ("\"1\"", "this is a string"),
        ("1.0", "this is a number with a point"),
    ] {
        assert_eq!(
            problems(format!("version = {version}\ndefault = 7\nmode = \"on\"\n")),
            [
                format!("1:11: version: {what}; allowed: 1"),
                format!("2:11: default: this is a whole number; {action}"),
                "3:8: mode: \"on\" is not one of the words; allowed: \"enforce\", \"observe\""
                    .to_owned(),
            ]
        );
    }
    assert_eq!(
        problems("version = 1\n"),
        [format!("1:1: default: is missing; {begin}")]
    );
    let other = "version 2 is not known, this program reads version 1; the rest of the file was not checked";
    for (version, what) in [("2", other), ("0", &other.replace('2', "0"))] {
        // Of a file of another version nothing else can be said.
        let text = format!("default = 7\nversion = {version}\nunknown = 1\n");
        assert_eq!(
            problems(text),
            [format!("2:11: version: {what}; allowed: 1")]
        );
    }
    assert_eq!(
        problems("version = 1\ndefault = \"Deny\"\nmode = \"on\"\negress_default = true\n"),
        [
            "2:11: default: \"Deny\" is not one of the words; allowed: \"allow\", \"deny\"",
            "3:8: mode: \"on\" is not one of the words; allowed: \"enforce\", \"observe\"",
            "4:18: egress_default: this is true or false; allowed: \"allow\", \"deny\"",
        ]
    );
}

#[test]
fn files_that_cannot_be_read() {
    let dir = std::env::temp_dir().join(format!("cmshim-policy-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let told = |path: &Path| tenant::file(path).unwrap_err().in_file("P");
    assert_eq!(told(&dir), "P: this is a directory, not a file");
    assert_eq!(told(&dir.join("none")), "P: no such file");
    let large = dir.join("large");
    let file = std::fs::File::create(&large).unwrap();
    file.set_len(100 << 20).unwrap();
    assert_eq!(told(&large), format!("P: larger than {MAX_BYTES} bytes"));
    assert_eq!(
        problems(vec![b'#'; MAX_BYTES as usize + 1]),
        [format!("larger than {MAX_BYTES} bytes")]
    );
    let closed = dir.join("closed");
    std::fs::write(&closed, "").unwrap();
    close(&closed);
    // Root may read everything, and a user without right is told so.
    if std::fs::File::open(&closed).is_err() {
        assert_eq!(told(&closed), "P: cannot be read: Permission denied");
    }
    assert_eq!(tenant::file(Path::new("/dev/null")), Ok(Vec::new()));
    assert_eq!(
        told(Path::new("/dev/zero")),
        "P: this is a device, not a file"
    );
    // Reading begins and then fails: this process's own memory at 0.
    assert_eq!(
        told(Path::new("/proc/self/mem")),
        "P: cannot be read: Input/output error"
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

fn close(path: &PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
}

#[test]
fn all_mistakes_are_told_by_line() {
    let text = r#"version = 1
default = "deny"
defualt = "allow"
mod = "observe"

[[tenant]]
name = "a"
max_conections = 5
peers = ["10.0.0.0/8", "10.0.0.1/8", 7]

[[tenant]]
max_connections = 0
rate = -1
"#;
    assert_eq!(
        problems(text),
        [
            "3:1: defualt: no such key; did you mean default?",
            "4:1: mod: no such key; did you mean mode?",
            "8:1: tenant.max_conections: no such key; did you mean max_connections?",
            &format!("9:24: tenant.peers: 10.0.0.1/8 has bits behind its prefix; the network is 10.0.0.0/8, the one address 10.0.0.1; {PREFIXES}"),
            &format!("9:38: tenant.peers: this is a whole number; {PREFIXES}"),
            "11:1: tenant.name: is missing; each tenant needs one of its own",
            "12:19: tenant.max_connections: 0 is out of range; allowed: a whole number from 1 to 2147483647",
            "13:8: tenant.rate: -1 is negative; allowed: connects per second, a number from 0.000001 to 1000000000",
        ]
    );
}

#[test]
fn names() {
    let allowed = "allowed: a text of 1 to 64 bytes that no other tenant has";
    one(
        "name = \"\"",
        &format!("5:8: tenant.name: this name has 0 bytes; {allowed}"),
    );
    let long = format!("name = \"{}\"", "x".repeat(65));
    one(
        &long,
        &format!("5:8: tenant.name: this name has 65 bytes; {allowed}"),
    );
    one(
        "name = 5",
        &format!("5:8: tenant.name: this is a whole number; {allowed}"),
    );
    one(
        "name = \"a\\u0007\"",
        &format!("5:8: tenant.name: \"a\\u0007\" has a control character; {allowed}"),
    );
    assert_eq!(
        of_tenant("name = \"a\"\npeers = [\"10.0.0.0/8\"]\n[[tenant]]\nname = \"a\"\n"),
        [format!(
            "8:8: tenant.name: \"a\" is the name of the tenant in line 3; {allowed}"
        )]
    );
}

#[test]
fn addresses() {
    for (item, what) in [
        ("\"10.1.2.3/16\"", "10.1.2.3/16 has bits behind its prefix; the network is 10.1.0.0/16, the one address 10.1.2.3"),
        ("\"fd00::1/64\"", "fd00::1/64 has bits behind its prefix; the network is fd00::/64, the one address fd00::1"),
        ("\"10.0.0.0/33\"", "the prefix length 33 is larger than 32"),
        ("\"host\"", "\"host\" is no IP address"),
        ("\"fd00::/8%eth0\"", "fd00::/8 is not link-local (fe80::/10), so it has no interface behind %"),
        ("\"10.0.0.1%eth0\"", "10.0.0.1 is not link-local (fe80::/10), so it has no interface behind %"),
        ("\"fe80::/10%\"", "\"\" is no name of an interface"),
        ("\"fe80::/10%0\"", "0 is no number of an interface"),
        ("[]", "this is a list"),
    ] {
        one(&format!("peers = [{item}]"), &format!("5:10: tenant.peers: {what}; {PREFIXES}"));
    }
    let own = "allowed: a list of addresses and prefixes: \"10.1.0.0/16\", \"fd00:1::/64\"";
    one(
        "local = [\"fe80::1%eth0\"]",
        &format!("5:10: tenant.local: %\"eth0\" can stand in peers only; {own}"),
    );
    one(
        "gids = [\"fe80::1%eth0\"]",
        &format!("5:9: tenant.gids: a GID has no interface behind %; {own}"),
    );
    one(
        "peers = []",
        &format!("5:9: tenant.peers: this list is empty and matches nothing (without the key, all match); {PREFIXES}"),
    );
    one(
        "peers = \"10.0.0.0/8\"",
        &format!("5:9: tenant.peers: this is a string; {PREFIXES}"),
    );
}

#[test]
fn ports_and_keys() {
    let ports = "allowed: a list of ports and ranges: 7471, \"8000-8099\"";
    for (item, what) in [
        ("0", "0 is out of range"),
        ("65536", "65536 is out of range"),
        ("-1", "-1 is negative"),
        ("\"0-5\"", "0 is no port"),
        ("\"9-8\"", "the range 9-8 runs backwards"),
        ("\"1-2-3\"", "\"2-3\" is no port from 1 to 65535"),
        ("\"http\"", "\"http\" is no port from 1 to 65535"),
        ("\"+5\"", "\"+5\" is no port from 1 to 65535"),
        ("1.5", "this is a number with a point"),
    ] {
        one(
            &format!("ports = [{item}]"),
            &format!("5:10: tenant.ports: {what}; {ports}"),
        );
    }
    let pkeys = "allowed: a list of partition keys from 0x0001 to 0xffff";
    for (item, what) in [
        ("0x8000", "0x0000 and 0x8000 are no valid partition keys"),
        ("0x10000", "65536 is out of range"),
        ("\"0x8001\"", "this is a string"),
    ] {
        one(
            &format!("pkeys = [{item}]"),
            &format!("5:10: tenant.pkeys: {what}; {pkeys}"),
        );
    }
}

#[test]
fn limits_and_marks() {
    let count = "allowed: a whole number from 1 to 2147483647";
    let rate = "allowed: connects per second, a number from 0.000001 to 1000000000";
    let many = |key: &str, value: &str, what: &str, allowed: &str| {
        let column = key.len() + 4;
        let expected = format!("5:{column}: tenant.{key}: {what}; {allowed}");
        one(&format!("{key} = {value}"), &expected);
    };
    many("max_connections", "0", "0 is out of range", count);
    many("max_connections", "-3", "-3 is negative", count);
    many(
        "max_connections",
        "2147483648",
        "2147483648 is out of range",
        count,
    );
    many(
        "max_connections",
        "1.0",
        "this is a number with a point",
        count,
    );
    many(
        "rate",
        "0",
        "0 lets nobody in (use action = \"deny\" for that)",
        rate,
    );
    many(
        "rate",
        "0.0",
        "0 lets nobody in (use action = \"deny\" for that)",
        rate,
    );
    many("rate", "-0.5", "-0.5 is negative", rate);
    many(
        "rate",
        "nan",
        "nan is no number with at most six digits behind the point",
        rate,
    );
    many(
        "rate",
        "inf",
        "inf is no number with at most six digits behind the point",
        rate,
    );
    many(
        "rate",
        "1e10",
        "1e10 is no number with at most six digits behind the point",
        rate,
    );
    many("rate", "1000000000.1", "1000000000.1 is out of range", rate);
    many(
        "rate",
        "99999999999999999999.5",
        "99999999999999999999.5 is out of range",
        rate,
    );
    many("rate", "\"5/s\"", "this is a string", rate);
    many(
        "tos",
        "256",
        "256 is out of range",
        "allowed: a whole number from 0 to 255",
    );
    many(
        "dscp",
        "64",
        "64 is out of range",
        "allowed: a whole number from 0 to 63",
    );
    one("burst = 5", "5:9: tenant.burst: has no effect without rate");
    one(
        "rate = 5\nburst = 0",
        &format!("6:9: tenant.burst: 0 is out of range; {count}"),
    );
    one(
        "tos = 104\ndscp = 26",
        "6:8: tenant.dscp: tos is given too; leave one of them out: a DSCP is the upper six bits of the type of service",
    );
    one(
        "action = \"reject\"",
        "5:10: tenant.action: \"reject\" is not one of the words; allowed: \"allow\", \"deny\"",
    );
}

#[test]
fn limits_of_those_who_may_not_connect() {
    let none = |line, column, key: &str| {
        format!("{line}:{column}: tenant.{key}: has no effect with action = \"deny\"")
    };
    let all = "max_connections = 5\nrate = 1\nburst = 2\ntos = 8";
    assert_eq!(
        of_tenant(&format!("action = \"deny\"\n{all}")),
        [
            none(6, 19, "max_connections"),
            none(7, 8, "rate"),
            none(8, 9, "burst"),
            none(9, 7, "tos"),
        ]
    );
    assert_eq!(
        of_tenant(&format!("[[tenant.egress]]\n{all}\naction = \"deny\"")),
        [
            none(6, 19, "egress.max_connections"),
            none(7, 8, "egress.rate"),
            none(8, 9, "egress.burst"),
            none(9, 7, "egress.tos"),
        ]
    );
    one(
        "dscp = 1\naction = \"deny\"",
        "5:8: tenant.dscp: has no effect with action = \"deny\"",
    );
    one(
        "action = \"deny\"\nburst = 1",
        "6:9: tenant.burst: has no effect without rate",
    );
}

const LATER: &str =
    "a later rule needs a condition that the earlier one lacks, or has to come first";

#[test]
fn rules_that_can_never_match() {
    let second = "[[tenant]]\nname = \"b\"\n";
    one(
        &format!("peers = [\"10.0.0.0/8\"]\n{second}peers = [\"10.0.0.0/8\"]\nports = [1]"),
        &format!("8:10: tenant.peers: 10.0.0.0/8 can never match: tenant \"a\" in line 3 takes all of it; {LATER}"),
    );
    one(
        "peers = [\"10.0.0.0/8\", \"::ffff:10.0.0.0/104\"]",
        &format!("5:24: tenant.peers: 10.0.0.0/8 is written twice; {LATER}"),
    );
    one(
        &format!("ports = [\"1-9\"]\n{second}ports = [2, \"4-6\"]"),
        &format!(
            "6:1: tenant: can never match: the one in line 3 takes all that it would; {LATER}"
        ),
    );
    one(
        "[[tenant.egress]]\nto = [\"10.0.0.0/8\"]\n[[tenant.egress]]\nto = [\"10.1.0.0/16\", \"10.2.0.1\"]",
        &format!("7:1: tenant.egress: can never match: the one in line 5 takes all that it would; {LATER}"),
    );
    one(
        "peers = [\"fe80::/10\", \"fe80::/10%3\"]",
        &format!("5:23: tenant.peers: fe80::/10 is written twice; {LATER}"),
    );
    // Not these: something tells them apart.
    for text in [
        format!("peers = [\"10.0.0.0/8\"]\nports = [1]\n{second}peers = [\"10.0.0.0/8\"]"),
        format!("peers = [\"10.0.0.0/8\"]\nports = [\"1-9\"]\n{second}peers = [\"10.0.0.0/8\"]\nports = [\"5-10\"]"),
        format!("peers = [\"10.0.0.0/8\"]\npkeys = [1]\n{second}peers = [\"10.0.0.0/8\"]\npkeys = [0x8002]"),
        format!("peers = [\"fe80::/10%3\"]\n{second}peers = [\"fe80::/10\"]"),
        format!("peers = [\"10.0.0.0/8\"]\n{second}peers = [\"10.1.0.0/16\"]"),
        format!("peers = [\"0.0.0.0/0\"]\n{second}peers = [\"::/0\"]"),
        format!("gids = [\"fe80::/10\"]\n{second}gids = [\"fe80::/9\"]"),
        format!("peers = [\"10.0.0.0/8\"]\n{second}ports = [1]"),
    ] {
        let text = format!("version = 1\ndefault = \"deny\"\n[[tenant]]\nname = \"a\"\n{text}\n");
        assert!(Policy::parse(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn tables_of_the_wrong_kind() {
    let tenants = "allowed: [[tenant]] with two brackets, once for each";
    assert_eq!(
        problems("version = 1\ndefault = \"deny\"\n[tenant]\nname = \"a\"\n"),
        [format!("3:1: tenant: this is a section; {tenants}")]
    );
    assert_eq!(
        problems("version = 1\ndefault = \"deny\"\ntenant = [5]\n"),
        [format!("3:11: tenant: this is a whole number; {tenants}")]
    );
    one(
        "egress = 5",
        "5:10: tenant.egress: this is a whole number; allowed: [[tenant.egress]] with two brackets, once for each",
    );
    one(
        "[[tenant.egress]]\npeers = [\"10.0.0.0/8\"]",
        "6:1: tenant.egress.peers: no such key; known here: to, ports, action, max_connections, rate, burst, tos, dscp",
    );
}

#[test]
fn too_much_of_everything() {
    let mut text = String::from("version = 1\ndefault = \"deny\"\n");
    for n in 0..1001 {
        text += &format!(
            "[[tenant]]\nname = \"{n}\"\nports = [{}]\nrate = 1\n",
            n + 1
        );
    }
    assert_eq!(
        problems(&text),
        ["4003:1: the file has more than 1000 tables with max_connections or rate"]
    );
    let mut text = String::from("version = 1\ndefault = \"deny\"\n");
    for n in 0..20_001 {
        text += &format!("[[tenant]]\nname = \"{n}\"\nports = [{}]\n", n + 1);
    }
    assert_eq!(
        problems(&text),
        ["60003:1: the file has more than 20000 tenants and egress rules"]
    );
    let list: Vec<String> = (0..100_001u32)
        .map(|n| format!("\"{}\"", std::net::Ipv4Addr::from(n)))
        .collect();
    one(
        &format!("peers = [{}]", list.join(",")),
        "5:9: tenant.peers: the file has more than 100000 prefixes",
    );
    let mut text = String::from("version = 1\ndefault = \"deny\"\n");
    (0..1500).for_each(|n| text += &format!("key{n} = 1\n"));
    let all = problems(&text);
    assert_eq!(all.len(), 1001);
    assert_eq!(all[1000], "and 500 more");
}
