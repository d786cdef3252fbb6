//! `cmshim doctor`: what on this host would hinder RDMA connections.

mod acm;
mod affinity;
mod arp;
mod backlog;
mod check;
mod cpus;
mod fabric;
#[cfg(test)]
mod fixture;
mod flow;
mod gids;
mod host;
mod hugepages;
mod libraries;
mod markers;
mod memlock;
mod modules;
mod mtu;
mod needed;
mod netns;
mod nodes;
mod packages;
mod ports;
mod program;
mod render;
mod roce_mode;
mod self_check;
mod tools;

use std::ffi::OsStr;
use std::io::{stdout, IsTerminal};

use cmshim_core::config::{gather, load};
use serde_json::json;

use crate::args::DoctorArgs;
use crate::failure::Failure;
use crate::output;
use crate::run::library;
use check::{Check, Verdict};
use host::Host;
use render::Look;

pub fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    let checks = all(&Host::this(), args.program.as_deref());
    let text = if args.json {
        format!("{:#}\n", as_json(&checks))
    } else {
        let look = Look {
            colour: colour(),
            verbose: args.verbose,
        };
        render::text(&checks, &look)
    };
    output::print(&text)?;
    Ok(match worst(&checks) {
        Verdict::Fail => 2,
        Verdict::Warn => 1,
        Verdict::Ok | Verdict::NotApplicable => 0,
    })
}

/// From what cmshim needs, over the host, to the program.
fn all(host: &Host, program: Option<&OsStr>) -> Vec<Check> {
    let found = library::find(None).map_err(|failure| failure.message);
    let input = gather(std::env::vars_os().collect(), Vec::new(), false);
    let loaded = load(&input);
    let file = input.file.as_ref().map(|(path, _)| path.as_str());
    let mut checks = vec![
        self_check::library(found.as_deref().map_err(String::as_str)),
        self_check::configuration(&loaded, file),
    ];
    checks.extend(of_host(host, loaded.config.listen.min_backlog));
    if let Some(name) = program {
        checks.push(program::check(host, name, self_check::path(&found)));
    }
    checks
}

fn of_host(host: &Host, min_backlog: u32) -> Vec<Check> {
    let devices = fabric::devices(host);
    vec![
        libraries::check(host),
        modules::check(host),
        nodes::check(host),
        ports::check(host, &devices),
        gids::check(&devices),
        roce_mode::check(host, &devices),
        mtu::check(host, &devices),
        arp::check(host, &devices),
        flow::check(host, &devices),
        affinity::check(host, &devices),
        memlock::check(host),
        hugepages::check(host),
        backlog::check(host, min_backlog),
        netns::check(host),
        acm::check(host, &devices),
    ]
}

fn worst(checks: &[Check]) -> Verdict {
    let verdicts = checks.iter().map(|check| check.verdict);
    verdicts.max().unwrap_or(Verdict::NotApplicable)
}

fn as_json(checks: &[Check]) -> serde_json::Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "status": worst(checks),
        "checks": checks,
    })
}

/// As most programs have it (no-color.org).
fn colour() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stdout().is_terminal() && !set("NO_COLOR") && !dumb
}

#[cfg(test)]
mod tests {
    use super::fixture::Tree;
    use super::*;

    fn verdicts(tree: &Tree) -> Vec<(&'static str, Verdict)> {
        let checks = of_host(&tree.host(), 128);
        checks.iter().map(|c| (c.id, c.verdict)).collect()
    }

    /// On an empty tree: what is missing fails, and nothing else has an opinion.
    #[test]
    fn nothing_at_all_is_told_and_no_panic() {
        let tree = Tree::new();
        let told: Vec<&str> = verdicts(&tree)
            .into_iter()
            .filter(|(_, verdict)| *verdict >= Verdict::Warn)
            .map(|(id, _)| id)
            .collect();
        assert_eq!(told, ["libraries", "modules", "devices"]);
    }

    /// Every file that is read holds something odd.
    #[test]
    fn odd_files_do_no_harm() {
        for odd in [
            "",
            "\n",
            "\u{0}",
            "-1",
            "99999999999999999999",
            "a: b: c",
            "\u{fffd}\n\n0-",
        ] {
            let tree = Tree::new();
            tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
            overwrite(&tree.path("sys"), odd);
            for file in [
                "proc/meminfo",
                "proc/net/route",
                "proc/self/status",
                "proc/sys/net/rdma_ucm/max_backlog",
                "proc/sys/net/ipv4/conf/ens1f0/rp_filter",
                "proc/sys/net/ipv4/conf/ens1f0/arp_ignore",
                "sys/devices/system/node/node0/cpulist",
                "sys/devices/system/node/node1/cpulist",
                "sys/devices/virtual/workqueue/cpumask",
                "sys/module/ib_core/parameters/netns_mode",
                "var/lib/dpkg/status",
                "etc/ld.so.conf",
                "usr/lib/librdmacm.so.1",
            ] {
                tree.file(file, odd);
            }
            let checks = of_host(&tree.host(), 128);
            let look = Look {
                colour: false,
                verbose: true,
            };
            assert!(!render::text(&checks, &look).is_empty());
        }
    }

    fn overwrite(dir: &std::path::Path, text: &str) {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                overwrite(&entry.path(), text);
            } else if kind.is_file() {
                std::fs::write(entry.path(), text).unwrap();
            }
        }
    }

    /// What is no file where one should be: a directory, a FIFO.
    #[test]
    fn other_things_than_files_do_no_harm() {
        let tree = Tree::new();
        tree.mlx5("mlx5_0", "ens1f0", "0000:03:00.0");
        std::fs::create_dir_all(tree.path("proc/meminfo")).unwrap();
        std::fs::create_dir_all(tree.path("proc/net")).unwrap();
        let fifo = tree.path("proc/net/route");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let verdicts = verdicts(&tree);
        assert!(verdicts.contains(&("gids", Verdict::Ok)), "{verdicts:?}");
    }

    #[test]
    fn the_json_object_is_as_documented() {
        let check = Check::new("x", "title", "why").is(Verdict::NotApplicable, "v");
        let value = as_json(&[
            check,
            Check::new("y", "", "").is(Verdict::Warn, "w").by("c"),
        ]);
        assert_eq!(value["status"], "warn");
        assert_eq!(value["checks"][0]["status"], "not-applicable");
        let keys: Vec<&String> = value["checks"][1].as_object().unwrap().keys().collect();
        let expected = ["details", "id", "mend", "status", "title", "value", "why"];
        let mut keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, expected);
    }
}
