//! The libraries that a program is linked with, directly and through others.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::host::Host;
use super::libraries::in_dirs;
use crate::run::{dynamic, elf, places};

/// No program that works has more.
const MOST: usize = 2000;

pub struct Object {
    pub path: PathBuf,
    pub needed: Vec<String>,
    /// Who asked for it first, by its place in the list.
    pub parent: Option<usize>,
}

/// The program comes first; each object once; what is not found is left out.
pub fn of(host: &Host, program: &Path) -> Vec<Object> {
    let target = elf::read(program).map(|elf| elf.target);
    let dirs = places::loader(&host.root, &host.library_path);
    let mut all: Vec<Object> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut queue = VecDeque::from([(program.to_owned(), None)]);
    while let Some((path, parent)) = queue.pop_front() {
        let Some(dynamic) = dynamic::read(&path) else {
            continue;
        };
        let own: Vec<PathBuf> = dynamic
            .search
            .iter()
            .map(|dir| expand(dir, &path))
            .collect();
        let dirs: Vec<PathBuf> = own.into_iter().chain(dirs.iter().cloned()).collect();
        for name in &dynamic.needed {
            if seen.len() < MOST && seen.insert(name.clone()) {
                let found = match name.contains('/') {
                    true => Some(PathBuf::from(name)),
                    false => in_dirs(&dirs, name, target),
                };
                queue.extend(found.map(|path| (path, Some(all.len()))));
            }
        }
        all.push(Object {
            path,
            needed: dynamic.needed,
            parent,
        });
    }
    all
}

/// $ORIGIN is the directory of the file that says it (ld.so(8)).
fn expand(dir: &str, of: &Path) -> PathBuf {
    let real = std::fs::canonicalize(of).unwrap_or_else(|_| of.to_owned());
    let origin = real.parent().unwrap_or(Path::new("/")).to_string_lossy();
    PathBuf::from(
        dir.replace("${ORIGIN}", &origin)
            .replace("$ORIGIN", &origin),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_the_files_directory() {
        let dir = |text: &str| expand(text, Path::new("/no/bin/x"));
        assert_eq!(dir("$ORIGIN/../lib"), Path::new("/no/bin/../lib"));
        assert_eq!(dir("${ORIGIN}"), Path::new("/no/bin"));
        assert_eq!(dir("/usr/lib"), Path::new("/usr/lib"));
    }
}
