//! What is known of each id and queue pair of this process.

use super::watch::Watch;
use crate::abi::IdPtr;
use crate::process::per_process::PerProcess;
use crate::process::thread::Psns;
use crate::sys::clock::Moment;
use crate::sys::gids::Gids;
use crate::sys::lock::lock;
use cmshim_core::explain::Progress;
use cmshim_core::flood::Flood;
use cmshim_core::model::{Role, Stage};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::Mutex;
use std::time::Instant;

pub static STATE: PerProcess<State> = PerProcess::new(State::new);

/// What is known in this process.
pub fn records() -> &'static State {
    STATE.get()
}

/// All of it. Lock order: none of these locks is held while another is taken.
pub struct State {
    pub started: Instant,
    pub ids: Mutex<HashMap<IdPtr, IdRecord>>,
    pub qps: Mutex<HashMap<QpPtr, QpRecord>>,
    pub watch: Watch,
    pub flood: Mutex<Option<Flood>>,
    pub tokens: AtomicU64,
    pub gids: Gids,
}

/// Address of an ibv_qp: a name, never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QpPtr(pub usize);

/// An event that the program has taken and not acked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnAcked {
    /// Address of the rdma_cm_event: a name, never followed.
    pub at: usize,
    pub event: i32,
}

/// What is known of one id.
#[derive(Debug, Clone)]
pub struct IdRecord {
    pub role: Role,
    pub stage: Stage,
    /// When the present stage began.
    pub since: Moment,
    pub progress: Progress,
    /// Before the call that goes on, or the last one.
    pub before: Progress,
    pub established: Option<Moment>,
    /// This process asked for the end.
    pub we_disconnected: bool,
    /// The connection is over: disconnected, rejected, unreachable.
    pub ended: bool,
    pub qp_num: Option<u32>,
    /// What the connection started with.
    pub psns: Psns,
    /// Listen backlog in force (0: not a listener).
    pub backlog: u32,
    /// Connect requests read in a row with the next one waiting already.
    pub burst: u32,
    pub unacked: Vec<UnAcked>,
}

impl Default for IdRecord {
    fn default() -> Self {
        IdRecord::since(Moment::now())
    }
}

impl IdRecord {
    /// Of an id that is new since then.
    pub fn since(since: Moment) -> IdRecord {
        IdRecord {
            role: Role::None,
            stage: Stage::Setup,
            since,
            progress: Progress::Unknown,
            before: Progress::Unknown,
            established: None,
            we_disconnected: false,
            ended: false,
            qp_num: None,
            psns: Psns::default(),
            backlog: 0,
            burst: 0,
            unacked: Vec::new(),
        }
    }

    /// A call begins that takes the id further.
    fn begin(&mut self, stage: Stage) {
        let next = match stage {
            Stage::Address => Progress::ResolvingAddress,
            Stage::Route => Progress::ResolvingRoute,
            Stage::Connect => Progress::Connecting,
            Stage::Listen => Progress::Listening,
            _ => return,
        };
        self.before = std::mem::replace(&mut self.progress, next);
    }

    /// A call failed: gives how far the id had come before it, and notes where the kernel leaves it
    /// (`rdma_resolve_addr`, `rdma_resolve_route`, `rdma_connect_locked` and `rdma_accept` in cma.c).
    pub fn step_back(&mut self, call: &str, accept_was_sent: bool) -> Progress {
        let asked = match (call, self.progress) {
            ("rdma_resolve_addr", Progress::ResolvingAddress)
            | ("rdma_resolve_route", Progress::ResolvingRoute)
            | ("rdma_connect" | "rdma_connect_ece", Progress::Connecting) => self.before,
            (_, progress) => progress,
        };
        self.progress = match (call, asked) {
            ("rdma_resolve_addr", Progress::New) => Progress::AddressFailed,
            ("rdma_accept" | "rdma_accept_ece", Progress::Request) if accept_was_sent => {
                Progress::AcceptFailed
            }
            _ => asked,
        };
        asked
    }

    /// Is the connection established and not over?
    pub fn up(&self) -> bool {
        self.established.is_some() && !self.ended
    }
}

/// What is known of one queue pair that belongs to an id, or has un-acked asynchronous events.
#[derive(Debug, Clone, Default)]
pub struct QpRecord {
    pub id: Option<IdPtr>,
    pub unacked: Vec<i32>,
}

impl State {
    fn new() -> State {
        State {
            started: Instant::now(),
            ids: Mutex::default(),
            qps: Mutex::default(),
            watch: Watch::default(),
            flood: Mutex::new(None),
            tokens: AtomicU64::new(0),
            gids: Gids::default(),
        }
    }

    /// Reads or changes an id's record, which is made if the id is new to us (an id of
    /// rdma_create_ep, or of a call before the shim was on).
    pub fn with<T>(&self, id: IdPtr, work: impl FnOnce(&mut IdRecord) -> T) -> T {
        work(lock(&self.ids).entry(id).or_default())
    }

    /// An id is new: what was known of another one at its address is of no interest any more.
    pub fn put(&self, id: IdPtr, record: IdRecord) {
        lock(&self.ids).insert(id, record);
    }

    /// A copy of an id's record, or a fresh one.
    pub fn record(&self, id: IdPtr) -> IdRecord {
        lock(&self.ids).get(&id).cloned().unwrap_or_default()
    }

    /// An id came that far.
    pub fn reached(&self, id: IdPtr, progress: Progress) {
        self.with(id, |r| r.progress = progress);
    }

    /// A stage of an id began then.
    pub fn begin(&self, id: IdPtr, stage: Stage, role: Role, at: Moment) {
        self.with(id, |r| {
            r.stage = stage;
            r.since = at;
            r.begin(stage);
            if role != Role::None {
                r.role = role;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(progress: Progress) -> IdRecord {
        IdRecord {
            progress,
            ..IdRecord::default()
        }
    }

    /// What the failed call was asked of, and where it leaves the id.
    fn after(mut record: IdRecord, call: &str) -> (Progress, Progress) {
        (record.step_back(call, true), record.progress)
    }

    #[test]
    fn a_call_that_failed_leaves_the_id_where_it_was() {
        for (call, stage, before) in [
            (
                "rdma_resolve_route",
                Stage::Route,
                Progress::AddressResolved,
            ),
            ("rdma_connect", Stage::Connect, Progress::RouteResolved),
            ("rdma_resolve_addr", Stage::Address, Progress::RouteResolved),
        ] {
            let mut record = at(before);
            record.begin(stage);
            assert_ne!(record.progress, before);
            assert_eq!(after(record, call), (before, before), "{call}");
        }
        assert_eq!(
            after(at(Progress::New), "rdma_listen"),
            (Progress::New, Progress::New)
        );
    }

    /// An event that was read inside the call of a synchronous id knows better.
    #[test]
    fn events_inside_the_call_count() {
        let mut record = at(Progress::New);
        record.begin(Stage::Address);
        record.progress = Progress::AddressFailed;
        let (_, left) = after(record, "rdma_resolve_addr");
        assert_eq!(left, Progress::AddressFailed);
    }

    #[test]
    fn only_an_accept_that_was_sent_ends_the_request() {
        let request = || at(Progress::Request);
        assert_eq!(
            after(request(), "rdma_accept"),
            (Progress::Request, Progress::AcceptFailed)
        );
        let mut refused_by_librdmacm = request();
        refused_by_librdmacm.step_back("rdma_accept", false);
        assert_eq!(refused_by_librdmacm.progress, Progress::Request);
    }
}
