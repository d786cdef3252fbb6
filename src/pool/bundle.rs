//! Bundles: without completion queues given, librdmacm makes a channel and a completion queue for
//! receives, the same for sends, and then the queue pair (`ucma_create_cqs`, librdmacm/cma.c). All of
//! them lie ready together, and the calls that librdmacm makes inside rdma_create_qp get them in turn.

use super::{abi_caps, caps, channel, enabled, evict, ring, CqPtr, Own, Ready};
use crate::abi::cm::RdmaCmId;
use crate::abi::verbs::{IbvCompChannel, IbvContext, IbvCq, IbvPd, IbvQp, IbvQpInitAttr};
use crate::process::shim;
use crate::process::shim::Shim;
use crate::sys::guard;
use cmshim_core::pool::{Key, Miss, Pair, Taken};
use libc::{c_int, c_void};
use std::cell::Cell;
use std::time::Instant;

/// Most pairs of channels that one call opens.
const PAIRS_AT_ONCE: u32 = 2;

/// The pieces in the order in which librdmacm asks for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    ReceiveChannel,
    ReceiveCq,
    SendChannel,
    SendCq,
    QueuePair,
    /// All were handed out.
    None,
}

/// What this thread's rdma_create_qp is in the middle of.
#[derive(Clone, Copy)]
enum Now {
    Nothing,
    /// librdmacm makes all pieces itself.
    Missed {
        frame: usize,
    },
    /// It gets them from here.
    Served {
        frame: usize,
        key: Key,
        ready: Ready,
        own: Own,
        next: Piece,
    },
}

thread_local! {
    static NOW: Cell<Now> = const { Cell::new(Now::Nothing) };
    /// Is it something? Each creation asks that.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

fn set(now: Now) -> Now {
    BUSY.set(!matches!(now, Now::Nothing));
    NOW.replace(now)
}

/// rdma_create_qp or rdma_create_qp_ex begins: is it one for a bundle? Then `ends` is to be called.
///
/// # Safety
/// `id` is null or valid, `attr` null or whole, `pd` null or valid.
pub unsafe fn begins(
    shim: &'static Shim,
    id: *const RdmaCmId,
    pd: *const IbvPd,
    attr: *const IbvQpInitAttr,
) -> Option<Key> {
    if !enabled(shim) {
        return None;
    }
    let here = 0u8;
    let frame = std::ptr::addr_of!(here) as usize;
    match NOW.get() {
        // rdma_create_qp calls rdma_create_qp_ex, deeper in the stack.
        Now::Missed { frame: outer } | Now::Served { frame: outer, .. } if frame < outer => {
            return None
        }
        // A call that was left by longjmp.
        _ => drop_rest(shim),
    }
    // SAFETY: as promised by the caller.
    let key = unsafe { key(id, pd, attr) }?;
    let now = Instant::now();
    let pool = super::state();
    let taken = pool.with(shim, |book| book.take(&key, now));
    match taken {
        Taken::Hit { item, .. } => {
            if let Some(now) = served(shim, frame, key, item) {
                set(now);
                // SAFETY: a ready one is alive, and this call's until it is handed out.
                let number = unsafe { (*item.qp()).qp_num };
                pool.counts.hit(number);
                return Some(key);
            }
            pool.counts.destroyed(&pool.counts.evicted);
            pool.counts.miss(Miss::Empty);
        }
        Taken::Miss(why) => pool.counts.miss(why),
    }
    set(Now::Missed { frame });
    Some(key)
}

/// The key of a bundle; `None` if librdmacm is not to make all pieces itself.
///
/// # Safety
/// As `begins`.
unsafe fn key(id: *const RdmaCmId, pd: *const IbvPd, attr: *const IbvQpInitAttr) -> Option<Key> {
    // SAFETY: as promised by the caller.
    let (id, attr) = unsafe { (id.as_ref()?, attr.as_ref()?) };
    let given = !attr.send_cq.is_null() || !attr.recv_cq.is_null();
    let there = !id.send_cq.is_null() || !id.recv_cq.is_null() || !id.srq.is_null();
    let both = attr.cap.max_send_wr > 0 && attr.cap.max_recv_wr > 0;
    if given || there || !both || !id.qp.is_null() {
        return None;
    }
    Some(Key {
        context: id.verbs as usize,
        pd: if pd.is_null() {
            id.pd as usize
        } else {
            pd as usize
        },
        send_cq: 0,
        recv_cq: 0,
        srq: attr.srq as usize,
        qp_type: attr.qp_type,
        caps: caps(&attr.cap),
        sq_sig_all: attr.sq_sig_all,
    })
}

/// Brings a bundle's channels to the lowest free numbers, in the order of their creation.
fn served(shim: &Shim, frame: usize, key: Key, ready: Ready) -> Option<Now> {
    let own = ready.own?;
    // SAFETY: the book has just handed this one out, so its channels are the pool's until librdmacm asks for them.
    if !unsafe { own.channels.into_iter().all(|at| channel::bring_down(at)) } {
        // SAFETY: nobody asked for any of it yet, and the book does not have it.
        unsafe { evict::destroy(ready) };
        return None;
    }
    // From here on they are the program's: what stands on them later is none of the pool's business.
    super::state().with(shim, |book| {
        own.cqs.into_iter().for_each(|cq| book.cq(cq.0));
    });
    Some(Now::Served {
        frame,
        key,
        ready,
        own,
        next: Piece::ReceiveChannel,
    })
}

/// ibv_create_comp_channel inside rdma_create_qp.
pub fn next_channel(context: *const IbvContext) -> Option<*mut IbvCompChannel> {
    take(|key, _, own, next| {
        let (at, after) = match next {
            Piece::ReceiveChannel => (own.channels[0], Piece::ReceiveCq),
            Piece::SendChannel => (own.channels[1], Piece::SendCq),
            _ => return None,
        };
        (key.context == context as usize).then_some((channel::at(at), after))
    })
    .inspect(|_| channel::handed_out())
}

/// ibv_create_cq inside rdma_create_qp.
pub fn next_cq(
    context: *const IbvContext,
    entries: c_int,
    user: *mut c_void,
    channel: *const IbvCompChannel,
    vector: c_int,
) -> Option<*mut IbvCq> {
    take(|key, _, own, next| {
        let (side, wanted, after) = match next {
            Piece::ReceiveCq => (0, key.caps.recv_wr, Piece::SendChannel),
            Piece::SendCq => (1, key.caps.send_wr, Piece::QueuePair),
            _ => return None,
        };
        let same = key.context == context as usize
            && u32::try_from(entries) == Ok(wanted)
            && std::ptr::eq(channel, channel::at(own.channels[side]))
            && vector == 0;
        let cq = own.cqs[side].at();
        same.then(|| {
            // SAFETY: the completion queue is this call's alone until it returns.
            unsafe { (*cq).cq_context = user };
            (cq, after)
        })
    })
}

/// ibv_create_qp inside rdma_create_qp.
///
/// # Safety
/// `attr` is null or whole.
pub unsafe fn next_qp(pd: *const IbvPd, attr: *mut IbvQpInitAttr) -> Option<*mut IbvQp> {
    // SAFETY: as promised by the caller.
    let attr = unsafe { attr.as_mut() }?;
    take(|key, ready, own, next| {
        let same = next == Piece::QueuePair
            && key.pd == pd as usize
            && own.cqs.map(CqPtr::at) == [attr.recv_cq, attr.send_cq]
            && key.srq == attr.srq as usize
            && key.qp_type == attr.qp_type
            && key.caps == caps(&attr.cap)
            && key.sq_sig_all == attr.sq_sig_all;
        same.then(|| {
            attr.cap = abi_caps(&ready.caps);
            // SAFETY: the queue pair is this call's alone until it returns.
            unsafe { (*ready.qp()).qp_context = attr.qp_context };
            (ready.qp(), Piece::None)
        })
    })
}

/// Is this thread inside an rdma_create_qp that makes all pieces itself?
pub fn missed() -> bool {
    BUSY.get() && matches!(NOW.get(), Now::Missed { .. })
}

/// Hands out the next piece if it is the one that is asked for. If not, librdmacm works in another way
/// than it is known to: the rest is destroyed, and the call goes to the real library.
fn take<T>(choose: impl FnOnce(&Key, &Ready, &Own, Piece) -> Option<(T, Piece)>) -> Option<T> {
    if !BUSY.get() {
        return None;
    }
    let Now::Served {
        frame,
        key,
        ready,
        own,
        next,
    } = NOW.get()
    else {
        return None;
    };
    match choose(&key, &ready, &own, next) {
        Some((piece, after)) => {
            set(Now::Served {
                frame,
                key,
                ready,
                own,
                next: after,
            });
            Some(piece)
        }
        None => {
            if let Some(shim) = shim::existing() {
                guard::run(|| drop_rest(shim));
            }
            set(Now::Missed { frame });
            None
        }
    }
}

/// Destroys the pieces that were not handed out. What stands on them goes first.
fn drop_rest(shim: &Shim) {
    let Now::Served {
        ready, own, next, ..
    } = set(Now::Nothing)
    else {
        return;
    };
    let left = |piece: Piece| next <= piece;
    if left(Piece::QueuePair) {
        // SAFETY: it was not handed out, and `set` has made this thread forget it.
        unsafe { evict::destroy_qp(ready.qp()) };
        super::state().counts.dropped();
    }
    for (piece, cq) in [(Piece::ReceiveCq, own.cqs[0]), (Piece::SendCq, own.cqs[1])] {
        if left(piece) {
            super::state().with(shim, |book| book.cq_gone(cq.0));
            // SAFETY: it was not handed out; the queue pair on it is destroyed, as it comes after it.
            unsafe { evict::destroy_cq(cq) };
        }
    }
    for (piece, at) in [
        (Piece::ReceiveChannel, own.channels[0]),
        (Piece::SendChannel, own.channels[1]),
    ] {
        if left(piece) {
            // SAFETY: it was not handed out; the completion queue on it is destroyed, as it comes after it.
            unsafe { channel::close(at) };
        }
    }
}

/// The call that `begins` gave a key for is over.
///
/// # Safety
/// The key's context, that of the call's id, is still open.
pub unsafe fn ends(shim: &'static Shim, key: &Key, worked: bool) {
    let was_miss = missed();
    drop_rest(shim);
    set(Now::Nothing);
    if !worked {
        return;
    }
    let now = Instant::now();
    let pool = super::state();
    let lacking = pool.with(shim, |book| {
        if was_miss {
            book.created(key, now);
        }
        book.lacks_pairs(key, now)
    });
    let context = key.context as *mut IbvContext;
    let pairs: Vec<Pair> = (0..lacking.min(PAIRS_AT_ONCE))
        // SAFETY: as promised by the caller.
        .map_while(|_| unsafe { channel::open_pair(context) })
        .collect();
    if pool.with(shim, |book| book.add_pairs(key, now, pairs)) {
        ring(shim, now);
    }
}
