//! Which processes of a sharing file live: the kernel drops their locks when they die.

use std::fs::File;

use nix::fcntl::{fcntl, FcntlArg};
use nix::libc;

/// Does a process that may write the file hold byte `slot` of it? A lock for reading can have anybody who may read it.
pub fn held(file: &File, slot: usize) -> bool {
    let mut lock = libc::flock {
        l_type: libc::F_RDLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: slot as libc::off_t,
        l_len: 1,
        l_pid: 0,
    };
    let asked = fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock));
    asked.is_ok() && lock.l_type == libc::F_WRLCK as libc::c_short
}
