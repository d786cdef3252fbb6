//! The program's own check: asked in the program's thread, after the rules of the policy.
//!
//! While it runs, no lock is held and nothing of ours stands on the stack that has to be undone, so it may block,
//! unwind, be cancelled or leave by longjmp. The request is put down before, and whoever finds it answers it: the
//! thread itself when the check returns, the keeper when its time is up, or the thread's next call.

use super::api::{self, drop_request};
use super::{decide, tell, turn_on};
use crate::abi::cm::RdmaCmEvent;
use crate::boundary::guard;
use crate::boundary::shim::{self, Shim};
use crate::entry::own_checks::{cmshim_access_check, cmshim_access_request};
use crate::keeper;
use crate::lock::lock;
use cmshim_core::tenant::reason::Code;
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

/// What came of asking.
pub enum Answer {
    Allow,
    Refuse,
    /// It took too long: the request was refused meanwhile, and is gone.
    Gone,
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
    /// Address of the event; 0 once it is answered.
    event: usize,
    deadline: Option<Instant>,
    /// Until the check has returned.
    _kept: Box<Kept>,
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

/// Asks the program about a request.
///
/// # Safety
/// A whole event, handed over and not acked.
pub unsafe fn asked(event: *mut RdmaCmEvent) -> Answer {
    // SAFETY: null, or from Box::into_raw and never freed.
    let Some(registered) = (unsafe { REGISTERED.load(Ordering::Acquire).as_ref() }) else {
        return Answer::Allow;
    };
    let Some(shim) = shim::existing() else {
        return Answer::Allow;
    };
    // SAFETY: as promised by the caller.
    let put = guard::run(|| unsafe { put_down(shim, event) });
    let Some((token, request)) = put else {
        return Answer::Allow;
    };
    ASKING.with(|a| a.set(Some((token, std::ptr::addr_of!(request) as usize))));
    let errno = guard::errno();
    // SAFETY: the program's function and its own argument; what the request points to is kept until it is taken
    // back. It may leave in any way.
    let answer = unsafe { (registered.check)(&request, registered.user) };
    guard::set_errno(errno);
    ASKING.with(|a| a.set(None));
    match (guard::run(|| take_back(shim, token)).flatten(), answer) {
        (None, _) => Answer::Gone,
        (Some(_), 0) => Answer::Allow,
        (Some(_), _) => Answer::Refuse,
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
    let kept = Box::new(Kept {
        peer: address.dst,
        local: address.src,
        // SAFETY: as promised by the caller.
        tenant: unsafe { api::ask(e.id) }
            .and_then(|ask| decide::tenant_of(shim, &ask))
            .and_then(|name| CString::new(name).ok()),
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
        pkey: api::pkey(address.ib.pkey),
        private_data_len: length,
        reserved: 0,
        peer: std::ptr::from_ref(&kept.peer).cast::<sockaddr>(),
        local: std::ptr::from_ref(&kept.local).cast::<sockaddr>(),
        tenant: name.map_or(std::ptr::null(), |t| t.as_ptr()),
        private_data: kept.data.as_ptr().cast(),
    };
    let limit = shim.config.tenant.check;
    let deadline = (!limit.is_zero() && shim.config.threads).then(|| Instant::now() + limit);
    let token = {
        let mut inner = lock(&shim.state().tenants.checks.0);
        inner.next += 1;
        let token = inner.next;
        let pending = Pending {
            event: event as usize,
            deadline,
            _kept: kept,
        };
        inner.pending.insert(token, pending);
        token
    };
    if let Some(deadline) = deadline {
        shim.state().watch.tenants_at(deadline);
        keeper::ensure(shim);
    }
    (token, request)
}

/// The event, if it has not been answered.
fn take_back(shim: &Shim, token: u64) -> Option<*mut RdmaCmEvent> {
    let pending = lock(&shim.state().tenants.checks.0)
        .pending
        .remove(&token)?;
    (pending.event != 0).then_some(pending.event as *mut RdmaCmEvent)
}

/// A call begins: what this thread asked about before, and left without an answer, is refused.
pub fn clean_up() {
    let here = 0u8;
    let Some((token, frame)) = ASKING.with(Cell::get) else {
        return;
    };
    // Deeper in the stack than the question: the check itself calls.
    if (std::ptr::addr_of!(here) as usize) < frame {
        return;
    }
    ASKING.with(|a| a.set(None));
    let Some(shim) = shim::existing() else { return };
    if let Some(event) = guard::run(|| take_back(shim, token)).flatten() {
        // SAFETY: an event that only this thread knew.
        unsafe { refuse(event) };
    }
}

/// Refuses what the program was asked about for too long; when the next one is due. By the keeper.
pub fn overdue(shim: &'static Shim) -> Option<Instant> {
    let now = Instant::now();
    loop {
        let due = guard::run(|| {
            let mut inner = lock(&shim.state().tenants.checks.0);
            let mut late = inner.pending.values_mut();
            let late = late.find(|p| p.event != 0 && p.deadline.is_some_and(|d| d <= now))?;
            Some(std::mem::replace(&mut late.event, 0) as *mut RdmaCmEvent)
        });
        let Some(event) = due.flatten() else { break };
        guard::run(|| {
            log::warn!(
                "the program's access check has not returned after {} ms: the connect request is refused (tenant.check_ms)",
                shim.config.tenant.check.as_millis()
            );
        });
        // SAFETY: it was taken out above, so nobody else answers it; the check has copies of what it looks at.
        unsafe { refuse(event) };
    }
    let next = guard::run(|| {
        let inner = lock(&shim.state().tenants.checks.0);
        let open = inner.pending.values().filter(|p| p.event != 0);
        open.filter_map(|p| p.deadline).min()
    });
    next.flatten()
}

/// # Safety
/// As for `drop_request`.
unsafe fn refuse(event: *mut RdmaCmEvent) {
    // SAFETY: as promised by the caller.
    unsafe {
        let id = (*event).id;
        guard::run(|| api::ended(id));
        drop_request(event, &tell::bare(Code::Program));
    }
}
