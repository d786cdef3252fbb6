//! Which library is preloaded.

use std::env::consts::ARCH;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cmshim_core::config::LIBRARY_VARIABLE;

use super::preload::is_separator;
use crate::failure::{Failure, NO_LIBRARY};

/// The name that the dynamic loader finds in its own directories.
const SONAME: &str = "libcmshim.so.0";
/// The name that cargo builds, beside this program.
const BUILT: &str = "libcmshim.so";

/// The option, else the variable, else the library that belongs to this program, else the soname.
pub fn find(option: Option<&Path>) -> Result<OsString, Failure> {
    if let Some(path) = option {
        return usable(path, "--library");
    }
    let variable = std::env::var_os(LIBRARY_VARIABLE).filter(|v| !v.is_empty());
    if let Some(path) = variable {
        return usable(Path::new(&path), LIBRARY_VARIABLE);
    }
    let program = std::env::current_exe().unwrap_or_default();
    match places(&program).into_iter().find(|p| p.is_file()) {
        Some(path) => usable(&path, "the library found beside this program"),
        None => Ok(SONAME.into()),
    }
}

/// Where the library of this program may be: in cargo's target directory, or installed.
fn places(program: &Path) -> Vec<PathBuf> {
    let Some(dir) = program.parent() else {
        return Vec::new();
    };
    let mut places = vec![dir.join(BUILT)];
    if let Some(prefix) = dir.parent() {
        let lib = prefix.join("lib");
        places.push(lib.join(SONAME));
        places.push(prefix.join("lib64").join(SONAME));
        places.push(lib.join(multiarch()).join(SONAME));
    }
    places
}

/// The directory that Debian and its children keep the libraries of this machine in.
fn multiarch() -> String {
    match ARCH {
        "x86" => "i386-linux-gnu".to_owned(),
        "arm" => "arm-linux-gnueabihf".to_owned(),
        "powerpc64" if cfg!(target_endian = "little") => "powerpc64le-linux-gnu".to_owned(),
        other => format!("{other}-linux-gnu"),
    }
}

/// As it can stand in LD_PRELOAD: absolute, since the program's children may start elsewhere.
fn usable(path: &Path, from: &str) -> Result<OsString, Failure> {
    let fail = |why: &str| {
        let message = format!("{from}: {}: {why}", path.display());
        Failure::new(NO_LIBRARY, message)
    };
    if path == Path::new(SONAME) || path == Path::new(BUILT) && !path.exists() {
        return Ok(path.into());
    }
    let absolute = std::path::absolute(path).map_err(|e| fail(&e.to_string()))?;
    if !absolute.is_file() {
        return Err(fail("no such file"));
    }
    let absolute = absolute.into_os_string();
    if absolute.as_encoded_bytes().iter().any(|&b| is_separator(b)) {
        return Err(fail(
            "LD_PRELOAD cannot hold a path with a space or a colon in it; copy or link the library elsewhere",
        ));
    }
    Ok(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_beside_the_program_first() {
        let places = places(Path::new("/opt/x/bin/cmshim"));
        assert_eq!(places[0], Path::new("/opt/x/bin/libcmshim.so"));
        assert_eq!(places[1], Path::new("/opt/x/lib/libcmshim.so.0"));
        assert_eq!(places[2], Path::new("/opt/x/lib64/libcmshim.so.0"));
        assert!(places[3].ends_with("libcmshim.so.0"));
        assert_eq!(places.len(), 4);
    }
}
