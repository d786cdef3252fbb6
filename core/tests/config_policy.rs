//! A mistake in the configuration does not switch the tenant check off.

use cmshim_core::config::{is_lost_policy, load, Input};

fn policy(file: &str, vars: &[(&str, &str)], program: &str) -> Option<String> {
    let loaded = load(&Input {
        file: Some(("c.toml".into(), Ok(file.into()))),
        vars: vars.iter().map(|(n, v)| (n.into(), v.into())).collect(),
        program: vec![program.into()],
        ..Input::default()
    });
    loaded.config.tenant.policy
}

fn closed(policy: Option<String>) -> bool {
    policy.is_some_and(|p| is_lost_policy(&p) && !p.starts_with('/'))
}

#[test]
fn a_wrong_name_is_a_policy_that_cannot_be_read() {
    assert!(closed(policy(
        "",
        &[("CMSHIM_TENANT_POLICY", "relative")],
        "x"
    )));
    assert!(closed(policy("[tenant]\npolicy = 5", &[], "x")));
    assert!(closed(policy(
        "[tenant]\npolicy = \"/etc/p\nlog = 1",
        &[],
        "x"
    )));
    let other = "[program.db.tenant]\npolicy = 5";
    assert!(closed(policy(other, &[], "db")));
    assert_eq!(policy(other, &[], "x"), None);
}

#[test]
fn what_is_used_then_is_not_called_the_default() {
    let loaded = load(&Input {
        file: Some(("c.toml".into(), Ok("[tenant]\npolicy = \"rel\"".into()))),
        vars: Vec::new(),
        program: vec!["x".into()],
        ..Input::default()
    });
    let told = loaded.problems[0].to_string();
    let used = "used: what tenant.on_error says, as for a file that cannot be read";
    assert!(told.ends_with(used), "{told}");
}

#[test]
fn a_good_one_beside_it_and_other_mistakes_change_nothing() {
    let good = Some("/etc/p".to_owned());
    let vars = [("CMSHIM_TENANT_POLICY", "/etc/p")];
    assert_eq!(policy("[tenant]\npolicy = 5", &vars, "x"), good);
    assert_eq!(
        policy("[tenant]\npolicy = \"/etc/p\"\n[log]\nlevel = 3", &[], "x"),
        good
    );
    assert_eq!(policy("[log]\nlevel = 3", &[], "x"), None);
    assert_eq!(policy("[log\n", &[], "x"), None);
}

/// The commented file that `cmshim config --default` prints, with a mistake in it, names no policy.
#[test]
fn a_policy_in_a_comment_is_none() {
    let text = format!("{}\n[log\n", cmshim_core::config::default_file());
    assert!(text.contains("policy"));
    assert_eq!(policy(&text, &[], "x"), None);
    assert!(closed(policy(
        &(text + "tenant.policy = \"/etc/p\"\n"),
        &[],
        "x"
    )));
}
