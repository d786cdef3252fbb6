//! The policy file: read at the first RDMA call, and again when it changes.

use super::decide::Current;
use super::share::Share;
use super::watched::LOOK_EVERY;
use super::{configured, Tenants, CLOSED};
use crate::process::keeper;
use crate::process::shim::Shim;
use crate::sys::lock::lock;
use cmshim_core::config::{is_lost_policy, OnError};
use cmshim_core::tenant::share::slot;
use cmshim_core::tenant::{cgroup_path, file, own_tenant, Mode, Policy, Subject, NO_TENANT_KEY};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What is wrong with the place where connections are counted. Told once, as soon as there is a limit.
pub type Complaint = Mutex<Option<(log::Level, String)>>;

/// A channel or an id is made: the policy is read now, so that one that cannot be read is told of early. Inside
/// `guard::run`.
pub fn begin(shim: &'static Shim) {
    if configured(shim) {
        current(shim);
    }
}

/// The policy in effect, read if that was not done yet; `None` where none is configured.
pub fn current(shim: &'static Shim) -> Option<Arc<Current>> {
    let path = shim.config.tenant.policy.as_deref()?;
    let tenants = super::state();
    if !keeper::runs() {
        look_once_in_a_while(shim, tenants, path);
        if super::on() {
            keeper::ensure(shim);
        }
    }
    let mut current = lock(&tenants.current);
    if let Some(current) = &*current {
        return Some(Arc::clone(current));
    }
    let first = first(shim, tenants, path);
    *current = Some(Arc::clone(&first));
    drop(current);
    super::turn_on();
    if shim.config.threads {
        keeper::at(Instant::now() + LOOK_EVERY);
        keeper::ensure(shim);
    }
    Some(first)
}

fn first(shim: &'static Shim, tenants: &Tenants, path: &str) -> Arc<Current> {
    let whole = tenants.watched.first(path, || read(path));
    let policy = whole.unwrap_or_else(|| Err(format!("{path}: it is being written")));
    let policy = policy.map_err(|why| {
        let text = unread(path, &why, shim.config.tenant.on_error);
        log::error!("{text}");
    });
    share(shim, tenants, path);
    take_effect(shim, tenants, path, policy.ok())
}

/// What is told where there is no policy. A name that is wrong in the configuration, which was told of, is no file that
/// could come.
pub(super) fn unread(path: &str, why: &str, on_error: OnError) -> String {
    let then = match on_error {
        OnError::Deny => "all connects are refused",
        OnError::Allow => "nothing is refused",
    };
    match is_lost_policy(path) {
        true => format!(
            "tenant.policy: the configuration is wrong where it may name a policy; {then} (tenant.on_error). See cmshim config"
        ),
        false => format!("tenant.policy {why}; {then} until it can be read (tenant.on_error)"),
    }
}

/// Reads and checks the file; what is wrong with it in words that begin with its name.
fn read(path: &str) -> Result<Policy, String> {
    let bytes = file(Path::new(path)).map_err(|problem| problem.in_file(path))?;
    Policy::parse(&bytes).map_err(|problems| {
        let more = match problems.len() {
            0 | 1 => String::new(),
            n => format!(" (and {} more: cmshim policy check)", n - 1),
        };
        let first = problems.first().map(|problem| problem.in_file(path));
        format!("{}{more}", first.unwrap_or_default())
    })
}

/// By what all processes know that they use the same policy: its name in its real directory. Not what a link of that name
/// leads to: in a ConfigMap that is another file after each change.
fn same_for_all(path: &Path) -> String {
    let real = path
        .parent()
        .zip(path.file_name())
        .and_then(|(dir, name)| Some(std::fs::canonicalize(dir).ok()?.join(name)));
    real.as_deref()
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// Finds the table that all processes share. Where there is none, `tenant.on_error` decides.
fn share(shim: &Shim, tenants: &Tenants, path: &str) {
    if tenants.share.get().is_some() {
        return;
    }
    let whole = same_for_all(Path::new(path));
    let (share, complaint) = match Share::open(shim.config.tenant.dir.as_deref(), &whole) {
        Ok(share) => {
            let complaint = share.aside().map(|(place, why)| {
                let place = place.display();
                let text = format!("limits of tenants are counted in {place}, apart from processes of other users ({why}); how all count together: man cmshim-policy, LIMITS");
                (log::Level::Warn, text)
            });
            (Some(share), complaint)
        }
        Err(why) => {
            let then = match shim.config.tenant.on_error {
                OnError::Deny => "connects of tenants with limits are refused (tenant.on_error)",
                OnError::Allow => "each process counts alone (tenant.on_error)",
            };
            let text =
                format!("limits of tenants cannot be counted with other processes: {why}; {then}");
            (Share::alone(&whole), Some((log::Level::Error, text)))
        }
    };
    *lock(&tenants.complaint) = complaint;
    if let Some(share) = share {
        // Under the lock of `current`: nobody else sets it.
        let _ = tenants.share.set(share);
    }
}

/// Tells what is wrong with the counting, if anything is counted.
fn complain(tenants: &Tenants, policy: Option<&Policy>) {
    let limited = |p: &Policy| p.subjects().iter().any(Subject::limited);
    let due = |(level, _): &mut (log::Level, String)| match policy {
        Some(policy) => limited(policy),
        None => *level == log::Level::Error,
    };
    let complaint = lock(&tenants.complaint).take_if(due);
    if let Some((level, text)) = complaint {
        log::log!(level, "{text}");
    }
}

/// Makes what everybody decides by from now on.
fn take_effect(shim: &Shim, tenants: &Tenants, path: &str, policy: Option<Policy>) -> Arc<Current> {
    complain(tenants, policy.as_ref());
    let share = tenants.share.get();
    let settings = &shim.config.tenant;
    let allow = settings.on_error == OnError::Allow;
    let subjects = policy.as_ref().map_or(&[][..], Policy::subjects);
    let (nobody, rows) = rows(share, subjects);
    let enforce = policy
        .as_ref()
        .map_or(!allow, |p| p.mode() == Mode::Enforce);
    CLOSED.store(enforce, Ordering::Relaxed);
    if let Some(share) = share {
        let state = match &policy {
            Some(p) if p.mode() == Mode::Enforce => slot::ENFORCES,
            Some(_) => slot::OBSERVES,
            None if allow => slot::OPEN,
            None => slot::CLOSED,
        };
        let fingerprint = policy.as_ref().map_or(0, Policy::fingerprint);
        share.publish(
            fingerprint,
            state,
            tenants.watched.reloads.load(Ordering::Relaxed),
        );
    }
    let own = own(settings.name.as_deref(), settings.cgroup.as_deref());
    let named = settings.name.is_some();
    if let (Some(policy), Some(name)) = (&policy, &own) {
        if let Some(text) = unknown_tenant_text(policy, path, name, named, settings.on_error) {
            log::warn!("{text}");
        }
    }
    Arc::new(Current {
        rows,
        nobody,
        own,
        named,
        limits_hold: allow,
        allow_without: allow,
        file: shown(path).to_owned(),
        policy,
    })
}

/// What is told where the policy does not have this process's tenant: `named` by tenant.name, else found by its cgroup.
pub(super) fn unknown_tenant_text(
    policy: &Policy,
    path: &str,
    name: &str,
    named: bool,
    on_error: OnError,
) -> Option<String> {
    if policy.has_tenant(name) {
        return None;
    }
    let key = if named {
        "tenant.name"
    } else {
        "tenant.cgroup"
    };
    let then = match (named, on_error, policy.mode()) {
        (true, OnError::Deny, Mode::Enforce) => {
            "outgoing connects of this process are refused (tenant.on_error)"
        }
        (true, OnError::Deny, Mode::Observe) => {
            "outgoing connects of this process would be refused, did the policy not only observe"
        }
        (true, OnError::Allow, _) => {
            "egress_default decides about outgoing connects of this process (tenant.on_error)"
        }
        (false, ..) => "egress_default decides about outgoing connects of this process",
    };
    let known = known(policy);
    Some(format!(
        "{key}: the policy {path} has no tenant '{name}' ({known}); {then}"
    ))
}

/// The policy's tenants, the first ones by name.
fn known(policy: &Policy) -> String {
    const SHOWN: usize = 8;
    let tenants = policy.subjects().iter().filter(|s| !s.egress);
    let names: Vec<&str> = tenants
        .clone()
        .take(SHOWN)
        .map(|s| s.name.as_str())
        .collect();
    match tenants.count() {
        0 => "it has none".to_owned(),
        all if all > SHOWN => format!("its tenants: {} and {} more", names.join(", "), all - SHOWN),
        _ => format!("its tenants: {}", names.join(", ")),
    }
}

/// The policy's file as it is told; empty if the configuration names none that can be used.
fn shown(path: &str) -> &str {
    match is_lost_policy(path) {
        true => "",
        false => path,
    }
}

/// The rows of nobody and of all subjects. There may be more subjects than rows: those with limits come first, and
/// what is not counted besides is only not shown.
fn rows(share: Option<&Share>, subjects: &[Subject]) -> (Option<usize>, Vec<Option<usize>>) {
    let mut rows = vec![None; subjects.len()];
    let Some(share) = share else {
        return (None, rows);
    };
    let nobody = share.row(NO_TENANT_KEY, "");
    for limited in [true, false] {
        let wanted = subjects
            .iter()
            .zip(&mut rows)
            .filter(|(s, _)| s.limited() == limited);
        for (subject, row) in wanted {
            *row = share.row(subject.key, &subject.name);
            match *row {
                Some(row) => share.set_limit(row, subject),
                // All are taken.
                None => break,
            }
        }
    }
    (nobody, rows)
}

/// The tenant that this process is itself: by name, or by its cgroup.
fn own(name: Option<&str>, pattern: Option<&str>) -> Option<String> {
    if let Some(name) = name {
        return Some(name.to_owned());
    }
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    own_tenant(pattern?, cgroup_path(&groups)?)
}

/// Looks whether the file has changed; when to look again. Called by the keeper, so that no connect waits for it.
pub fn look(shim: &'static Shim) -> Option<Instant> {
    let path = shim.config.tenant.policy.as_deref()?;
    let tenants = super::state();
    lock(&tenants.current).as_ref()?;
    look_once_in_a_while(shim, tenants, path);
    Some(Instant::now() + LOOK_EVERY)
}

/// Not at each of the keeper's rounds; and where it does not run, whoever asks next looks.
fn look_once_in_a_while(shim: &Shim, tenants: &Tenants, path: &str) {
    let current = lock(&tenants.current).clone();
    let Some(current) = current.filter(|_| tenants.watched.due()) else {
        return;
    };
    // An interface that the policy names may have come, or come again, meanwhile.
    current.policy.iter().for_each(Policy::look_up_interfaces);
    reload(shim, tenants, path);
}

fn reload(shim: &Shim, tenants: &Tenants, path: &str) {
    let Some(found) = tenants.watched.changed(path) else {
        return;
    };
    let policy = read(path);
    if !tenants.watched.took(found, path) {
        // Half of it, perhaps: the next look sees.
        return;
    }
    match policy {
        Ok(policy) => {
            tenants.watched.reloads.fetch_add(1, Ordering::Relaxed);
            let tenants_of = policy.subjects().iter().filter(|s| !s.egress).count();
            let fresh = take_effect(shim, tenants, path, Some(policy));
            // Only pointers change hands under the lock; the old policy is freed by its last user.
            let old = lock(&tenants.current).replace(fresh);
            drop(old);
            log::info!("tenant.policy {path}: read again, {tenants_of} tenants");
        }
        Err(why) => {
            let had = lock(&tenants.current)
                .as_ref()
                .is_some_and(|c| c.policy.is_some());
            let then = match (had, shim.config.tenant.on_error) {
                (true, _) => "the policy that was in effect stays",
                (false, OnError::Deny) => "all connects are still refused (tenant.on_error)",
                (false, OnError::Allow) => "still nothing is refused (tenant.on_error)",
            };
            log::error!("tenant.policy {why}; {then}");
            if let Some(share) = tenants.share.get() {
                share.mark_broken();
            }
        }
    }
}

/// Does the policy look at GIDs, which cost a question to the kernel?
pub fn needs_gid(shim: &'static Shim) -> bool {
    current(shim).is_some_and(|c| c.policy.as_ref().is_some_and(Policy::needs_gid))
}

#[cfg(test)]
mod tests {
    use super::same_for_all;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_changed_config_map_is_the_same_policy() {
        let dir = std::env::temp_dir().join(format!("cmshim-test-{}-links", std::process::id()));
        for data in ["one", "two"] {
            std::fs::create_dir_all(dir.join(data)).expect("made");
            std::fs::write(dir.join(data).join("policy.toml"), data).expect("written");
        }
        symlink("one", dir.join("..data")).expect("linked");
        symlink("..data/policy.toml", dir.join("policy.toml")).expect("linked");
        symlink(".", dir.join("here")).expect("linked");
        let path = dir.join("policy.toml");
        let before = same_for_all(&path);
        std::fs::remove_file(dir.join("..data")).expect("removed");
        symlink("two", dir.join("..data")).expect("linked");
        let after = same_for_all(&path);
        let by_link = same_for_all(&dir.join("here/policy.toml"));
        let _ = std::fs::remove_dir_all(&dir);
        assert_eq!(before, after);
        assert_eq!(before, by_link);
    }
}
