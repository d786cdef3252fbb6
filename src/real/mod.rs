//! All ways out: the only place that calls the real libraries, libc behind our own functions (`c_library`), and the kernel's
//! RDMA CM by commands of our own (`ucm`).
//!
//! Each function is looked up on its first use, by name *and* version: libibverbs exports many
//! names twice (1.0 and 1.1, with different structures). The look-up takes no lock of ours, so a
//! thread that holds the loader's lock (a constructor during dlopen) can never wait for us.

pub mod c_library;
pub mod ucm;

use crate::abi::{cm::*, verbs::*};
use crate::symbols::{self, Symbol};
use crate::sys::guard;
use libc::{c_int, c_void, size_t, sockaddr};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicUsize, Ordering};

const UNKNOWN: usize = 0;
const MISSING: usize = 1;

/// Address of the real symbol, remembered in `slot`; `None` if no library has it.
fn resolve(slot: &AtomicUsize, name: &str) -> Option<usize> {
    let mut known = slot.load(Ordering::Acquire);
    if known == UNKNOWN {
        // A handler that leaves by longjmp, or a cancellation, must not meet the loader at work.
        let find = || symbols::find(name).and_then(look_up).unwrap_or(MISSING);
        known = match guard::inside() {
            true => find(),
            false => guard::run(find).unwrap_or(MISSING),
        };
        slot.store(known, Ordering::Release);
    }
    (known != MISSING).then_some(known)
}

/// Looks behind us in the load order, then in the library if it is loaded (perhaps with
/// RTLD_LOCAL), then loads it.
fn look_up(symbol: &Symbol) -> Option<usize> {
    let name = CString::new(symbol.name).ok()?;
    let soname = symbol.lib.soname().as_ptr();
    let found = behind_us(&name, symbol.version).or_else(|| {
        [libc::RTLD_NOLOAD, 0].into_iter().find_map(|flag| {
            // SAFETY: `soname` is NUL-terminated. The handle is never closed, so the object stays mapped.
            let handle = unsafe { libc::dlopen(soname, libc::RTLD_LAZY | flag) };
            if handle.is_null() {
                return None;
            }
            // SAFETY: both strings are NUL-terminated and live across the call.
            not_ours(unsafe { libc::dlvsym(handle, name.as_ptr(), symbol.version.as_ptr()) })
        })
    });
    // SAFETY: no argument; it clears this thread's message, so that the program's own dlerror()
    // does not tell of our look-up.
    unsafe { libc::dlerror() };
    found
}

/// The next definition in the load order. dlvsym passes over objects without versions, such as
/// another preload library beneath us: where the plain look-up finds one first, it goes first.
fn behind_us(name: &CStr, version: &CStr) -> Option<usize> {
    // SAFETY: both strings are NUL-terminated and live across the calls.
    let (plain, versioned) = unsafe {
        (
            libc::dlsym(libc::RTLD_NEXT, name.as_ptr()),
            libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()),
        )
    };
    match (not_ours(plain), not_ours(versioned)) {
        (Some(p), Some(v)) if object_of(p) == object_of(v) => Some(v),
        (plain, versioned) => plain.or(versioned),
    }
}

/// Does the address lie in this object? (Told by the object: the address of an exported function of
/// ours may be that of another object which comes first.)
pub fn is_ours(address: *mut c_void) -> bool {
    object_of(address as usize) == object_of(is_ours as *const c_void as usize)
}

/// An address in this object is refused: calling it would never end.
fn not_ours(address: *mut c_void) -> Option<usize> {
    (!address.is_null() && !is_ours(address)).then_some(address as usize)
}

/// Load address of the object that holds `address`.
fn object_of(address: usize) -> usize {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is writable for a Dl_info and zeroed is a valid value; dladdr accepts any address.
    unsafe {
        libc::dladdr(address as *const c_void, info.as_mut_ptr());
        info.assume_init().dli_fbase as usize
    }
}

macro_rules! real {
    ($($name:ident($($arg:ty),*) $(-> $ret:ty)?;)*) => { $(
        pub fn $name() -> Option<unsafe extern "C-unwind" fn($($arg),*) $(-> $ret)?> {
            static SLOT: AtomicUsize = AtomicUsize::new(UNKNOWN);
            let address = resolve(&SLOT, stringify!($name))?;
            // SAFETY: the address is that of the symbol of this name and version, whose C
            // declaration in the public header is the type given here (`crate::headers`).
            Some(unsafe {
                std::mem::transmute::<usize, unsafe extern "C-unwind" fn($($arg),*) $(-> $ret)?>(address)
            })
        }
    )*

        /// All of them as C declarations, to be compared with the headers.
        #[cfg(test)]
        pub fn declarations() -> Vec<String> {
            use crate::headers::functions::declaration;
            vec![$(declaration::<unsafe extern "C-unwind" fn($($arg),*) $(-> $ret)?>(stringify!($name))),*]
        }
    };
}

real! {
    rdma_create_event_channel() -> *mut RdmaEventChannel;
    rdma_destroy_event_channel(*mut RdmaEventChannel);
    rdma_create_id(*mut RdmaEventChannel, *mut *mut RdmaCmId, *mut c_void, c_int) -> c_int;
    rdma_destroy_id(*mut RdmaCmId) -> c_int;
    rdma_bind_addr(*mut RdmaCmId, *mut sockaddr) -> c_int;
    rdma_resolve_addr(*mut RdmaCmId, *mut sockaddr, *mut sockaddr, c_int) -> c_int;
    rdma_resolve_route(*mut RdmaCmId, c_int) -> c_int;
    rdma_create_qp(*mut RdmaCmId, *mut IbvPd, *mut IbvQpInitAttr) -> c_int;
    rdma_create_qp_ex(*mut RdmaCmId, *mut IbvQpInitAttrEx) -> c_int;
    rdma_destroy_qp(*mut RdmaCmId);
    rdma_connect(*mut RdmaCmId, *mut RdmaConnParam) -> c_int;
    rdma_establish(*mut RdmaCmId) -> c_int;
    rdma_init_qp_attr(*mut RdmaCmId, *mut IbvQpAttr, *mut c_int) -> c_int;
    rdma_listen(*mut RdmaCmId, c_int) -> c_int;
    rdma_accept(*mut RdmaCmId, *mut RdmaConnParam) -> c_int;
    rdma_reject(*mut RdmaCmId, *const c_void, u8) -> c_int;
    rdma_reject_ece(*mut RdmaCmId, *const c_void, u8) -> c_int;
    rdma_notify(*mut RdmaCmId, c_int) -> c_int;
    rdma_disconnect(*mut RdmaCmId) -> c_int;
    rdma_join_multicast(*mut RdmaCmId, *mut sockaddr, *mut c_void) -> c_int;
    rdma_join_multicast_ex(*mut RdmaCmId, *mut RdmaCmJoinMcAttrEx, *mut c_void) -> c_int;
    rdma_leave_multicast(*mut RdmaCmId, *mut sockaddr) -> c_int;
    rdma_get_cm_event(*mut RdmaEventChannel, *mut *mut RdmaCmEvent) -> c_int;
    rdma_ack_cm_event(*mut RdmaCmEvent) -> c_int;
    rdma_set_option(*mut RdmaCmId, c_int, c_int, *mut c_void, size_t) -> c_int;
    rdma_migrate_id(*mut RdmaCmId, *mut RdmaEventChannel) -> c_int;
    rdma_getaddrinfo(*const libc::c_char, *const libc::c_char, *const RdmaAddrInfo, *mut *mut RdmaAddrInfo) -> c_int;
    rdma_get_request(*mut RdmaCmId, *mut *mut RdmaCmId) -> c_int;
    rdma_create_ep(*mut *mut RdmaCmId, *mut RdmaAddrInfo, *mut IbvPd, *mut IbvQpInitAttr) -> c_int;
    rdma_destroy_ep(*mut RdmaCmId);
    rdma_create_srq(*mut RdmaCmId, *mut IbvPd, *mut IbvSrqInitAttr) -> c_int;
    rsocket(c_int, c_int, c_int) -> c_int;
    rclose(c_int) -> c_int;
    rdma_create_srq_ex(*mut RdmaCmId, *mut IbvSrqInitAttrEx) -> c_int;
    ibv_get_device_list(*mut c_int) -> *mut *mut IbvDevice;
    ibv_open_device(*mut IbvDevice) -> *mut IbvContext;
    ibv_alloc_pd(*mut IbvContext) -> *mut IbvPd;
    ibv_create_cq(*mut IbvContext, c_int, *mut c_void, *mut IbvCompChannel, c_int) -> *mut IbvCq;
    ibv_create_comp_channel(*mut IbvContext) -> *mut IbvCompChannel;
    ibv_create_srq(*mut IbvPd, *mut IbvSrqInitAttr) -> *mut IbvSrq;
    ibv_create_qp(*mut IbvPd, *mut IbvQpInitAttr) -> *mut IbvQp;
    ibv_modify_qp(*mut IbvQp, *mut IbvQpAttr, c_int) -> c_int;
    ibv_query_qp(*mut IbvQp, *mut IbvQpAttr, c_int, *mut IbvQpInitAttr) -> c_int;
    ibv_destroy_qp(*mut IbvQp) -> c_int;
    ibv_dealloc_pd(*mut IbvPd) -> c_int;
    ibv_destroy_cq(*mut IbvCq) -> c_int;
    ibv_destroy_comp_channel(*mut IbvCompChannel) -> c_int;
    ibv_destroy_srq(*mut IbvSrq) -> c_int;
    ibv_close_device(*mut IbvContext) -> c_int;
    ibv_reg_mr(*mut IbvPd, *mut c_void, size_t, c_int) -> *mut IbvMr;
    ibv_reg_mr_iova(*mut IbvPd, *mut c_void, size_t, u64, c_int) -> *mut IbvMr;
    ibv_reg_mr_iova2(*mut IbvPd, *mut c_void, size_t, u64, libc::c_uint) -> *mut IbvMr;
    ibv_reg_dmabuf_mr(*mut IbvPd, u64, size_t, u64, c_int, c_int) -> *mut IbvMr;
    ibv_get_async_event(*mut IbvContext, *mut IbvAsyncEvent) -> c_int;
    ibv_ack_async_event(*mut IbvAsyncEvent);
    ibv_query_device(*mut IbvContext, *mut IbvDeviceAttr) -> c_int;
    ibv_query_port(*mut IbvContext, u8, *mut IbvPortAttr) -> c_int;
    ibv_query_gid(*mut IbvContext, u8, c_int, *mut IbvGid) -> c_int;
    ibv_dereg_mr(*mut IbvMr) -> c_int;
    mlx5dv_set_context_attr(*mut IbvContext, libc::c_uint, *mut c_void) -> c_int;
}
