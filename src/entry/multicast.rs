//! Joining multicast groups.

use super::entry;
use crate::abi::cm::{RdmaCmId, RdmaCmJoinMcAttrEx};
use crate::reasons::calls;
use crate::reasons::state::{records, IdPtr};
use crate::reasons::subject::given_address;
use cmshim_core::model::{Role, Stage};
use libc::{c_int, c_void, sockaddr};

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
