//! What is known of each id and queue pair of this process.

use super::watch::Watch;
use crate::boundary::thread::Psns;
use crate::keeper::Running;
use crate::lock::lock;
use crate::pool::Pool;
use crate::stats::Moment;
use crate::sys::gids::Gids;
use crate::tap;
use crate::tenant::Tenants;
use cmshim_core::flood::Flood;
use cmshim_core::model::{Role, Stage};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::Mutex;
use std::time::Instant;

/// All state of one process. Lock order: none of these locks is held while another is taken.
pub struct State {
    pub started: Instant,
    pub ids: Mutex<HashMap<IdPtr, IdRecord>>,
    pub qps: Mutex<HashMap<QpPtr, QpRecord>>,
    pub watch: Watch,
    pub flood: Mutex<Option<Flood>>,
    pub keeper: Running,
    pub tokens: AtomicU64,
    pub pool: Pool,
    pub tap: tap::Shared,
    pub tenants: Tenants,
    pub gids: Gids,
    /// Of the process that this state is of.
    pub pid: u32,
}

/// Address of an rdma_cm_id: a name, never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdPtr(pub usize);

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
    pub fn new() -> State {
        State {
            started: Instant::now(),
            ids: Mutex::default(),
            qps: Mutex::default(),
            watch: Watch::default(),
            flood: Mutex::new(None),
            keeper: Running::default(),
            tokens: AtomicU64::new(0),
            pool: Pool::default(),
            tap: tap::Shared::default(),
            tenants: Tenants::default(),
            gids: Gids::default(),
            pid: std::process::id(),
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

    /// A stage of an id began then.
    pub fn begin(&self, id: IdPtr, stage: Stage, role: Role, at: Moment) {
        self.with(id, |r| {
            r.stage = stage;
            r.since = at;
            if role != Role::None {
                r.role = role;
            }
        });
    }
}
