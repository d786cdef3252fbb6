//! The Grafana dashboard asks for metrics that there are.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use common::server::{host, promtool, Server};
use common::{told, Scratch};
use serde_json::Value;

fn dashboard() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/grafana/cmshim.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let found = value[key].as_array();
    found.unwrap_or_else(|| panic!("{key} is no list"))
}

/// The expressions of all panels.
fn expressions(dashboard: &Value) -> Vec<String> {
    let panels = list(dashboard, "panels").iter();
    let targets = panels.flat_map(|panel| list(panel, "targets"));
    targets
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .collect()
}

/// Words that begin with cmshim_, in expressions and in the queries of variables.
fn names(text: &str) -> Vec<&str> {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let words = text.split(ends);
    words.filter(|word| word.starts_with("cmshim_")).collect()
}

#[test]
fn each_metric_is_exported() {
    let dir = Scratch::new();
    let _held = host(&dir);
    let (_, body) = Server::of(&dir, &[]).ask("GET /metrics HTTP/1.1");
    let samples = body.lines().filter(|line| !line.starts_with('#'));
    let exported: BTreeSet<&str> = samples
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .collect();
    let dashboard = dashboard();
    let mut used = BTreeSet::new();
    let expressions = expressions(&dashboard);
    let variables = list(&dashboard["templating"], "list").iter();
    let queries = variables.map(|v| v["query"].as_str().unwrap());
    for text in expressions.iter().map(String::as_str).chain(queries) {
        for name in names(text) {
            assert!(exported.contains(name), "{name} in {text}");
            used.insert(name);
        }
    }
    assert!(used.len() > 15, "{used:?}");
}

/// Variables of Grafana are replaced by what Grafana puts there.
#[test]
fn promtool_parses_each_expression() {
    let Some(promtool) = promtool() else {
        return;
    };
    let rules: String = expressions(&dashboard())
        .iter()
        .enumerate()
        .map(|(n, expression)| {
            let expression = expression.replace("$__rate_interval", "1m");
            let expression = serde_json::to_string(&expression).unwrap();
            format!("      - {{record: \"panel:{n}\", expr: {expression}}}\n")
        })
        .collect();
    let dir = Scratch::new();
    let text = format!("groups:\n  - name: dashboard\n    rules:\n{rules}");
    let path = dir.file("rules.yml", &text);
    let mut check = Command::new(promtool);
    check.args(["check", "rules", "--lint-fatal"]).arg(path);
    let (status, out, err) = told(check.output().unwrap());
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.contains(" rules found"), "{out}");
}

#[test]
fn panels_are_numbered_once_and_do_not_overlap() {
    let dashboard = dashboard();
    let panels = list(&dashboard, "panels");
    let mut ids = BTreeSet::new();
    let mut cells = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()));
        assert!(!panel["title"].as_str().unwrap().is_empty());
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{}", panel["title"]);
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(cells.insert((x, y)), "{} overlaps", panel["title"]);
            }
        }
        let mut letters = BTreeSet::new();
        for target in list(panel, "targets") {
            assert!(letters.insert(target["refId"].as_str().unwrap()));
            assert_eq!(target["datasource"]["uid"], "${datasource}");
        }
        assert!(!letters.is_empty());
    }
}
