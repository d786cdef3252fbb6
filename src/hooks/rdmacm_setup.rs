//! librdmacm up to the route, and what an id has: channels, ids, groups, queue pairs, connect requests of synchronous ids.

use super::entry;
use crate::abi::cm::{port_space, RdmaAddrInfo, RdmaCmId, RdmaCmJoinMcAttrEx, RdmaEventChannel};
use crate::abi::verbs::{
    IbvPd, IbvQpInitAttr, IbvQpInitAttrEx, IbvSrqInitAttr, IbvSrqInitAttrEx, INIT_ATTR_PD,
};
use crate::abi::IdPtr;
use crate::call::Call;
use crate::channels::flood;
use crate::diagnosis::state::{records, IdRecord};
use crate::diagnosis::subject::Subject;
use crate::diagnosis::{asynchronous, calls, facts, storm};
use crate::pool::{bundle, create, evict};
use crate::process::ended::Ended;
use crate::process::inner::Inner;
use crate::process::shim::Shim;
use crate::stats;
use crate::sys::addresses::given_address;
use crate::sys::guard;
use crate::{channels, tenant};
use cmshim_core::explain::Progress;
use cmshim_core::model::{Role, Stage};
use cmshim_core::pool::Key;
use libc::{c_char, c_int, c_void, size_t, sockaddr};
use std::ffi::CStr;
use std::ptr::null_mut;

// Event channels, options, address look-up.

entry! {
    fn rdma_create_event_channel() -> *mut RdmaEventChannel, missing null_mut();
    @again evict::make_room;
    finish |shim, ended, rc| {
        // SAFETY: success gave a channel.
        if let Some(channel) = unsafe { rc.as_ref() } {
            tenant::begin(shim);
            // Who had the number before is gone, perhaps past us.
            tenant::seats_by_handle::channel_ends(channel.fd);
            channels::channel_made(shim, channel.fd, !ended.outermost);
        }
        calls::ended(shim, ended, Subject::default, |_| {});
    };
}

entry! {
    fn rdma_destroy_event_channel(channel: *mut RdmaEventChannel), missing ();
    // SAFETY: the program's channel, alive until the real call.
    @before |_shim| if let Some(channel) = unsafe { channel.as_ref() } {
        tenant::seats_by_handle::channel_ends(channel.fd);
        channels::channel_ends(channel.fd);
    };
    finish_if_failed |_shim, _ended, _rc| {};
}

entry! {
    fn rdma_set_option(id: *mut RdmaCmId, level: c_int, name: c_int, value: *mut c_void, length: size_t) -> c_int, missing -1;
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}

entry! {
    fn rdma_getaddrinfo(node: *const c_char, service: *const c_char, hints: *const RdmaAddrInfo, result: *mut *mut RdmaAddrInfo) -> c_int, missing -1;
    finish_if_failed |shim, ended, rc| {
        // Other values than -1 are getaddrinfo's own codes (`ucma_getaddrinfo`, librdmacm/addrinfo.c).
        let failed = if rc == -1 { ended.failed } else { (rc != 0).then_some(rc) };
        // SAFETY: the program's strings.
        let asked = || unsafe { Subject::of_name(node, service) };
        calls::ended(shim, Ended { failed, ..ended }, asked, |f| {
            // SAFETY: null or the program's string.
            f.node = (!node.is_null()).then(|| unsafe { CStr::from_ptr(node) }.to_string_lossy().into_owned());
        });
    };
}

// Ids up to the route: create, bind, resolve, listen.

entry! {
    fn rdma_create_id(channel: *mut RdmaEventChannel, id: *mut *mut RdmaCmId, context: *mut c_void, ps: c_int) -> c_int, missing -1;
    |call, real| {
        call.read_policy();
        let inner = Inner::awaited();
        // SAFETY: the program's own arguments, unchanged.
        let make = || unsafe { real(channel, id, context, ps) };
        let rc = call.retry_if(make(), evict::make_room, make);
        if rc == 0 && call.counted() && channel.is_null() {
            // librdmacm has made one by its own function.
            inner.came();
        }
        call.finish(rc, |shim, ended| {
            if rc == 0 {
                // SAFETY: success stored the new id there.
                let new = unsafe { *id };
                let record = IdRecord {
                    progress: Progress::New,
                    ..IdRecord::since(ended.began())
                };
                records().put(IdPtr(new as usize), record);
                stats::learned(ended.mark, Some(new), None);
            }
            calls::ended(
                shim,
                ended,
                || Subject::of_port_space(ps),
                |f| {
                    f.port_space_known = Some(port_space::name(ps).is_some());
                },
            );
        })
    }
}

entry! {
    fn rdma_bind_addr(id: *mut RdmaCmId, addr: *mut sockaddr) -> c_int, missing -1;
    finish |shim, ended, rc| {
        if rc == 0 {
            records().reached(IdPtr(id as usize), Progress::Bound);
        }
        // SAFETY: the program's id and address.
        unsafe {
            calls::ended_on_id(shim, ended, id, |f, _, subject| {
                subject.src = given_address(addr).or(subject.src);
                f.addresses.odd_family = facts::odd_family(addr);
            });
        }
    };
}

entry! {
    fn rdma_resolve_addr(id: *mut RdmaCmId, src: *mut sockaddr, dst: *mut sockaddr, timeout_ms: c_int) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's id and addresses.
        let refused = call.ask_policy(|shim| unsafe {
            tenant::egress::resolve(shim, id, src, dst)
        });
        if let Some(errno) = refused {
            return call.refused(errno);
        }
        call.before(|_shim| {
            let at = call.moment();
            records().begin(IdPtr(id as usize), Stage::Address, Role::Client, at)
        });
        // SAFETY: the program's own arguments, unchanged.
        let rc = unsafe { real(id, src, dst, timeout_ms) };
        // SAFETY: the program's id and addresses.
        call.finish_if_failed(rc, |shim, ended| unsafe {
            calls::ended_on_id(shim, ended, id, |f, _, subject| {
                // What the id is bound to counts more than the source given (`resolve_prepare_src`, cma.c).
                subject.src = subject.src.or(given_address(src));
                subject.dst = given_address(dst).or(subject.dst);
                f.addresses.odd_family = facts::odd_family(dst).or_else(|| facts::odd_family(src));
            });
        })
    }
}

entry! {
    fn rdma_resolve_route(id: *mut RdmaCmId, timeout_ms: c_int) -> c_int, missing -1;
    @before |shim, call| {
        if tenant::on() {
            // SAFETY: the program's id.
            unsafe { tenant::egress::class(shim, id) };
        }
        records().begin(IdPtr(id as usize), Stage::Route, Role::Client, call.moment());
    };
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe {
        calls::ended_on_id(shim, ended, id, |f, _, _| f.timeout_ms = Some(timeout_ms));
    };
}

entry! {
    fn rdma_listen(id: *mut RdmaCmId, backlog: c_int) -> c_int, missing -1;
    |call, real| {
        call.read_policy();
        let own = storm::Backlog::as_asked(backlog);
        // SAFETY: the program's id.
        let backlog = call.decide(own, |shim| unsafe { storm::backlog(shim, id, backlog) });
        // SAFETY: the program's id; the backlog is only a number.
        let rc = unsafe { real(id, backlog.asked) };
        call.finish(rc, |shim, ended| {
            storm::listens(ended, id, backlog);
            // SAFETY: the program's id.
            unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
        })
    }
}

// Connect requests of synchronous ids.

entry! {
    /// librdmacm takes the request by rdma_get_cm_event, where the tenant check refuses it; if that passes us by, it is
    /// refused here.
    fn rdma_get_request(listener: *mut RdmaCmId, id: *mut *mut RdmaCmId) -> c_int, missing -1;
    |call, real| {
        call.read_policy();
        let here = 0u8;
        let mut refused = 0;
        let rc = loop {
            if tenant::on() {
                tenant::check::clean_up(&here);
                tenant::seats_by_handle::nothing_served();
            }
            let inner = Inner::awaited();
            // SAFETY: the program's own arguments, unchanged.
            let rc = unsafe { real(listener, id) };
            // SAFETY: success filled `id` with a whole id, which nobody else has seen.
            if rc != 0 || !call.counted() || inner.came() || !unsafe { is_refused(&call, id) } {
                break rc;
            }
            refused += 1;
            // SAFETY: the call went well, so the listener is whole, and has a channel.
            if refused % flood::AT_ONCE == 0 && unsafe { flood::may_end((*(*listener).channel).fd) } {
                guard::set_errno(libc::EAGAIN);
                break -1;
            }
        };
        // SAFETY: the program's listener.
        call.finish_if_failed(rc, |shim, ended| unsafe {
            calls::ended_on_id(shim, ended, listener, |_, _, _| {})
        })
    }
}

/// The id stands for a connect request that may not be: it is gone now.
///
/// # Safety
/// `id` points to an id that rdma_get_request has just given.
unsafe fn is_refused(call: &Call, id: *mut *mut RdmaCmId) -> bool {
    // SAFETY: as promised by the caller; the id has the event that it came with.
    unsafe {
        let event = (**id).event;
        if !tenant::on()
            || event.is_null()
            || !tenant::admit_on_delivery::refused(call.shim(), event)
        {
            return false;
        }
        *id = std::ptr::null_mut();
    }
    true
}

// Joining multicast groups.

entry! {
    fn rdma_join_multicast(id: *mut RdmaCmId, addr: *mut sockaddr, context: *mut c_void) -> c_int, missing -1;
    @before |_shim, call| records().begin(IdPtr(id as usize), Stage::Multicast, Role::None, call.moment());
    // SAFETY: the program's id and address.
    finish_if_failed |shim, ended, _rc| unsafe {
        calls::ended_on_id(shim, ended, id, |_, _, subject| subject.dst = given_address(addr));
    };
}

entry! {
    fn rdma_join_multicast_ex(id: *mut RdmaCmId, attr: *mut RdmaCmJoinMcAttrEx, context: *mut c_void) -> c_int, missing -1;
    @before |_shim, call| records().begin(IdPtr(id as usize), Stage::Multicast, Role::None, call.moment());
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}

// Queue pairs and shared receive queues of an id.

entry! {
    fn rdma_create_qp(id: *mut RdmaCmId, pd: *mut IbvPd, attr: *mut IbvQpInitAttr) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's own arguments.
        let key = call.decide(None, |shim| unsafe { bundle::begins(shim, id, pd, attr) });
        // SAFETY: the program's own arguments, unchanged.
        let rc = unsafe { real(id, pd, attr) };
        // SAFETY: the program's own arguments.
        call.finish(rc, |shim, ended| unsafe {
            created(shim, ended, key, id, attr)
        })
    }
}

entry! {
    fn rdma_create_qp_ex(id: *mut RdmaCmId, attr: *mut IbvQpInitAttrEx) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's own arguments.
        let key = call.decide(None, |shim| unsafe { bundle_of(shim, id, attr) });
        // SAFETY: the program's own arguments, unchanged.
        let rc = unsafe { real(id, attr) };
        // SAFETY: the program's own arguments; the extended structure begins like the plain one.
        call.finish(rc, |shim, ended| unsafe {
            created(shim, ended, key, id, attr.cast())
        })
    }
}

/// # Safety
/// `id` is null or valid, `attr` null or whole.
unsafe fn bundle_of(
    shim: &'static Shim,
    id: *const RdmaCmId,
    attr: *const IbvQpInitAttrEx,
) -> Option<Key> {
    // SAFETY: as promised by the caller.
    let wide = unsafe { attr.as_ref() }?;
    if wide.comp_mask & !INIT_ATTR_PD != 0 {
        create::extended(shim);
        return None;
    }
    let given = wide.comp_mask & INIT_ATTR_PD != 0;
    let pd = if given { wide.pd } else { null_mut() };
    // SAFETY: as promised by the caller; the extended structure begins like the plain one.
    unsafe { bundle::begins(shim, id, pd, attr.cast()) }
}

/// # Safety
/// `id` is null or valid, `attr` null or whole; `key` is of this call.
unsafe fn created(
    shim: &'static Shim,
    ended: Ended,
    key: Option<Key>,
    id: *const RdmaCmId,
    attr: *const IbvQpInitAttr,
) {
    if let Some(key) = key {
        // SAFETY: the key's context is that of the id, which keeps its device open and is alive until its call returns.
        unsafe { bundle::ends(shim, &key, ended.failed.is_none()) };
    }
    // SAFETY: as promised by the caller.
    let Some(cm) = (unsafe { id.as_ref() }) else {
        return;
    };
    if ended.failed.is_none() {
        // SAFETY: success set the id's queue pair.
        let qp_num = unsafe { cm.qp.as_ref() }.map(|qp| qp.qp_num);
        records().with(IdPtr(id as usize), |r| r.qp_num = qp_num);
        stats::learned(ended.mark, None, qp_num);
        asynchronous::belongs(cm.qp, IdPtr(id as usize));
        return;
    }
    // SAFETY: as promised by the caller; an id's device is open.
    unsafe {
        calls::ended_on_id(shim, ended, id, |f, _, _| {
            if ended.outermost {
                facts::queue_pair(f, cm.verbs, attr);
            }
        });
    }
}

entry! {
    fn rdma_create_srq(id: *mut RdmaCmId, pd: *mut IbvPd, attr: *mut IbvSrqInitAttr) -> c_int, missing -1;
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}

entry! {
    fn rdma_create_srq_ex(id: *mut RdmaCmId, attr: *mut IbvSrqInitAttrEx) -> c_int, missing -1;
    // SAFETY: the program's id.
    finish_if_failed |shim, ended, _rc| unsafe { calls::ended_on_id(shim, ended, id, |_, _, _| {}) };
}
