//! MATRIX.md comes from the table, and the table agrees with the sources and the tests.

use super::descriptors::DESCRIPTORS;
use super::*;
use std::collections::BTreeSet;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn row(s: &Symbol) -> String {
    let lib = s.lib.soname().to_string_lossy();
    let version = s.version.to_string_lossy();
    format!(
        "| `{}` | {lib}, {version} | {} | `c-tests/{}` |\n",
        s.name, s.does, s.test
    )
}

fn matrix() -> String {
    let mut text = String::from(
        "# Exported symbols\n\n\
         Generated from `src/symbols/mod.rs` by `make matrix`; a test fails when the two differ.\n\n\
         Everything else of librdmacm and libibverbs goes straight to the real library. That is in particular the\n\
         data path (`ibv_post_send`, `ibv_post_recv`, `ibv_poll_cq`: inline calls through the context, of which no\n\
         instruction changes), the queries and getters, the functions of rsockets (whose inner calls come through here),\n\
         and the functions of librdmacm 1.4 and later.\n\n\
         | symbol | real symbol | what the shim does | called by |\n|---|---|---|---|\n",
    );
    for s in SYMBOLS {
        text += &row(s);
    }
    text += "\nFunctions of libc, for the descriptors of event channels; for every other descriptor they are one look\n\
         into a table, and then libc's own:\n\n| symbol | real symbol | what the shim does | called by |\n|---|---|---|---|\n";
    for s in DESCRIPTORS {
        text += &row(s);
    }
    text += "\nOur own API, declared in `include/cmshim.h`:\n\n| symbol | called by |\n|---|---|\n";
    for name in OWN {
        text += &format!("| `{name}` | `tools/own_api.c` |\n");
    }
    text
}

#[test]
#[cfg_attr(
    not(target_arch = "x86_64"),
    ignore = "libc's symbols have other versions there"
)]
fn the_matrix_is_the_table() {
    let path = root().join("MATRIX.md");
    if std::env::var_os("UPDATE_MATRIX").is_some() {
        std::fs::write(&path, matrix()).expect("MATRIX.md can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == matrix(),
        "MATRIX.md is not what the table says: run `make matrix`"
    );
}

#[test]
fn every_symbol_is_called_by_a_c_program() {
    for s in SYMBOLS.iter().chain(DESCRIPTORS) {
        let path = root().join("c-tests").join(s.test);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text.contains(s.name),
            "{} does not call {}",
            path.display(),
            s.name
        );
    }
}

/// The names of the functions that follow each `start` in the sources of the entries.
fn in_entries(start: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in std::fs::read_dir(root().join("src/hooks")).expect("src/hooks") {
        let text = std::fs::read_to_string(file.expect("entry").path()).expect("source");
        let functions = text.split(start).skip(1);
        let names = functions.filter_map(|rest| rest.split_once("fn ")?.1.split_once('('));
        found.extend(names.map(|(name, _)| name.to_owned()));
    }
    found.retain(|name| !name.starts_with("cmshim_") && !name.starts_with('$'));
    found
}

#[test]
fn table_and_entries_name_the_same_symbols() {
    let mut entries = in_entries("\nentry! {\n");
    entries.extend(in_entries("\npub unsafe extern \"C-unwind\" "));
    let all = || SYMBOLS.iter().chain(DESCRIPTORS);
    let table: BTreeSet<String> = all().map(|s| s.name.to_owned()).collect();
    assert_eq!(entries, table);
    assert_eq!(
        table.len(),
        all().count(),
        "a symbol stands in the table twice"
    );
}

/// A wrong version is met only when a program opened the library with RTLD_LOCAL: no other look-up
/// depends on it. Symbols that the installed library does not have at all are passed over.
#[test]
fn each_version_is_the_one_of_the_installed_library() {
    for s in SYMBOLS.iter().chain(DESCRIPTORS) {
        let name = std::ffi::CString::new(s.name).expect("no NUL in a name");
        // SAFETY: all strings are NUL-terminated and live across the calls; the handle stays open.
        let (any, versioned) = unsafe {
            let handle = libc::dlopen(s.lib.soname().as_ptr(), libc::RTLD_LAZY);
            assert!(!handle.is_null(), "{:?} is not installed", s.lib.soname());
            (
                libc::dlsym(handle, name.as_ptr()),
                libc::dlvsym(handle, name.as_ptr(), s.version.as_ptr()),
            )
        };
        assert_eq!(
            any, versioned,
            "{} is not of version {:?}",
            s.name, s.version
        );
    }
}
