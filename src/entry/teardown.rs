//! Calls that block until the program has acked its events: watched while they do.

use super::entry;
use crate::abi::cm::{RdmaCmId, RdmaEventChannel};
use crate::abi::verbs::IbvQp;
use crate::boundary::inner;
use crate::boundary::shim::Shim;
use crate::pool::recycle;
use crate::reasons::state::IdRecord;
use crate::reasons::{asynchronous, calls, events, waits};
use crate::stats::Phase;
use crate::tenant;
use libc::{c_int, sockaddr};

/// The id is about to be destroyed: what is known of it, which is forgotten.
fn id_ends(shim: &'static Shim, id: *const RdmaCmId) -> Option<IdRecord> {
    tenant::admit_on_delivery::ending(id);
    recycle::id_gone(shim, id);
    events::forget(id)
}

entry! {
    fn rdma_destroy_id(id: *mut RdmaCmId) -> c_int, missing -1;
    |call, real| {
        let (key, record) = call.decide((None, None), |shim| {
            // SAFETY: the program's id, alive until the real call.
            let key = unsafe { waits::call_begins(shim, "rdma_destroy_id", id, waits::of_id) };
            (key, id_ends(shim, id))
        });
        // SAFETY: the program's own argument.
        let rc = unsafe { real(id) };
        call.finish_if(rc, key.is_some(), |shim, ended| {
            waits::call_ends(key);
            tenant::admit_on_delivery::ended_or_restored(id, ended.failed);
            if ended.failed.is_some() {
                events::remember(id, record);
                // SAFETY: a failed call leaves the id alive.
                unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
            }
        })
    }
}

entry! {
    fn rdma_destroy_ep(id: *mut RdmaCmId), missing ();
    |call, real| {
        if inner::past_us() {
            call.before(|shim| drop(id_ends(shim, id)));
        }
        // SAFETY: the program's own argument. The calls inside are watched by their own entries, where they come through us.
        unsafe { real(id) };
        call.done(())
    }
}

entry! {
    fn rdma_destroy_qp(id: *mut RdmaCmId), missing ();
    |call, real| {
        // SAFETY: the program's own argument. ibv_destroy_qp inside is watched by its own entry.
        unsafe { real(id) };
        call.done(())
    }
}

entry! {
    fn ibv_destroy_qp(qp: *mut IbvQp) -> c_int, missing libc::ENOSYS;
    |call, real| {
        let (key, record, parked) = call.decide((None, None, false), |shim| {
            // SAFETY: the program's queue pair, alive until the real call.
            let key = unsafe { waits::destroy_qp_begins(shim, "ibv_destroy_qp", qp) };
            let record = asynchronous::forget(qp);
            // SAFETY: as above.
            let parked = unsafe { recycle::parks(shim, qp, record.as_ref()) };
            (key, record, parked)
        });
        if parked {
            call.counts_as(Phase::DestroyQpHit);
            return call.done(0);
        }
        // SAFETY: the program's own argument.
        let rc = unsafe { real(qp) };
        call.finish_if(rc, key.is_some(), |shim, ended| {
            waits::call_ends(key);
            if ended.failed.is_some() {
                asynchronous::remember(qp, record);
            }
            calls::ended(shim, ended, Default::default, |_| {});
        })
    }
}

entry! {
    fn rdma_leave_multicast(id: *mut RdmaCmId, addr: *mut sockaddr) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's id.
        let key = call.decide(None, |shim| unsafe {
            waits::call_begins(shim, "rdma_leave_multicast", id, waits::of_group)
        });
        // SAFETY: the program's own arguments.
        let rc = unsafe { real(id, addr) };
        call.finish_if(rc, key.is_some(), |shim, ended| {
            waits::call_ends(key);
            // SAFETY: the program's id.
            unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
        })
    }
}

entry! {
    fn rdma_migrate_id(id: *mut RdmaCmId, channel: *mut RdmaEventChannel) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's id.
        let key = call.decide(None, |shim| unsafe {
            waits::call_begins(shim, "rdma_migrate_id", id, waits::of_id)
        });
        // SAFETY: the program's own arguments.
        let rc = unsafe { real(id, channel) };
        if rc == 0 && tenant::on() {
            // SAFETY: the program's id.
            unsafe { tenant::admit_on_delivery::moved(id) };
        }
        call.finish_if(rc, key.is_some(), |shim, ended| {
            waits::call_ends(key);
            // SAFETY: the program's id.
            unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
        })
    }
}
