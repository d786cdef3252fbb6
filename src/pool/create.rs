//! A creation: served from the pool, or noted so that the next ones can be.

use super::counts::increment;
use super::{abi_caps, bundle, caps, enabled, evict, recycle, ring, Ready};
use crate::abi::verbs::{IbvPd, IbvQp, IbvQpInitAttr};
use crate::process::shim::Shim;
use crate::stats::{self, Bypass};
use cmshim_core::pool::{Key, Miss, Taken, FEW};
use std::ptr::null_mut;
use std::time::Instant;

/// What the pool said to a creation. A plain value, as it lies on the stack during the real call.
#[derive(Clone, Copy)]
pub struct Asked {
    /// The queue pair that the creation gets, or null.
    pub served: *mut IbvQp,
    /// The attributes as the program wrote them; `None` where the pool has no say.
    before: Option<IbvQpInitAttr>,
    key: Option<Key>,
}

impl Asked {
    pub const NO: Asked = Asked {
        served: null_mut(),
        before: None,
        key: None,
    };

    /// Is there something to do after the real call went well?
    pub fn watched(&self) -> bool {
        self.before.is_some()
    }
}

/// `ibv_create_qp` begins: is one in front? Then the call gets it at once, with nothing that
/// `sys::guard` would be needed for: no lock, no memory, no call. The key where the book is to know of it.
///
/// # Safety
/// `pd` and `attr` are the program's own arguments of ibv_create_qp.
pub unsafe fn at_once(
    shim: &Shim,
    pd: *const IbvPd,
    attr: *mut IbvQpInitAttr,
) -> Option<(*mut IbvQp, Option<Key>)> {
    // SAFETY: as promised by the caller.
    let (domain, wanted) = unsafe { (pd.as_ref()?, attr.as_mut()?) };
    if !enabled(shim) || bundle::missed() {
        return None;
    }
    let key = key(domain, wanted);
    let pool = super::state();
    let (item, left) = pool.front.take(&key)?;
    // SAFETY: it was taken for this call.
    let qp = unsafe { hand_out(&item, wanted) };
    pool.counts.hit(qp.1);
    Some((qp.0, (left <= FEW).then_some(key)))
}

/// What was taken in front is told.
pub fn taken(shim: &'static Shim, key: &Key) {
    let now = Instant::now();
    let pool = super::state();
    if pool.with(shim, |book| book.taken(key, now)) {
        ring(shim, now);
    }
}

/// A ready one becomes the caller's, with its context; and its number.
///
/// # Safety
/// The item was taken, and is given to nobody else.
unsafe fn hand_out(item: &Ready, wanted: &mut IbvQpInitAttr) -> (*mut IbvQp, u32) {
    wanted.cap = abi_caps(&item.caps);
    // SAFETY: a ready one is alive, and the pool's until here.
    unsafe {
        (*item.qp()).qp_context = wanted.qp_context;
        (item.qp(), (*item.qp()).qp_num)
    }
}

/// `ibv_create_qp` begins: gives a ready one, with the caller's context and the real capabilities.
///
/// # Safety
/// `pd` and `attr` are the program's own arguments of ibv_create_qp.
pub unsafe fn begins(shim: &'static Shim, pd: *const IbvPd, attr: *mut IbvQpInitAttr) -> Asked {
    // SAFETY: as promised by the caller.
    let (Some(domain), Some(wanted)) = (unsafe { pd.as_ref() }, unsafe { attr.as_mut() }) else {
        return Asked::NO;
    };
    if !enabled(shim) {
        stats::bypassed(Bypass::PoolDisabled);
        return Asked::NO;
    }
    if bundle::missed() {
        // Counted by rdma_create_qp, which has a key of its own.
        return Asked {
            before: Some(*wanted),
            ..Asked::NO
        };
    }
    let now = Instant::now();
    let key = key(domain, wanted);
    if key.is_bundle() {
        // Without any completion queue: that makes the whole set in rdma_create_qp, and nothing here.
        return Asked::NO;
    }
    let pool = super::state();
    let mut asked = Asked {
        served: null_mut(),
        before: Some(*wanted),
        key: Some(key),
    };
    let taken = pool.with(shim, |book| {
        let taken = book.take(&key, now);
        if let Taken::Hit { item, .. } = &taken {
            book.lives(&key, item.qp, item.caps);
            if book.recycled(item.qp) {
                increment(&pool.counts.used_again);
            }
        }
        taken
    });
    match taken {
        Taken::Hit { item, ring: work } => {
            // SAFETY: it was taken for this call.
            let (served, number) = unsafe { hand_out(&item, wanted) };
            asked.served = served;
            if work {
                ring(shim, now);
            }
            pool.counts.hit(number);
        }
        Taken::Miss(why) => {
            pool.counts.miss(why);
            if !matches!(why, Miss::First | Miss::Empty) {
                asked.key = None;
            }
        }
    }
    asked
}

/// rdma_create_qp_ex asks for more than a plain creation can give.
pub fn extended(shim: &Shim) {
    if enabled(shim) {
        super::state().counts.miss(Miss::Extended);
    }
}

/// The key of a creation on completion queues of the program's own.
fn key(domain: &IbvPd, wanted: &IbvQpInitAttr) -> Key {
    Key {
        context: domain.context as usize,
        pd: std::ptr::from_ref(domain) as usize,
        send_cq: wanted.send_cq as usize,
        recv_cq: wanted.recv_cq as usize,
        srq: wanted.srq as usize,
        qp_type: wanted.qp_type,
        caps: caps(&wanted.cap),
        sq_sig_all: wanted.sq_sig_all,
    }
}

/// The program asks for so many to lie ready. False if that kind is not pooled.
pub fn warm(shim: &'static Shim, domain: &IbvPd, wanted: &IbvQpInitAttr, number: u32) -> bool {
    let given = !wanted.send_cq.is_null() && !wanted.recv_cq.is_null();
    if !enabled(shim) || !given {
        return false;
    }
    let key = key(domain, wanted);
    let pool = super::state();
    let now = Instant::now();
    match pool.with(shim, |book| book.request_minimum(&key, now, number)) {
        Ok(work) => {
            if work {
                ring(shim, now);
            }
            true
        }
        Err(_) => false,
    }
}

/// The real creation failed: true if the pool gave up what it had, and the call is to be made again.
///
/// # Safety
/// As `begins`.
pub unsafe fn make_room(
    shim: &'static Shim,
    errno: i32,
    asked: &Asked,
    attr: *mut IbvQpInitAttr,
) -> bool {
    let Some(before) = asked.before else {
        return false;
    };
    if !evict::make_room(shim, errno) {
        return false;
    }
    // SAFETY: as promised by the caller.
    let Some(attr) = (unsafe { attr.as_mut() }) else {
        return false;
    };
    // Member by member: librdmacm gives an extended structure, whose mask stands in the unused bytes at
    // the end of the plain one.
    attr.qp_context = before.qp_context;
    attr.send_cq = before.send_cq;
    attr.recv_cq = before.recv_cq;
    attr.srq = before.srq;
    attr.cap = before.cap;
    attr.qp_type = before.qp_type;
    attr.sq_sig_all = before.sq_sig_all;
    true
}

/// The real creation went well: the next one of its key is to be a hit.
///
/// # Safety
/// `attr` is what the program gave to ibv_create_qp.
pub unsafe fn created(
    shim: &'static Shim,
    asked: &Asked,
    qp: *const IbvQp,
    attr: *const IbvQpInitAttr,
) {
    let pool = super::state();
    // SAFETY: as promised by the caller.
    let (Some(before), Some(key), Some(after)) =
        (asked.before, asked.key, unsafe { attr.as_ref() })
    else {
        recycle::forget_address(shim, qp);
        return;
    };
    if !same_but_caps(&before, after) {
        pool.counts.miss(Miss::Changed);
        recycle::forget_address(shim, qp);
        return;
    }
    let now = Instant::now();
    let made = caps(&after.cap);
    if pool.with(shim, |book| {
        book.created(&key, now) | book.lives(&key, qp as usize, made)
    }) {
        ring(shim, now);
    }
}

/// Did the creation change nothing but the capabilities? Then handing out a ready one can do the same.
fn same_but_caps(before: &IbvQpInitAttr, after: &IbvQpInitAttr) -> bool {
    before.qp_context == after.qp_context
        && before.send_cq == after.send_cq
        && before.recv_cq == after.recv_cq
        && before.srq == after.srq
        && before.qp_type == after.qp_type
        && before.sq_sig_all == after.sq_sig_all
}
