//! Ids up to the route: create, bind, resolve, listen.

use super::entry;
use crate::abi::cm::{port_space, RdmaCmId, RdmaEventChannel};
use crate::boundary::inner::Inner;
use crate::pool::evict;
use crate::reasons::state::{records, IdPtr, IdRecord};
use crate::reasons::subject::{given_address, Subject};
use crate::reasons::{calls, facts, storm};
use crate::stats::{self};
use crate::tenant;
use cmshim_core::explain::Progress;
use cmshim_core::model::{Role, Stage};
use libc::{c_int, c_void, sockaddr};

entry! {
    fn rdma_create_id(channel: *mut RdmaEventChannel, id: *mut *mut RdmaCmId, context: *mut c_void, ps: c_int) -> c_int, missing -1;
    |call, real| {
        tenant::read_policy(&call);
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
        let refused = tenant::refuses(&mut call, |shim| unsafe {
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
        tenant::read_policy(&call);
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
