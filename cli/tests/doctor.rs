//! `cmshim doctor` on the machine that the tests run on, and its verdicts about programs.

mod common;

use std::path::Path;
use std::process::Output;

use common::{ask, cmshim, set_mode, told, Scratch};
use serde_json::Value;

/// The check of a program, as JSON.
fn about(program: &Path) -> Value {
    let output = cmshim()
        .args(["doctor", "--json", "--program"])
        .arg(program)
        .output()
        .unwrap();
    let report = report(output);
    report["checks"].as_array().unwrap().last().unwrap().clone()
}

/// The report; the exit status must fit it.
fn report(output: Output) -> Value {
    let (status, out, err) = told(output);
    assert_eq!(err, "");
    let report: Value = serde_json::from_str(&out).unwrap();
    let expected = match report["status"].as_str().unwrap() {
        "ok" => 0,
        "warn" => 1,
        "fail" => 2,
        other => panic!("{other}"),
    };
    assert_eq!(status, expected);
    report
}

fn value(check: &Value) -> &str {
    check["value"].as_str().unwrap()
}

#[test]
fn every_check_has_its_place_in_text_and_json() {
    let report = report(cmshim().args(["doctor", "--json"]).output().unwrap());
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let (_, text, err) = ask(&["doctor"]);
    assert_eq!(err, "");
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() > 10, "{checks:?}");
    let mut ids: Vec<&str> = checks.iter().map(|c| c["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), checks.len());
    for check in checks {
        assert!(text.contains(check["title"].as_str().unwrap()), "{check}");
        assert!(!value(check).is_empty() && check["why"] != "", "{check}");
        let troubled = check["status"] == "warn" || check["status"] == "fail";
        let mended = !check["mend"].as_array().unwrap().is_empty();
        assert_eq!(troubled, mended, "{check}");
    }
    for line in text.lines().filter(|line| !line.contains("mend:")) {
        // A path is not broken.
        let wide = line.split_whitespace().any(|word| word.len() > 50);
        assert!(wide || line.chars().count() <= 80, "{line}");
    }
    assert!(!text.contains('\x1b'), "no colours into a pipe: {text}");
}

#[test]
fn verbose_says_why_everywhere() {
    let (_, text, _) = ask(&["doctor", "--verbose"]);
    let whys = text.lines().filter(|line| line.starts_with("      why:  "));
    let checks = text
        .lines()
        .filter(|line| !line.starts_with(' ') && !line.is_empty());
    assert_eq!(whys.count(), checks.count() - 1, "{text}");
    assert_eq!(ask(&["doctor", "--verbose", "--json"]).0, 2);
}

#[test]
fn a_configuration_with_a_mistake_is_named() {
    let dir = Scratch::new();
    let file = dir.file("x.toml", "[listen]\nmin_backlog = \"many\"\n");
    let output = cmshim()
        .args(["doctor", "--json"])
        .env("CMSHIM_CONFIG", &file)
        .output();
    let report = report(output.unwrap());
    let check = &report["checks"][1];
    assert_eq!(
        (&check["id"], &check["status"]),
        (&"configuration".into(), &"warn".into())
    );
    assert_eq!(value(check), format!("{}: 1 problem", file.display()));
}

#[test]
fn a_missing_library_is_named() {
    let output = cmshim()
        .args(["doctor", "--json"])
        .env("CMSHIM_LIBRARY", "/nowhere/libcmshim.so.0")
        .output();
    let check = &report(output.unwrap())["checks"][0];
    assert_eq!(
        (&check["id"], &check["status"]),
        (&"cmshim-library".into(), &"fail".into())
    );
    assert!(
        value(check).contains("/nowhere/libcmshim.so.0: no such file"),
        "{check}"
    );
}

#[test]
fn the_librarys_version_is_compared() {
    let dir = Scratch::new();
    let with = |name: &str, version: &str| {
        let code = format!(
            "const char *cmshim_version(void) {{ return \"\"; }}\n\
             __attribute__((section(\".cmshim.version\"), used)) static const char v[] = \"{version}\";\n"
        );
        let library = dir.compile(name, &code, &["-shared", "-fPIC"]);
        let output = cmshim()
            .args(["doctor", "--json"])
            .env("CMSHIM_LIBRARY", library)
            .output();
        report(output.unwrap())["checks"][0].clone()
    };
    assert_eq!(with("same.so", env!("CARGO_PKG_VERSION"))["status"], "ok");
    let other = with("other.so", "7.8.9");
    assert_eq!(other["status"], "warn");
    assert!(value(&other).contains("7.8.9"), "{other}");
}

const USES: &str = "int rdma_destroy_id(void *);\nint main(void) { return rdma_destroy_id(0); }\n";
/// The part of librdmacm that counts here: a function, and another one that calls it.
const RDMACM: &str = "int rdma_destroy_id(void *p) { return p != 0; }\n\
                      int rdma_destroy_ep(void *p) { return rdma_destroy_id(p); }\n";

/// A program linked with a librdmacm.so.1 of our own, found by its RUNPATH.
fn linked_with(dir: &Scratch, flags: &[&str]) -> Value {
    let mut all = vec!["-shared", "-fPIC", "-Wl,-soname,librdmacm.so.1"];
    all.extend(flags);
    let library = dir.compile("librdmacm.so.1", RDMACM, &all);
    let flags = [
        "-Wl,-rpath,$ORIGIN,--no-as-needed",
        "-x",
        "none",
        library.to_str().unwrap(),
        "-x",
        "c",
    ];
    about(&dir.compile("linked", USES, &flags))
}

#[test]
fn a_linked_program_is_fine() {
    let check = linked_with(&Scratch::new(), &[]);
    assert_eq!(check["status"], "ok", "{check}");
    assert_eq!(check["details"][1], "librdmacm.so.1: needed by linked");
}

#[test]
fn a_program_linked_with_cmshim_is_fine() {
    let dir = Scratch::new();
    let flags = ["-shared", "-fPIC", "-Wl,-Bsymbolic,-soname,libcmshim.so.0"];
    let library = dir.compile("libcmshim.so.0", RDMACM, &flags);
    let library = library.to_str().unwrap();
    let flags = [
        "-Wl,-rpath,$ORIGIN,--no-as-needed",
        "-x",
        "none",
        library,
        "-x",
        "c",
    ];
    let check = about(&dir.compile("linked", USES, &flags));
    assert_eq!(check["status"], "ok", "{check}");
}

#[test]
fn a_library_that_binds_its_own_calls_is_named() {
    for flag in ["-Wl,-Bsymbolic", "-Wl,-Bsymbolic-functions"] {
        let check = linked_with(&Scratch::new(), &[flag]);
        assert_eq!(check["status"], "warn", "{check}");
        assert!(
            check["details"][2].as_str().unwrap().contains("-Bsymbolic"),
            "{check}"
        );
    }
}

#[test]
fn a_copy_of_librdmacm_inside_is_named() {
    let dir = Scratch::new();
    let code = format!("{RDMACM}int main(void) {{ return rdma_destroy_ep(0); }}\n");
    for (name, flags) in [
        ("inside", &[][..]),
        ("exported", &["-rdynamic"]),
        // Stripped, only a text of it is left.
        ("stripped", &["-s", "-DTEXT"]),
    ] {
        let text = "const char *volatile text = \"class/misc/rdma_cm/abi_version\";\n";
        let check = about(&dir.compile(name, &format!("{text}{code}"), flags));
        assert_eq!(check["status"], "fail", "{name}: {check}");
        assert!(value(&check).contains("is linked into"), "{check}");
    }
    let check = about(&dir.compile("symbols", &code, &[]));
    assert_eq!(check["status"], "fail", "{check}");
}

#[test]
fn a_program_that_opens_it_is_named() {
    let dir = Scratch::new();
    let code =
        "#include <dlfcn.h>\nint main(void) { return !dlopen(\"librdmacm.so.1\", RTLD_NOW); }\n";
    let check = about(&dir.compile("opens", code, &[]));
    assert_eq!(check["status"], "warn", "{check}");
    assert!(
        value(&check).contains("names librdmacm.so and is not linked with it"),
        "{check}"
    );
    let check = about(&dir.compile("none", "int main(void) { return 0; }\n", &[]));
    assert_eq!(check["status"], "ok", "{check}");
    assert!(value(&check).contains("links no RDMA library"), "{check}");
}

#[test]
fn programs_in_which_no_preload_works_are_named() {
    let dir = Scratch::new();
    let main = "int main(void) { return 0; }\n";
    let fails = |path: &Path, expected: &str| {
        let check = about(path);
        assert_eq!(check["status"], "fail", "{check}");
        assert!(value(&check).contains(expected), "{check}");
    };
    let fixed = dir.compile("static", main, &["-static"]);
    fails(&fixed, "statically linked");
    let script = dir.executable("script", &format!("#!{}\n", fixed.display()), 0o755);
    fails(&script, "statically linked");
    let loader = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    fails(&dir.compile("musl", main, &[loader]), "musl");
    fails(&dir.file("text", "no program\n"), "no program");
    fails(&dir.path("absent"), "no such program");
    let program = dir.compile("setuid", main, &[]);
    set_mode(&program, 0o4755);
    let own = about(&program);
    assert_eq!(own["status"], "warn", "others cannot: {own}");
    if std::os::unix::fs::chown(&program, Some(65534), None).is_ok() {
        set_mode(&program, 0o4755);
        fails(&program, "setuid");
    }
}

#[test]
fn an_empty_name_is_no_program_and_has_no_command() {
    let (status, out, _) = common::ask(&["doctor", "--program", "", "--json"]);
    assert_eq!(status, 2);
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    let checks = object["checks"].as_array().unwrap();
    let check = checks.iter().find(|c| c["id"] == "program").unwrap();
    assert_eq!(check["value"], "an empty name is no program");
    assert_eq!(check["mend"], serde_json::json!([]));
}
