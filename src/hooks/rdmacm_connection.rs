//! librdmacm from connect to the end of the id, and CM events.

use super::entry;
use crate::abi::cm::{RdmaAddrInfo, RdmaCmEvent, RdmaCmId, RdmaConnParam, RdmaEventChannel};
use crate::abi::verbs::{IbvPd, IbvQpAttr, IbvQpInitAttr};
use crate::abi::IdPtr;
use crate::channels::{self, flood};
use crate::diagnosis::state::{records, IdRecord};
use crate::diagnosis::subject::Subject;
use crate::diagnosis::{calls, events, facts, refusals, waits};
use crate::pool::recycle;
use crate::process::inner::{self, Inner};
use crate::process::shim::Shim;
use crate::process::thread;
use crate::stats;
use crate::sys::clock::LazyNow;
use crate::sys::guard;
use crate::{pool, real, tenant};
use cmshim_core::codes::event as ev;
use cmshim_core::explain::Progress;
use cmshim_core::model::{Role, Stage};
use libc::{c_int, c_void, sockaddr};

// Connect, accept, reject, disconnect, and the calls that do several steps.

entry! {
    fn rdma_connect(id: *mut RdmaCmId, param: *mut RdmaConnParam) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's id.
        if let Some(errno) = call.ask_policy(|shim| unsafe {
            tenant::egress::connect(shim, id)
        }) {
            return call.refused(errno);
        }
        call.before(|shim| {
            let at = call.moment();
            records().begin(IdPtr(id as usize), Stage::Connect, Role::Client, at);
            // SAFETY: the program's id.
            unsafe { waits::connect_begins(shim, id) };
        });
        // SAFETY: the program's own arguments, unchanged.
        let rc = unsafe { real(id, param) };
        call.finish_if_failed(rc, |shim, ended| {
            if !ended
                .failed
                .is_some_and(|errno| calls::in_progress(ended.name, errno))
            {
                waits::connect_ends(IdPtr(id as usize));
                tenant::admit_on_delivery::ended(id);
            }
            // SAFETY: the program's id and parameters.
            unsafe {
                calls::ended_on_id(shim, ended, id, |f, _, _| {
                    facts::parameters(f, id, param, facts::Message::Connect)
                });
            }
        })
    }
}

entry! {
    fn rdma_establish(id: *mut RdmaCmId) -> c_int, missing -1;
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}

entry! {
    fn rdma_init_qp_attr(id: *mut RdmaCmId, attr: *mut IbvQpAttr, mask: *mut c_int) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's own arguments, unchanged.
        let rc = unsafe { real(id, attr, mask) };
        if rc == 0 && tenant::on() {
            // SAFETY: success filled both.
            unsafe { tenant::admit_on_delivery::attributes(id, attr, *mask) };
        }
        // SAFETY: the program's id.
        call.finish_if_failed(rc, |shim, ended| unsafe {
            calls::ended_on_id(shim, ended, id, |_, _, _| {});
        })
    }
}

entry! {
    fn rdma_accept(id: *mut RdmaCmId, param: *mut RdmaConnParam) -> c_int, missing -1;
    finish |shim, ended, _rc| {
        if ended.failed.is_none() {
            records().reached(IdPtr(id as usize), Progress::Accepted);
        }
        // SAFETY: the program's id and parameters.
        unsafe {
            calls::ended_on_id(shim, ended, id, |f, record, _| {
                f.age = calls::age(record);
                facts::parameters(f, id, param, facts::Message::Accept);
            });
        }
    };
}

entry! {
    fn rdma_reject(id: *mut RdmaCmId, private_data: *const c_void, length: u8) -> c_int, missing -1;
    @before |_shim| tenant::admit_on_delivery::ending(id);
    finish |shim, ended, _rc| {
        tenant::admit_on_delivery::ended_or_restored(id, ended.failed);
        // SAFETY: the program's id and private data.
        unsafe { refusals::ended(shim, ended, id, private_data, length) }
    };
}

entry! {
    fn rdma_reject_ece(id: *mut RdmaCmId, private_data: *const c_void, length: u8) -> c_int, missing -1;
    @before |_shim| tenant::admit_on_delivery::ending(id);
    finish |shim, ended, _rc| {
        tenant::admit_on_delivery::ended_or_restored(id, ended.failed);
        // SAFETY: the program's id and private data.
        unsafe { refusals::ended(shim, ended, id, private_data, length) }
    };
}

entry! {
    fn rdma_notify(id: *mut RdmaCmId, event: c_int) -> c_int, missing -1;
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}

entry! {
    fn rdma_disconnect(id: *mut RdmaCmId) -> c_int, missing -1;
    @before |_shim| {
        tenant::admit_on_delivery::ending(id);
        records().with(IdPtr(id as usize), |record| record.we_disconnected = true);
    };
    finish_if_failed |shim, ended, _rc| {
        tenant::admit_on_delivery::ended_or_restored(id, ended.failed);
        // SAFETY: the program's id.
        unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) }
    };
}

entry! {
    fn rdma_create_ep(id: *mut *mut RdmaCmId, info: *mut RdmaAddrInfo, pd: *mut IbvPd, attr: *mut IbvQpInitAttr) -> c_int, missing -1;
    |call, real| {
        // librdmacm resolves the address inside, past our rdma_resolve_addr.
        // SAFETY: the program's look-up result.
        if let Some(errno) = call.ask_policy(|shim| unsafe {
            tenant::egress::endpoint(shim, info)
        }) {
            return call.refused(errno);
        }
        let inner = Inner::awaited();
        // SAFETY: the program's own arguments, unchanged.
        let rc = unsafe { real(id, info, pd, attr) };
        if rc == 0 && call.counted() {
            inner.came();
        }
        call.finish_if_failed(rc, |shim, ended| {
            // SAFETY: the program's look-up result.
            calls::ended(shim, ended, || unsafe { Subject::of_info(info) }, |_| {});
        })
    }
}

// Taking and acking CM events.

/// Diagnosis asks the other features.
const OTHERS: events::Others = events::Others {
    more: channels::more,
    queue_pair: recycle::details,
};

entry! {
    /// A non-blocking program may call this in a loop: an empty channel costs nothing more.
    fn rdma_get_cm_event(channel: *mut RdmaEventChannel, event: *mut *mut RdmaCmEvent) -> c_int, missing -1;
    |call, real| {
        let here = 0u8;
        let mut refused = 0;
        let rc = loop {
            if tenant::on() {
                tenant::check::clean_up(&here);
                call.shim()
                    .into_iter()
                    .for_each(|shim| tenant::check::without_keeper(shim, channels::refused_at));
                tenant::seats_by_handle::nothing_served();
            }
            // SAFETY: the program's own arguments, unchanged.
            let rc = unsafe { real(channel, event) };
            // SAFETY: success filled `event` with a pointer to a whole event, which nobody else has seen.
            if rc != 0 || !tenant::on() || !unsafe { tenant::admit_on_delivery::refused(call.shim(), *event) }
            {
                break rc;
            }
            refused += 1;
            // SAFETY: the call went well, so both are the program's and valid.
            unsafe {
                // Nobody may find an event there that is gone.
                *event = std::ptr::null_mut();
                if refused % flood::AT_ONCE == 0 && flood::may_end((*channel).fd) {
                    guard::set_errno(libc::EAGAIN);
                    break -1;
                }
            }
        };
        if rc != 0 && matches!(guard::errno(), libc::EAGAIN | libc::EINTR) {
            return call.done(rc);
        }
        let counted = rc == 0 && call.counted();
        let look = LazyNow::default();
        // SAFETY: on success the real call filled `event`, and used the channel.
        let finished = call.finish(rc, |shim, ended| unsafe {
            let fd = channel.as_ref().map_or(-1, |channel| channel.fd);
            if ended.failed.is_none() {
                pool::events::cm(shim, event);
            }
            events::handed_over(shim, ended, event, fd, &look, &OTHERS)
        });
        if counted {
            // Last, so that the time is the one at which the program has it. What a request or a line takes before is ours.
            // SAFETY: success filled `event` with a pointer to a whole event.
            unsafe {
                let event = event.as_ref().map_or(std::ptr::null(), |e| *e);
                if event.as_ref().is_some_and(|e| e.event == ev::CONNECT_REQUEST) {
                    look.past();
                }
                stats::handed_over(event, &look)
            };
        }
        finished
    }
}

entry! {
    fn rdma_ack_cm_event(event: *mut RdmaCmEvent) -> c_int, missing -1;
    // SAFETY: the program's event, which lives until the real call.
    @before |_shim| unsafe {
        stats::acked(event);
        events::acked(event);
    };
    finish_if_failed |_shim, _ended, _rc| {};
}

// Calls that block until the program has acked its events: watched while they do.

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

// rsockets stand on functions of librdmacm, which come through us: all that is to be done is done there.

entry! {
    /// A librdmacm whose inner calls pass us by would connect and accept past the tenant policy: no socket is given then.
    fn rsocket(domain: c_int, kind: c_int, protocol: c_int) -> c_int, missing -1;
    |call, real| {
        call.read_policy();
        let inner = Inner::awaited();
        // SAFETY: the program's own arguments, unchanged.
        let socket = unsafe { real(domain, kind, protocol) };
        let stream = kind & !(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) == libc::SOCK_STREAM;
        let checked = socket >= 0 && stream && call.counted();
        if checked && !inner.came() && call.decide(false, tenant::egress::sockets_pass_by) {
            if let Some(close) = real::rclose() {
                // SAFETY: the socket was just made, and nobody knows it.
                unsafe { close(socket) };
            }
            return call.refused(libc::EACCES);
        }
        call.finish_if_failed(socket.min(0), |shim, ended| {
            // Its own refusals are of arguments; what is worth a line failed inside.
            if thread::inner().is_some() {
                calls::ended(shim, ended, Subject::default, |_| {});
            }
        })
        .giving(socket)
    }
}
