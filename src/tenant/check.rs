//! The program's own check: asked in the program's thread, after the rules of the policy.
//!
//! While it runs, no lock is held and nothing of ours stands on the stack that has to be undone, so it may block,
//! unwind, be cancelled or leave by longjmp. The request is put down before, and whoever finds it answers it: the
//! thread itself when the check returns, the keeper when its time is up, or the thread's next call.

use super::admit_on_delivery::{self, drop_request};
use super::callback::{cmshim_access_check, cmshim_access_request};
use super::{decide, report, turn_on};
use crate::abi::cm::RdmaCmEvent;
use crate::process::keeper;
use crate::process::shim::{self, Shim};
use crate::sys::guard;
use crate::sys::lock::lock;
use cmshim_core::tenant::reason::Code;
use cmshim_core::tenant::ConnectionRequest;
use libc::{c_int, c_void, sockaddr, sockaddr_storage};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Mutex;
use std::time::Instant;

/// What the program registered.
struct Registered {
    check: unsafe extern "C-unwind" fn(*const cmshim_access_request, *mut c_void) -> c_int,
    user: *mut c_void,
}

/// Never freed: another thread may be about to call it.
static REGISTERED: AtomicPtr<Registered> = AtomicPtr::new(std::ptr::null_mut());

/// Has this check asked from now on, or none.
pub fn register(check: cmshim_access_check, user: *mut c_void) {
    let made = match check {
        Some(check) => Box::into_raw(Box::new(Registered { check, user })),
        None => std::ptr::null_mut(),
    };
    REGISTERED.store(made, Ordering::Release);
    if !made.is_null() {
        turn_on();
    }
}

/// Is there one? Then a request that the policy lets through is not decided yet.
pub fn registered() -> bool {
    !REGISTERED.load(Ordering::Acquire).is_null()
}

/// How a check says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum No {
    Said,
    /// It never returned, and its thread does something else.
    Left,
    /// It took too long.
    Late,
}

/// Requests about which the program is being asked.
#[derive(Default)]
pub struct Checks(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    next: u64,
    pending: HashMap<u64, Pending>,
}

struct Pending {
    /// `None` once it is answered.
    open: Option<Open>,
    deadline: Option<Instant>,
    /// Until the check has returned.
    _kept: Box<Kept>,
}

impl Pending {
    /// The request, if nobody has answered it and this thread may. Called with the lock held, without which nobody takes it out: so the
    /// event is not acked meanwhile.
    fn take_if_mine(&mut self, refused_at: fn(c_int) -> bool) -> Option<Open> {
        self.deadline = None;
        let open = self.open.as_mut()?;
        // SAFETY: not acked, so the event and its id are alive, and the id's channel with them.
        let channel = unsafe { (*(*(open.event as *const RdmaCmEvent)).id).channel.as_ref() };
        open.late = channel.is_some_and(|channel| refused_at(channel.fd));
        match open.late {
            true => None,
            false => self.open.take(),
        }
    }
}

/// A request that nobody has answered.
struct Open {
    /// Its address.
    event: usize,
    ask: ConnectionRequest,
    /// The policy would have refused it, and told so.
    observed: bool,
    /// Its time is up, and the kernel takes no command on its channel from the keeper, whose credentials are not those that
    /// the channel was opened with: the thread that asks refuses it, as soon as the check is over.
    late: bool,
}

/// What the check's pointers lead to: copies, since the keeper may destroy the id meanwhile.
struct Kept {
    peer: sockaddr_storage,
    local: sockaddr_storage,
    tenant: Option<CString>,
    data: Vec<u8>,
}

thread_local! {
    /// The request that this thread asks about, and where its stack stood.
    static ASKING: Cell<Option<(u64, usize)>> = const { Cell::new(None) };
}

/// Asks the program about a request: true if it was refused, and is gone now. Not inlined: its frame is known to be
/// deeper than that of the entry, which `clean_up` compares.
///
/// # Safety
/// A whole event, handed over and not acked.
#[inline(never)]
pub unsafe fn refuses(event: *mut RdmaCmEvent) -> bool {
    // SAFETY: null, or from Box::into_raw and never freed.
    let Some(registered) = (unsafe { REGISTERED.load(Ordering::Acquire).as_ref() }) else {
        return false;
    };
    let Some(shim) = shim::existing().filter(|_| !guard::inside()) else {
        return false;
    };
    // SAFETY: as promised by the caller.
    let put = guard::run(|| unsafe { put_down(shim, event) });
    let Some((token, request)) = put else {
        // It cannot be asked: whom it would keep out must not come in for that.
        // SAFETY: as promised by the caller.
        unsafe { drop_request(event, &report::bare(Code::Program)) };
        return true;
    };
    ASKING.with(|a| a.set(Some((token, std::ptr::addr_of!(request) as usize))));
    let errno = guard::errno();
    // SAFETY: the program's function and its own argument; what the request points to is kept until it is taken
    // back. It may leave in any way.
    let answer = unsafe { (registered.check)(&request, registered.user) };
    guard::set_errno(errno);
    ASKING.with(|a| a.set(None));
    match (guard::run(|| take_back(token)).flatten(), answer) {
        // It took too long: the request was refused meanwhile.
        (None, _) => true,
        (Some(open), _) if open.late => {
            // SAFETY: as promised by the caller.
            unsafe { refuse(shim, &open, No::Late) };
            true
        }
        (Some(open), 0) => {
            guard::run(|| decide::by_program(shim, &open.ask, open.observed, None));
            false
        }
        (Some(open), _) => {
            // SAFETY: as promised by the caller.
            unsafe { refuse(shim, &open, No::Said) };
            true
        }
    }
}

/// # Safety
/// As for `asked`.
unsafe fn put_down(shim: &'static Shim, event: *mut RdmaCmEvent) -> (u64, cmshim_access_request) {
    // SAFETY: as promised by the caller; the event's id is alive.
    let (e, address) = unsafe { (&*event, &(*(*event).id).route.addr) };
    let length = match e.conn.private_data.is_null() {
        true => 0,
        false => e.conn.private_data_len,
    };
    // SAFETY: as promised by the caller.
    let ask = unsafe { admit_on_delivery::ask(e.id) }.unwrap_or_default();
    let kept = Box::new(Kept {
        peer: address.dst,
        local: address.src,
        tenant: decide::tenant_of(shim, &ask).and_then(|name| CString::new(name).ok()),
        data: match length {
            0 => Vec::new(),
            // SAFETY: the event's private data has that length.
            n => unsafe { std::slice::from_raw_parts(e.conn.private_data.cast::<u8>(), n.into()) }
                .to_vec(),
        },
    });
    let name = kept.tenant.as_ref();
    let request = cmshim_access_request {
        size: size_of::<cmshim_access_request>() as u32,
        pkey: admit_on_delivery::pkey(address.ib.pkey),
        private_data_len: length,
        reserved: 0,
        peer: std::ptr::from_ref(&kept.peer).cast::<sockaddr>(),
        local: std::ptr::from_ref(&kept.local).cast::<sockaddr>(),
        tenant: name.map_or(std::ptr::null(), |t| t.as_ptr()),
        private_data: kept.data.as_ptr().cast(),
    };
    let limit = shim.config.tenant.check;
    let deadline = (!limit.is_zero() && shim.config.threads).then(|| Instant::now() + limit);
    let seat = super::state().seats.get(admit_on_delivery::key(e.id));
    let open = Open {
        event: event as usize,
        ask,
        observed: seat.is_some_and(|held| held.seat.observed),
        late: false,
    };
    let token = {
        let mut inner = lock(&super::state().checks.0);
        inner.next += 1;
        let token = inner.next;
        let pending = Pending {
            open: Some(open),
            deadline,
            _kept: kept,
        };
        inner.pending.insert(token, pending);
        token
    };
    if let Some(deadline) = deadline {
        keeper::at(deadline);
        keeper::ensure(shim);
    }
    (token, request)
}

/// The request, if it has not been answered.
fn take_back(token: u64) -> Option<Open> {
    let mut inner = lock(&super::state().checks.0);
    inner.pending.remove(&token)?.open
}

/// A call begins, with `here` in its frame: what this thread asked about before, and left without an answer, is refused.
pub fn clean_up(here: *const u8) {
    let Some((token, frame)) = ASKING.with(Cell::get) else {
        return;
    };
    // Deeper in the stack than the question: the check itself calls.
    if (here as usize) < frame {
        return;
    }
    ASKING.with(|a| a.set(None));
    let Some(shim) = shim::existing() else { return };
    if let Some(open) = guard::run(|| take_back(token)).flatten() {
        let how = if open.late { No::Late } else { No::Left };
        // SAFETY: an event that only this thread knew.
        unsafe { refuse(shim, &open, how) };
    }
}

/// Where the keeper could not be started, a thread that takes events does this part of its work.
pub fn without_keeper(shim: &'static Shim, refused_at: fn(c_int) -> bool) {
    if shim.config.threads && !keeper::runs() {
        overdue(shim, refused_at);
        guard::run(|| keeper::ensure(shim));
    }
}

/// Refuses what the program was asked about for too long; when the next one is due. By the keeper. `refused_at` tells whether the kernel takes no
/// command from this thread on a channel that the program knows by this descriptor.
pub fn overdue(shim: &'static Shim, refused_at: fn(c_int) -> bool) -> Option<Instant> {
    let now = Instant::now();
    loop {
        let due = guard::run(|| {
            let mut inner = lock(&super::state().checks.0);
            let overdue = |p: &&mut Pending| p.deadline.is_some_and(|d| d <= now);
            inner
                .pending
                .values_mut()
                .filter(overdue)
                .find_map(|p| p.take_if_mine(refused_at))
        });
        let Some(open) = due.flatten() else { break };
        // SAFETY: it was taken out above, so nobody else answers it; the check has copies of what it looks at.
        unsafe { refuse(shim, &open, No::Late) };
    }
    let next = guard::run(|| {
        let inner = lock(&super::state().checks.0);
        let open = inner.pending.values().filter(|p| p.open.is_some());
        open.filter_map(|p| p.deadline).min()
    });
    next.flatten()
}

/// Counts and tells of the refusal, and makes it.
///
/// # Safety
/// As for `drop_request`.
unsafe fn refuse(shim: &'static Shim, open: &Open, how: No) {
    guard::run(|| decide::by_program(shim, &open.ask, open.observed, Some(how)));
    let event = open.event as *mut RdmaCmEvent;
    // SAFETY: as promised by the caller.
    unsafe {
        let id = (*event).id;
        guard::run(|| admit_on_delivery::ended(id));
        drop_request(event, &report::bare(Code::Program));
    }
}
