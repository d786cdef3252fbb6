//! A call of libmlx5 after which only the program's own threads may create and destroy objects of the device.

use super::entry;
use crate::abi::verbs::IbvContext;
use crate::pool::objects;
use libc::{c_int, c_uint, c_void};

/// `MLX5DV_CTX_ATTR_BUF_ALLOCATORS` of `<infiniband/mlx5dv.h>`: functions of the program allocate the buffers.
const BUF_ALLOCATORS: c_uint = 1;

entry! {
    fn mlx5dv_set_context_attr(context: *mut IbvContext, kind: c_uint, attr: *mut c_void) -> c_int, missing libc::ENOSYS;
    finish |shim, ended, _rc| if ended.failed.is_none() && kind == BUF_ALLOCATORS {
        objects::own_allocators(shim, context);
    };
}
