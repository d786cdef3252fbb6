//! Which package of the distribution a file came with.

use std::path::Path;

use super::host::Host;
use super::tools;

const DPKG: &str = "/var/lib/dpkg";

/// "librdmacm1 44.0-2", or `None` when no package is known to have it. `stem` is how the names of
/// packages with such a file begin: all lists are too many to read.
pub fn of(host: &Host, path: &Path, stem: &str) -> Option<String> {
    debian(host, path, stem).or_else(|| red_hat(host, path))
}

fn debian(host: &Host, path: &Path, stem: &str) -> Option<String> {
    let lists = host.names(&format!("{DPKG}/info"));
    let has_it = |list: &&String| {
        let text = host.text(&format!("{DPKG}/info/{list}"));
        text.is_some_and(|text| text.lines().any(|line| same_file(Path::new(line), path)))
    };
    let lists = lists
        .iter()
        .filter(|list| list.starts_with(stem) && list.ends_with(".list"));
    let list = lists.into_iter().find(has_it)?;
    let name = list.trim_end_matches(".list").split(':').next()?;
    let version = installed(&host.text(&format!("{DPKG}/status"))?, name)?;
    Some(format!("{name} {version}"))
}

/// /lib is /usr/lib on a merged system, and lists have either.
fn same_file(listed: &Path, path: &Path) -> bool {
    let short = |path: &Path| path.strip_prefix("/usr").map(Path::to_owned);
    let short = |path: &Path| short(path).or_else(|_| path.strip_prefix("/").map(Path::to_owned));
    matches!((short(listed), short(path)), (Ok(a), Ok(b)) if a == b)
}

/// From the stanza of the package (deb822(5)).
fn installed(status: &str, name: &str) -> Option<String> {
    let field = |stanza: &str, key: &str| {
        let line = stanza.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().to_owned())
    };
    let stanza = status
        .split("\n\n")
        .find(|stanza| field(stanza, "Package:").as_deref() == Some(name))?;
    field(stanza, "Version:")
}

fn red_hat(host: &Host, path: &Path) -> Option<String> {
    let format = "%{NAME} %{VERSION}-%{RELEASE}";
    let told = tools::ask(
        host,
        "rpm",
        &["-qf", "--queryformat", format, path.to_str()?],
    )?;
    Some(told.trim().to_owned()).filter(|told| !told.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn dpkg_knows() {
        let tree = Tree::new();
        let list = "/.\n/usr\n/usr/lib/x86_64-linux-gnu/librdmacm.so.1.3.44.0\n";
        tree.file("var/lib/dpkg/info/librdmacm1:amd64.list", list);
        tree.file("var/lib/dpkg/info/librdmacm-dev.list", "/usr\n");
        let status =
            "Package: librdmacm-dev\nVersion: 1\n\nPackage: librdmacm1\nVersion: 44.0-2\n\n";
        tree.file("var/lib/dpkg/status", status);
        let host = tree.host();
        let of = |path: &str| of(&host, Path::new(path), "librdmacm");
        let version = Some("librdmacm1 44.0-2".to_owned());
        assert_eq!(
            of("/usr/lib/x86_64-linux-gnu/librdmacm.so.1.3.44.0"),
            version
        );
        assert_eq!(of("/lib/x86_64-linux-gnu/librdmacm.so.1.3.44.0"), version);
        assert_eq!(of("/opt/lib/librdmacm.so.1.3.44.0"), None);
    }
}
