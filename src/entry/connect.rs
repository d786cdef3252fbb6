//! Connect, accept, reject, disconnect, and the calls that do several steps.

use super::entry;
use crate::abi::cm::{RdmaAddrInfo, RdmaCmId, RdmaConnParam};
use crate::abi::verbs::{IbvPd, IbvQpAttr, IbvQpInitAttr};
use crate::boundary::inner::Inner;
use crate::reasons::state::{records, IdPtr};
use crate::reasons::subject::Subject;
use crate::reasons::{calls, facts, refusals, waits};
use crate::tenant;
use cmshim_core::explain::Progress;
use cmshim_core::model::{Role, Stage};
use libc::{c_int, c_void};

entry! {
    fn rdma_connect(id: *mut RdmaCmId, param: *mut RdmaConnParam) -> c_int, missing -1;
    |call, real| {
        // SAFETY: the program's id.
        if let Some(errno) = tenant::refuses(&mut call, |shim| unsafe {
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
        if let Some(errno) = tenant::refuses(&mut call, |shim| unsafe {
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
