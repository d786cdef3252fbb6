//! Decisions by a policy, with a shared table that two "processes" use: each open file has its own slot.

use super::decide::{counts, weigh, Current, Decision, Direction};
use super::load::{unknown_tenant_text, unread};
use super::report::by_policy;
use super::share::{Share, Short};
use cmshim_core::config::{self, Input, OnError};
use cmshim_core::tenant::reason::Code;
use cmshim_core::tenant::share::beginning;
use cmshim_core::tenant::{ConnectionRequest, Policy};
use std::fs::{DirEntry, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// A directory in memory that goes when the test ends.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = PathBuf::from(format!(
            "/dev/shm/cmshim-test-{}-{name}",
            std::process::id()
        ));
        std::fs::create_dir_all(&path).expect("/dev/shm can be written");
        Directory(path)
    }

    /// The file of a policy, if there is one.
    fn file(&self, policy: &str) -> PathBuf {
        let beginning = beginning(policy.as_bytes());
        let mut entries = std::fs::read_dir(&self.0).expect("it is there").flatten();
        let of_policy = |e: &DirEntry| {
            e.file_name()
                .to_str()
                .is_some_and(|n| n.starts_with(&beginning))
        };
        entries.find(of_policy).expect("a file").path()
    }

    fn share(&self, policy: &str) -> Share {
        Share::open(self.0.to_str(), policy).expect("a shared table")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const POLICY: &str = r#"
version = 1
default = "deny"
[[tenant]]
name = "olap"
peers = ["10.0.0.0/8"]
max_connections = 2
[[tenant]]
name = "batch"
peers = ["10.1.0.0/16"]
rate = 0.001
burst = 1
[[tenant]]
name = "out"
action = "deny"
peers = ["10.2.0.0/16"]
[[tenant.egress]]
to = ["10.3.0.0/16"]
action = "deny"
"#;

fn current(text: Option<&str>, share: &Share) -> Current {
    let policy = text.map(|t| Policy::parse(t.as_bytes()).expect("a good policy"));
    let subjects = policy.as_ref().map_or(&[][..], Policy::subjects);
    Current {
        rows: subjects.iter().map(|s| share.row(s.key, &s.name)).collect(),
        nobody: None,
        own: Some("out".to_owned()),
        named: true,
        limits_hold: false,
        allow_without: false,
        file: "policy.toml".to_owned(),
        policy,
    }
}

fn no_policy() -> Current {
    Current {
        rows: Vec::new(),
        nobody: None,
        own: None,
        named: false,
        limits_hold: false,
        allow_without: false,
        file: String::new(),
        policy: None,
    }
}

fn from(peer: &str) -> ConnectionRequest {
    ConnectionRequest {
        peer: peer.parse().ok(),
        scope: 0,
        local: None,
        port: 7471,
        pkey: None,
        gid: None,
    }
}

fn code(decision: &Decision) -> Option<Code> {
    decision.refused.as_ref().map(|r| r.code)
}

#[test]
fn a_limit_holds_for_all_processes_and_comes_back() {
    let dir = Directory::new("limit");
    let (one, two) = (dir.share("/etc/policy"), dir.share("/etc/policy"));
    let (a, b) = (current(Some(POLICY), &one), current(Some(POLICY), &two));
    let ask = from("10.9.0.1");
    let first = weigh(&a, Some(&one), Direction::In, &ask, true);
    assert_eq!(code(&first), None);
    let seat = first.seat.expect("it is counted");
    assert_eq!(
        code(&weigh(&b, Some(&two), Direction::In, &ask, true)),
        None
    );
    let third = weigh(&b, Some(&two), Direction::In, &ask, true);
    let refusal = third.refused.as_ref().expect("both places are taken");
    assert_eq!(
        (refusal.code, refusal.used, refusal.limit),
        (Code::OverLimit, 2, 2)
    );
    assert!(third.refuses() && third.seat.is_none());
    one.release(seat.row.expect("a row"));
    assert_eq!(
        code(&weigh(&b, Some(&two), Direction::In, &ask, true)),
        None
    );
    let other = dir.share("/etc/other");
    let c = current(Some(POLICY), &other);
    assert_eq!(
        code(&weigh(&c, Some(&other), Direction::In, &ask, true)),
        None,
        "another policy"
    );
}

#[test]
fn a_later_place_is_told_of_and_a_file_has_the_group_of_its_directory_or_none() {
    let dir = Directory::new("aside");
    let missing = dir.0.join("missing/place");
    let later = Share::open_in(&[missing.clone(), dir.0.clone()], "/etc/later").expect("a table");
    let (place, why) = later.aside().expect("it is not in the first place");
    assert_eq!(place, dir.0);
    assert!(why.contains("missing/place"), "{why}");
    assert!(Share::open_in(&[missing], "/etc/later").is_err());
    assert!(dir.share("/etc/first").aside().is_none());

    let mode = |policy: &str, directory_mode| {
        let set = std::fs::set_permissions(&dir.0, Permissions::from_mode(directory_mode));
        set.expect("the directory is ours");
        drop(dir.share(policy));
        let file = dir.file(policy).metadata().expect("it was made");
        (file.mode() & 0o777, file.gid())
    };
    let own = dir.0.metadata().expect("it is there").gid();
    assert_eq!(mode("/etc/own", 0o755), (0o600, own));
    assert_eq!(mode("/etc/group", 0o3770), (0o640, own));
    // Only root can show this: a directory that does not give its group.
    if std::os::unix::fs::chown(&dir.0, None, Some(65533)).is_ok() {
        assert_eq!(mode("/etc/its-group", 0o1770), (0o640, 65533));
    }
}

#[test]
fn nobody_counts_in_a_directory_of_everybody() {
    let (open, own) = (Directory::new("everybody"), Directory::new("not-everybody"));
    let set = std::fs::set_permissions(&open.0, Permissions::from_mode(0o1777));
    set.expect("the directory is ours");
    let why = Share::open(open.0.to_str(), "/etc/policy").err();
    assert!(why.is_some_and(|why| why.contains("everybody may write")));
    let share = Share::open_in(&[open.0.clone(), own.0.clone()], "/etc/policy").expect("a table");
    assert_eq!(share.aside().expect("told").0, own.0);
}

/// Who comes when a better place can be used counts with those who came before.
#[test]
fn a_user_stays_in_one_place() {
    let (better, first) = (Directory::new("better"), Directory::new("first"));
    let places = [better.0.clone(), first.0.clone()];
    let one = Share::open_in(std::slice::from_ref(&first.0), "/etc/policy").expect("a table");
    let row = one.row(7, "t").expect("a row");
    one.acquire(row, Some(1), false).expect("a place");
    let two = Share::open_in(&places, "/etc/policy").expect("a table");
    let row = two.row(7, "t").expect("a row");
    assert_eq!(two.acquire(row, Some(1), false), Err(Short::Full(1)));
    let other = Share::open_in(&places, "/etc/other").expect("a table");
    assert!(other.aside().is_none(), "in the best place");
}

/// A name of a table that others may write is passed by: they could cut it.
#[test]
fn a_file_that_others_may_write_is_not_mapped() {
    let dir = Directory::new("writable");
    let policy = "/etc/policy";
    drop(dir.share(policy));
    let first = dir.file(policy);
    let entries = || std::fs::read_dir(&dir.0).expect("it is there").count();
    drop(dir.share(policy));
    assert_eq!(entries(), 1);
    std::fs::set_permissions(&first, Permissions::from_mode(0o666)).expect("ours");
    drop(dir.share(policy));
    assert_eq!(entries(), 2);
}

#[test]
fn what_only_asks_takes_no_place() {
    let dir = Directory::new("ask");
    let share = dir.share("/etc/policy");
    let current = current(Some(POLICY), &share);
    for _ in 0..5 {
        let asked = weigh(
            &current,
            Some(&share),
            Direction::In,
            &from("10.9.0.1"),
            false,
        );
        assert!(asked.refused.is_none() && asked.seat.is_none());
    }
}

#[test]
fn rates_and_rules_refuse() {
    let dir = Directory::new("rules");
    let share = dir.share("/etc/policy");
    let current = current(Some(POLICY), &share);
    let decide = |direction, peer| weigh(&current, Some(&share), direction, &from(peer), true);
    assert_eq!(code(&decide(Direction::In, "10.1.0.1")), None);
    let late = decide(Direction::In, "10.1.0.2");
    assert_eq!(code(&late), Some(Code::Rate));
    assert_eq!(late.refused.as_ref().map(|r| r.limit), Some(0));
    let after = late.refused.and_then(|r| r.retry_after_ms).expect("a time");
    assert!(
        (900_000..=1_000_000).contains(&after),
        "one in 1000 s, not {after} ms"
    );
    assert_eq!(code(&decide(Direction::In, "10.2.0.1")), Some(Code::Denied));
    assert_eq!(
        code(&decide(Direction::In, "192.0.2.1")),
        Some(Code::NoTenant)
    );
    assert_eq!(
        code(&decide(Direction::Out, "10.3.0.1")),
        Some(Code::Denied)
    );
    assert_eq!(code(&decide(Direction::Out, "10.4.0.1")), None);
}

#[test]
fn what_egress_default_refuses_is_told_as_such() {
    let dir = Directory::new("egress");
    let share = dir.share("/etc/policy");
    let text = POLICY.replace("version = 1", "version = 1\negress_default = \"deny\"");
    let mut current = current(Some(&text), &share);
    let decide = |current: &Current| {
        weigh(
            current,
            Some(&share),
            Direction::Out,
            &from("10.4.0.1"),
            true,
        )
    };
    let told = |decision: &Decision| {
        let refusal = decision.refused.as_ref().expect("it is refused");
        by_policy(decision, refusal, "/p").summary
    };
    let refused = decide(&current);
    assert_eq!(code(&refused), Some(Code::EgressDefault));
    assert_eq!(refused.tenant.as_deref(), Some("out"));
    assert_eq!(
        told(&refused),
        "tenant policy: no egress rule of tenant 'out' matches, and egress_default refuses"
    );
    (current.own, current.named) = (None, false);
    let refused = decide(&current);
    assert_eq!(refused.tenant, None);
    assert_eq!(
        told(&refused),
        "tenant policy: this process belongs to no tenant, and egress_default refuses"
    );
}

#[test]
fn what_egress_default_allows_is_told_of_for_tenants() {
    let dir = Directory::new("audit");
    let share = dir.share("/etc/policy");
    let mut current = current(Some(POLICY), &share);
    let told = |current: &Current, counted| {
        let decision = weigh(
            current,
            Some(&share),
            Direction::Out,
            &from("10.4.0.1"),
            counted,
        );
        assert!(decision.refused.is_none() && decision.line == 0);
        counts(Direction::Out, &decision, counted, false)
    };
    assert!(told(&current, true));
    assert!(!told(&current, false), "it comes again with the connect");
    (current.own, current.named) = (None, false);
    assert!(!told(&current, true), "no tenant");
}

#[test]
fn a_name_that_the_policy_does_not_have_opens_no_door() {
    let dir = Directory::new("unknown_tenant_text");
    let share = dir.share("/etc/policy");
    let mut current = current(Some(POLICY), &share);
    current.own = Some("OUT".to_owned());
    let decide = |current: &Current, direction| {
        weigh(current, Some(&share), direction, &from("10.9.0.1"), false)
    };
    let refused = decide(&current, Direction::Out);
    assert_eq!(code(&refused), Some(Code::UnknownTenant));
    assert!(refused.refuses() && refused.tenant.is_none());
    let refusal = refused.refused.as_ref().expect("it is refused");
    assert_eq!(
        by_policy(&refused, refusal, "/p").summary,
        "tenant policy: it has no tenant 'OUT', which tenant.name names"
    );
    assert_eq!(
        code(&decide(&current, Direction::In)),
        None,
        "not its business"
    );
    current.named = false;
    assert_eq!(
        code(&decide(&current, Direction::Out)),
        None,
        "by its cgroup"
    );
    (current.named, current.allow_without) = (true, true);
    assert_eq!(
        code(&decide(&current, Direction::Out)),
        None,
        "tenant.on_error"
    );
    let text = POLICY.replace("version = 1", "version = 1\nmode = \"observe\"");
    current.allow_without = false;
    current.policy = Policy::parse(text.as_bytes()).ok();
    let observed = decide(&current, Direction::Out);
    assert_eq!(code(&observed), Some(Code::UnknownTenant));
    assert!(!observed.refuses());
}

#[test]
fn a_name_that_the_policy_does_not_have_is_told() {
    let policy = |text: &str| Policy::parse(text.as_bytes()).expect("a good policy");
    let told = |policy: &Policy, named, on_error| {
        unknown_tenant_text(policy, "/p", "OUT", named, on_error)
    };
    let enforced = policy(POLICY);
    assert_eq!(
        told(&enforced, true, OnError::Deny).expect("it is told"),
        "tenant.name: the policy /p has no tenant 'OUT' (its tenants: olap, batch, out); outgoing connects of this process are refused (tenant.on_error)"
    );
    let open = "egress_default decides about outgoing connects of this process";
    for (named, on_error) in [(true, OnError::Allow), (false, OnError::Deny)] {
        let text = told(&enforced, named, on_error).expect("it is told");
        assert!(text.contains(open), "{text}");
    }
    assert_eq!(
        unknown_tenant_text(&enforced, "/p", "out", true, OnError::Deny),
        None
    );
    let mut text = "version = 1\ndefault = \"deny\"\nmode = \"observe\"\n".to_owned();
    let none = told(&policy(&text), true, OnError::Deny).expect("it is told");
    assert!(
        none.contains("(it has none); ") && none.contains("only observe"),
        "{none}"
    );
    for n in 0..10 {
        text += &format!("[[tenant]]\nname = \"t{n}\"\nports = [{}]\n", n + 1);
    }
    let many = told(&policy(&text), true, OnError::Deny).expect("it is told");
    assert!(many.contains("t6, t7 and 2 more)"), "{many}");
}

#[test]
fn observing_counts_and_refuses_nobody() {
    let dir = Directory::new("observe");
    let share = dir.share("/etc/policy");
    let text = POLICY.replace("version = 1", "version = 1\nmode = \"observe\"");
    let current = current(Some(&text), &share);
    let decide = || {
        weigh(
            &current,
            Some(&share),
            Direction::In,
            &from("10.9.0.1"),
            true,
        )
    };
    let seats: Vec<_> = (0..4).filter_map(|_| decide().seat?.row).collect();
    assert_eq!(seats.len(), 4, "each holds a place, with or without right");
    let fifth = decide();
    assert_eq!(
        fifth.refused.as_ref().map(|r| (r.code, r.used)),
        Some((Code::OverLimit, 4))
    );
    assert!(!fifth.refuses());
}

#[test]
fn a_name_that_is_no_file_is_not_told_as_one() {
    let input = Input {
        vars: vec![("CMSHIM_TENANT_POLICY".into(), "rel".into())],
        ..Input::default()
    };
    let lost = config::load(&input)
        .config
        .tenant
        .policy
        .expect("it was meant");
    assert_eq!(
        unread(&lost, "no such file", OnError::Deny),
        "tenant.policy: the configuration is wrong where it may name a policy; all connects are refused (tenant.on_error). See cmshim config"
    );
    assert_eq!(
        unread("/p", "/p: no such file", OnError::Allow),
        "tenant.policy /p: no such file; nothing is refused until it can be read (tenant.on_error)"
    );
    let decision = weigh(&no_policy(), None, Direction::In, &from("10.9.0.1"), true);
    let refusal = decision.refused.as_ref().expect("nobody may");
    let told = |file| by_policy(&decision, refusal, file).next;
    assert_eq!(
        told(""),
        "Mend tenant.policy in the configuration, and start the program anew"
    );
    assert_eq!(told("/p"), "cmshim policy check /p");
}

#[test]
fn without_a_policy_the_setting_decides() {
    let dir = Directory::new("without");
    let share = dir.share("/etc/policy");
    let mut closed = current(None, &share);
    let request = from("10.9.0.1");
    let decide = |current: &Current| weigh(current, Some(&share), Direction::In, &request, true);
    assert_eq!(code(&decide(&closed)), Some(Code::Unreadable));
    closed.allow_without = true;
    assert_eq!(code(&decide(&closed)), None);
}

#[test]
fn limits_that_are_not_shared_hold_only_where_that_is_allowed() {
    let alone = Share::alone("/etc/policy").expect("memory");
    let mut blind = current(Some(POLICY), &alone);
    let decide =
        |current: &Current, peer| weigh(current, Some(&alone), Direction::In, &from(peer), true);
    let uncounted = decide(&blind, "10.9.0.1");
    assert_eq!(code(&uncounted), Some(Code::Uncounted));
    let refusal = uncounted.refused.as_ref().expect("it is refused");
    let words = by_policy(&uncounted, refusal, "/p");
    assert_eq!(words.name, "uncounted");
    assert!(words.next.contains("tenant.dir"), "{}", words.next);
    assert!(!words.next.contains("/p"), "{}", words.next);
    assert_eq!(code(&decide(&blind, "10.2.0.1")), Some(Code::Denied));
    blind.limits_hold = true;
    assert_eq!(code(&decide(&blind, "10.9.0.1")), None);
    assert_eq!(code(&decide(&blind, "10.9.0.1")), None);
    assert_eq!(code(&decide(&blind, "10.9.0.1")), Some(Code::OverLimit));
}

#[test]
fn a_file_of_something_else_is_passed_by() {
    let dir = Directory::new("foreign");
    drop(dir.share("/etc/policy"));
    let taken = dir.file("/etc/policy");
    std::fs::write(&taken, "not a table").expect("written");
    let (one, two) = (dir.share("/etc/policy"), dir.share("/etc/policy"));
    let row = one.row(7, "t").expect("a row");
    one.acquire(row, Some(1), false).expect("a place");
    assert_eq!(two.acquire(row, Some(1), false), Err(Short::Full(1)));
    assert_eq!(std::fs::read(&taken).expect("there"), b"not a table");
    // Nor is a table of another policy, under this one's name.
    drop(dir.share("/etc/other"));
    std::fs::rename(dir.file("/etc/other"), &taken).expect("renamed");
    let three = dir.share("/etc/policy");
    assert_eq!(three.acquire(row, Some(1), false), Err(Short::Full(1)));
}
