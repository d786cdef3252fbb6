//! The pool: queue pairs that were never used lie ready for the next `ibv_create_qp` of the same kind.
//!
//! The keeper makes them (`fill`), a creation takes one (`create`), and they go before an object goes
//! that they stand on (`evict`). What is kept and how many is decided in `cmshim_core::pool`.

pub mod bundle;
mod channel;
pub mod counts;
pub mod create;
pub mod events;
pub mod evict;
pub mod fill;
mod fork;
pub mod objects;
mod probe;
pub mod recycle;
mod threads;

use crate::abi::verbs::{IbvCq, IbvQp, IbvQpCap};
use crate::process::feature::Feature;
use crate::process::keeper;
use crate::process::per_process::PerProcess;
use crate::process::shim::Shim;
use crate::stats::{self, Counter};
use crate::sys::guard;
use crate::sys::lock::lock;
use cmshim_core::pool::{Book, Caps, Front, Packed, Pair, Verdict};
use counts::Counts;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// At exit a creation is waited for no longer than this: the kernel ends it then.
const AT_EXIT: Duration = Duration::from_millis(500);

/// The pool of one process. The book's lock is never held during a real call, nor while another lock
/// is taken.
#[derive(Default)]
pub struct Pool {
    book: Mutex<Option<Book<Ready>>>,
    /// Some of the ready ones, taken without a lock.
    front: Arc<Front>,
    /// Rung when something that was being made or destroyed is done.
    landed: Condvar,
    /// So many threads wait for all that is done with a device: a probe of it gives up.
    hurry: AtomicU32,
    /// The process is exiting: nothing is made any more.
    closed: AtomicBool,
    /// Threads that are in fork: nothing is begun meanwhile.
    forking: AtomicU32,
    /// What the reuse probe said, by the device's name.
    verdicts: Mutex<Vec<(String, Verdict)>>,
    pub counts: Counts,
}

/// A queue pair that lies ready. It belongs to the pool: nobody else knows its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// Address of an ibv_qp in state RESET.
    qp: usize,
    /// What its creation gave.
    caps: Caps,
    /// What was made with it, if it is a bundle.
    own: Option<Own>,
}

/// Addresses of a bundle's own channels and completion queues: for receives and for sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Own {
    channels: Pair,
    cqs: [CqPtr; 2],
}

/// Address of a completion queue of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CqPtr(usize);

impl CqPtr {
    fn at(self) -> *mut IbvCq {
        self.0 as *mut IbvCq
    }
}

impl Ready {
    fn qp(&self) -> *mut IbvQp {
        self.qp as *mut IbvQp
    }
}

/// Bundles take part in more than one call, and are not taken without the lock.
impl Packed for Ready {
    fn pack(&self) -> Option<(usize, Caps)> {
        self.own.is_none().then_some((self.qp, self.caps))
    }

    fn unpack(qp: usize, caps: Caps) -> Ready {
        let own = None;
        Ready { qp, caps, own }
    }
}

/// Is there a pool in this process?
pub fn enabled(shim: &Shim) -> bool {
    shim.config.pool.enable && shim.config.threads
}

impl Pool {
    /// Works with the book, which is set up on first use.
    fn with<T>(&self, shim: &Shim, work: impl FnOnce(&mut Book<Ready>) -> T) -> T {
        let mut book = lock(&self.book);
        let settings = || shim.config.pool.settings();
        let book = book.get_or_insert_with(|| Book::new(settings(), self.front.clone()));
        let result = work(book);
        if shim.config.pool.recycle {
            stats::set(Counter::PoolQuarantined, book.parked() as u64);
        }
        result
    }

    /// Says that something was made or destroyed.
    fn notify_done(&self) {
        self.landed.notify_all();
    }
}

static STATE: PerProcess<Pool> = PerProcess::new(Pool::default);

/// The pool of this process.
fn state() -> &'static Pool {
    STATE.get()
}

pub const FEATURE: Feature = Feature {
    renew: |process| STATE.renew(process),
    fork_before: |_| fork::begins(),
    fork_parent: |_| fork::ended(),
    at_exit,
    // The entries are past: what lies ready would make the program's own destructions fail.
    is_off: |_| {
        guard::run(evict::abandon);
    },
    work: |shim, _now| fill::work(shim),
    ..Feature::NONE
};

/// There is work for the keeper, now.
fn ring(shim: &'static Shim, now: Instant) {
    keeper::at(now);
    keeper::ensure(shim);
}

/// The process exits: nothing is made any more, and what is being made is waited for, so that no
/// library is taken down under the keeper.
fn at_exit(shim: &'static Shim) {
    if enabled(shim) {
        guard::run(|| {
            let pool = state();
            pool.closed.store(true, Ordering::Release);
            evict::wait_for_all(AT_EXIT);
            pool.counts.log_totals();
        });
    }
}

fn caps(cap: &IbvQpCap) -> Caps {
    Caps {
        send_wr: cap.max_send_wr,
        recv_wr: cap.max_recv_wr,
        send_sge: cap.max_send_sge,
        recv_sge: cap.max_recv_sge,
        inline_data: cap.max_inline_data,
    }
}

fn abi_caps(caps: &Caps) -> IbvQpCap {
    IbvQpCap {
        max_send_wr: caps.send_wr,
        max_recv_wr: caps.recv_wr,
        max_send_sge: caps.send_sge,
        max_recv_sge: caps.recv_sge,
        max_inline_data: caps.inline_data,
    }
}
