//! What the program's own access check is, and what it is asked about: C types of `include/cmshim.h`.

use libc::{c_char, c_int, c_uchar, c_uint, c_ushort, c_void, sockaddr};

/// A connect request that the program is asked about. Everything is valid only until the check returns.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct cmshim_access_request {
    /// sizeof(struct cmshim_access_request) of the library: later ones may be larger.
    pub size: c_uint,
    /// P_Key of the connection, in host byte order (0xffff on RoCE).
    pub pkey: c_ushort,
    /// Bytes of `private_data`, 0 for none. The kernel gives all that the request has room for: 56 where it carries
    /// IP addresses (92 of IBTA's REQ, less 36 of annex A11), padded with zero bytes.
    pub private_data_len: c_uchar,
    /// 0.
    pub reserved: c_uchar,
    /// The peer's address.
    pub peer: *const sockaddr,
    /// This end's address; its port is the one that the program listens on.
    pub local: *const sockaddr,
    /// Name of the tenant that the policy found, NUL-terminated; NULL without policy, or if `default` decided.
    pub tenant: *const c_char,
    /// Private data of the request, as the program would get it in the event.
    pub private_data: *const c_void,
}

/// Decides about a connect request: 0 lets it through to the program, anything else refuses it.
#[allow(non_camel_case_types)]
pub type cmshim_access_check = Option<
    unsafe extern "C-unwind" fn(request: *const cmshim_access_request, user: *mut c_void) -> c_int,
>;
