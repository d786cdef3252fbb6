//! Providers that take no locks: then no thread of ours may create or destroy what stands on the program's queues. The keeper
//! would meet the program's thread in a completion queue, where libmlx5 ends the process (`mlx5_spin_lock`,
//! providers/mlx5/mlx5.h).

use super::evict;
use crate::abi::verbs::IbvContext;
use crate::process::shim::Shim;
use crate::sys;
use cmshim_core::pool::Scope;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// By which libmlx5 is told that the program has one thread; the only such variable of rdma-core (v17 to v64).
const VARIABLE: &str = "MLX5_SINGLE_THREADED";

/// A device was opened: may the pool go on?
pub fn look(shim: &Shim, open: &IbvContext) {
    if !single_threaded(open) {
        return;
    }
    super::state().with(shim, |book| book.no_threads());
    evict::evict(shim, Scope::All);
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.swap(true, Ordering::Relaxed) {
        log::info!(
            "{VARIABLE}=1: the pool is off in this process, since its thread may not touch the program's queues"
        );
    }
}

/// Set when the program was started, or by the program meanwhile.
fn single_threaded(open: &IbvContext) -> bool {
    let at_load = || sys::load::variable(VARIABLE).is_some_and(|value| value == "1");
    at_load() || is_mlx5(open) && set_now()
}

fn is_mlx5(open: &IbvContext) -> bool {
    // SAFETY: the device of an open context is there, and its name ends with NUL (`struct ibv_device`).
    let name = unsafe { CStr::from_ptr((*open.device).name.as_ptr()) };
    let driver = format!(
        "/sys/class/infiniband/{}/device/driver",
        name.to_string_lossy()
    );
    std::fs::read_link(driver).is_ok_and(|to| to.ends_with("mlx5_core"))
}

/// libmlx5 has just asked the same, in this thread: who changes the environment in another one meanwhile, does so to both.
fn set_now() -> bool {
    // SAFETY: a NUL-terminated name; what getenv gives is read at once.
    unsafe {
        let value = libc::getenv(c"MLX5_SINGLE_THREADED".as_ptr());
        !value.is_null() && CStr::from_ptr(value) == c"1"
    }
}
