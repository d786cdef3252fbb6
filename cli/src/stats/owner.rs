//! Whose a process is: a file in a directory of everybody may claim to be any process's.

/// A process of this host, as the kernel has it.
pub struct Process {
    /// Its real, effective, saved and file system user.
    users: Vec<u32>,
    /// Field 22 of its /proc/PID/stat.
    pub start_time: Option<u64>,
}

impl Process {
    /// `None` if there is none with this number, or it is hidden.
    pub fn with_id(pid: u32) -> Option<Process> {
        // Not the owner of /proc/PID: that is root where the process has changed its user.
        let status = std::fs::read(format!("/proc/{pid}/status")).ok()?;
        Some(Process {
            users: users(&String::from_utf8_lossy(&status)),
            start_time: start_time(pid),
        })
    }

    /// May a file of this user be the process's? It was root when it made the file, or is the user.
    pub fn may_have_made(&self, owner: u32) -> bool {
        owner == 0 || self.users.contains(&owner)
    }
}

fn users(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let numbers = line.unwrap_or_default().split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// The program's name in field 2 may hold anything.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let after = stat.rsplit_once(')')?.1;
    after.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_made_files_of_its_users_and_of_root() {
        let status = "Name:\tx\nUmask:\t0022\nUid:\t1000\t998\t998\t998\nGid:\t0\t0\t0\t0\n";
        let process = Process {
            users: users(status),
            start_time: None,
        };
        let may: Vec<u32> = [0, 998, 999, 1000]
            .into_iter()
            .filter(|uid| process.may_have_made(*uid))
            .collect();
        assert_eq!(may, [0, 998, 1000]);
        let own = Process::with_id(std::process::id()).unwrap();
        assert!(own.start_time.is_some());
        assert!(own.may_have_made(rustix::process::geteuid().as_raw()));
        assert!(Process::with_id(0).is_none());
    }
}
