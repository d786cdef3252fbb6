//! The own tenant of a process, from the path of its cgroup.

/// What stands for the tenant's name in a pattern.
const TENANT: &str = "{tenant}";

/// The path in /proc/self/cgroup: that of cgroup v2, line `0::/path`.
pub fn cgroup_path(proc_self_cgroup: &str) -> Option<&str> {
    proc_self_cgroup
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
}

/// The tenant that `pattern` finds in `path`; the whole path has to match.
///
/// `{tenant}` is one or more characters other than `/`, `*` any number of them, `**` any number of any
/// characters. Each takes as much as it can, the first one first.
pub fn own_tenant(pattern: &str, path: &str) -> Option<String> {
    let parts = parts(pattern);
    let table = Table::of(&parts, path);
    let (mut at, mut tenant) = (0, None);
    if !table.fits(0, 0) {
        return None;
    }
    for (number, part) in parts.iter().enumerate() {
        let end = match part {
            Part::Text(text) => at + text.len(),
            // There is one, since the table says that the parts from here on fit.
            wild => (wild.shortest(at)..=wild.longest(path, at))
                .rev()
                .find(|&end| table.fits(number + 1, end))?,
        };
        if matches!(part, Part::Tenant) {
            tenant = Some(path[at..end].to_owned());
        }
        at = end;
    }
    tenant
}

/// What is wrong with a pattern.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    match pattern.matches(TENANT).count() {
        _ if pattern.len() > 512 => Err("the pattern is longer than 512 bytes".to_owned()),
        1 => Ok(()),
        0 => Err(format!("{TENANT} is missing")),
        _ => Err(format!("{TENANT} stands in it more than once")),
    }
}

enum Part<'p> {
    Text(&'p str),
    Star,
    Stars,
    Tenant,
}

fn parts(pattern: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), pattern);
    while !rest.is_empty() {
        let wild = [
            (TENANT, Part::Tenant),
            ("**", Part::Stars),
            ("*", Part::Star),
        ];
        let found = wild
            .into_iter()
            .find_map(|(text, part)| Some((rest.strip_prefix(text)?, part)));
        rest = match found {
            Some((after, part)) => {
                parts.push(part);
                after
            }
            None => {
                let end = [rest.find('*'), rest.find(TENANT)];
                let end = end.into_iter().flatten().min().unwrap_or(rest.len());
                parts.push(Part::Text(&rest[..end]));
                &rest[end..]
            }
        };
    }
    parts
}

impl Part<'_> {
    /// Where a wild part that begins here may end.
    fn shortest(&self, at: usize) -> usize {
        at + usize::from(matches!(self, Part::Tenant))
    }

    fn longest(&self, path: &str, at: usize) -> usize {
        match self {
            Part::Stars => path.len(),
            _ => path[at..]
                .find('/')
                .map_or(path.len(), |length| at + length),
        }
    }
}

/// For each part and place whether the parts from there on fit the path from there on. Searching
/// without it takes for ever with some patterns.
struct Table {
    fits: Vec<bool>,
    /// Places: one more than the path has bytes.
    width: usize,
}

impl Table {
    fn of(parts: &[Part], path: &str) -> Table {
        let width = path.len() + 1;
        let mut table = Table {
            fits: vec![false; (parts.len() + 1) * width],
            width,
        };
        table.fits[parts.len() * width + path.len()] = true;
        for (number, part) in parts.iter().enumerate().rev() {
            // Whether the next part fits somewhere from here on, with nothing in between that this one may not take.
            let mut reachable = false;
            for at in (0..width).rev().filter(|&at| path.is_char_boundary(at)) {
                let here = table.fits(number + 1, at);
                let after =
                    reachable && (matches!(part, Part::Stars) || !path[at..].starts_with('/'));
                reachable = here || after;
                table.fits[number * width + at] = match part {
                    Part::Text(text) => {
                        path[at..].starts_with(text) && table.fits(number + 1, at + text.len())
                    }
                    Part::Star | Part::Stars => reachable,
                    Part::Tenant => after,
                };
            }
        }
        table
    }

    fn fits(&self, part: usize, at: usize) -> bool {
        at < self.width && self.fits[part * self.width + at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_path_has_to_match() {
        let own = |pattern, path| own_tenant(pattern, path);
        assert_eq!(
            own("/tenants/{tenant}", "/tenants/olap").as_deref(),
            Some("olap")
        );
        assert_eq!(own("/tenants/{tenant}", "/tenants/olap/x"), None);
        assert_eq!(own("/tenants/{tenant}", "/tenants/"), None);
        assert_eq!(own("/tenants/{tenant}", "/a/tenants/olap"), None);
        assert_eq!(own("/{tenant}/**", "/olap/a/b").as_deref(), Some("olap"));
        assert_eq!(own("/*/{tenant}.slice", "/a/b.slice").as_deref(), Some("b"));
        assert_eq!(own("/*/{tenant}.slice", "/a/c/b.slice"), None);
        assert_eq!(
            own("**/pod-{tenant}-*", "/x/y/pod-a-b-c").as_deref(),
            Some("a-b")
        );
        assert_eq!(own("/{tenant}", "/ä").as_deref(), Some("ä"));
        assert_eq!(own("/x", "/x"), None);
        assert_eq!(own("", ""), None);
    }

    #[test]
    fn hard_patterns_end_soon() {
        let pattern = format!("{}{{tenant}}b", "**a".repeat(60));
        assert_eq!(own_tenant(&pattern, &"a".repeat(3000)), None);
    }

    #[test]
    fn the_line_of_version_2() {
        let both = "12:cpu:/x\n1:name=systemd:/y\n0::/user.slice/a:b\n";
        assert_eq!(cgroup_path(both), Some("/user.slice/a:b"));
        assert_eq!(cgroup_path("12:cpu:/x\n"), None);
    }

    #[test]
    fn patterns_have_the_tenant_once() {
        assert!(check_pattern("/{tenant}/**").is_ok());
        assert!(check_pattern("/x").is_err());
        assert!(check_pattern("/{tenant}/{tenant}").is_err());
    }
}
