//! Where the library may be.

use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name that the dynamic loader finds in its own directories.
pub const SONAME: &str = "libcmshim.so.0";
/// The name that cargo builds, beside this program.
pub const BUILT: &str = "libcmshim.so";

/// Where the library of this program may be: in cargo's target directory, or installed.
pub fn beside(program: &Path) -> Vec<PathBuf> {
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

/// Where the library is looked for by its name: also where `make install` puts it, which the loader
/// of some distributions leaves out.
pub fn system() -> Vec<PathBuf> {
    let variable = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut dirs = loader(Path::new("/"), &variable);
    dirs.extend(libraries_of(Path::new("/usr/local")));
    dirs.into_iter().map(|dir| dir.join(SONAME)).collect()
}

/// Where the dynamic loader looks for a name (ld.so(8)): LD_LIBRARY_PATH, the directories of
/// ld.so.conf, and its own. Its cache is not read: it may be older than the directories.
pub fn loader(root: &Path, library_path: &OsStr) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = std::env::split_paths(library_path)
        .filter(|dir| dir.is_absolute())
        .collect();
    dirs.extend(configured(root));
    dirs.extend(
        ["/usr", "/"]
            .map(Path::new)
            .into_iter()
            .flat_map(libraries_of),
    );
    dirs.into_iter().map(|dir| below(root, &dir)).collect()
}

fn libraries_of(prefix: &Path) -> [PathBuf; 3] {
    let lib = prefix.join("lib");
    [lib.join(multiarch()), prefix.join("lib64"), lib]
}

/// An absolute path, seen from another root than `/`.
pub fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// The directories that the files of /etc/ld.so.conf.d name, which is what its include line names.
fn configured(root: &Path) -> Vec<PathBuf> {
    let mut files = vec![root.join("etc/ld.so.conf")];
    if let Ok(entries) = std::fs::read_dir(root.join("etc/ld.so.conf.d")) {
        let mut more: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        more.sort();
        files.extend(more);
    }
    files
        .iter()
        .filter_map(|file| cmshim_core::config::read_file(file).ok())
        .flat_map(|text| directories(&text))
        .collect()
}

fn directories(text: &str) -> Vec<PathBuf> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| line.starts_with('/'))
        .map(PathBuf::from)
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_beside_the_program_first() {
        let places = beside(Path::new("/opt/x/bin/cmshim"));
        assert_eq!(places[0], Path::new("/opt/x/bin/libcmshim.so"));
        assert_eq!(places[1], Path::new("/opt/x/lib/libcmshim.so.0"));
        assert_eq!(places[2], Path::new("/opt/x/lib64/libcmshim.so.0"));
        assert!(places[3].ends_with("libcmshim.so.0"));
        assert_eq!(places.len(), 4);
    }

    #[test]
    fn reads_the_directories_of_the_loaders_configuration() {
        let text = "# a\n/opt/x/lib # b\ninclude /etc/ld.so.conf.d/*.conf\n  /y\n";
        assert_eq!(
            directories(text),
            [PathBuf::from("/opt/x/lib"), PathBuf::from("/y")]
        );
    }
}
