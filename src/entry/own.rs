//! Our own API, as in `include/cmshim.h`.

use crate::abi::verbs::{IbvPd, IbvQpInitAttr};
use crate::boundary::{guard, shim};
use crate::pool;
use crate::real;
use cmshim_core::explain;
use cmshim_core::model::Transport;
use libc::{c_char, c_int, size_t};

/// What carries a connection: it decides how a status number is read.
#[repr(C)]
#[allow(non_camel_case_types, dead_code)]
pub enum cmshim_transport {
    /// Not known; a positive status is read as on InfiniBand.
    CMSHIM_TRANSPORT_UNKNOWN = 0,
    /// InfiniBand: a positive status is a reject reason (IBTA 12.6.7.2).
    CMSHIM_TRANSPORT_IB = 1,
    /// RoCE v1 and v2: as InfiniBand.
    CMSHIM_TRANSPORT_ROCE = 2,
    /// iWARP: a status is a negative errno.
    CMSHIM_TRANSPORT_IWARP = 3,
}

const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
const LENGTH: usize = TEXT.len();

/// In a section of its own, where `cmshim doctor` reads it without loading the library.
#[link_section = ".cmshim.version"]
static VERSION: [u8; LENGTH] = match TEXT.as_bytes().first_chunk() {
    Some(bytes) => *bytes,
    None => [0; LENGTH],
};

/// The version of the library, "MAJOR.MINOR.PATCH". Static: never freed. Any thread may call it at
/// any time.
#[no_mangle]
pub extern "C" fn cmshim_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Is the shim in effect in this process? 1 if the program's `rdma_*` calls come through it and it
/// is not disabled for this program, 0 if not (linked but behind librdmacm in the load order,
/// `disable`, on the `skip` list, or off after an internal error). Any thread may call it; the first
/// call reads the configuration.
#[no_mangle]
pub extern "C" fn cmshim_active() -> c_int {
    c_int::from(in_effect())
}

/// Do the program's calls come through us, with the shim on?
pub fn in_effect() -> bool {
    // SAFETY: NUL-terminated name; RTLD_DEFAULT looks where the program's own references look.
    let bound = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rdma_connect".as_ptr()) };
    real::is_ours(bound) && shim::get().is_some()
}

/// Explains an RDMA CM event in plain words: who ended it, why, and what to do.
///
/// `event` is a number of `enum rdma_cm_event_type`, `status` the event's status (a positive reject
/// reason or a negative errno), `transport` one of `enum cmshim_transport`. Writes at most `size`
/// bytes to `buffer`, always with a terminating NUL if `size` is not 0, and returns the length of the
/// whole text without the NUL, as snprintf does: a result of `size` or more was cut, at the end of a
/// UTF-8 character. `buffer` may be NULL to learn the length. Unknown numbers are explained as such;
/// there is no error. Any thread may call it.
#[allow(clippy::missing_safety_doc)] // the text above goes into the C header
#[no_mangle]
pub unsafe extern "C" fn cmshim_explain(
    event: c_int,
    status: c_int,
    transport: c_int,
    buffer: *mut c_char,
    size: size_t,
) -> size_t {
    let transport = match transport {
        1 => Transport::Ib,
        2 => Transport::Roce,
        3 => Transport::Iwarp,
        _ => Transport::Unknown,
    };
    let text = guard::run(|| explain::plain(event, status, transport)).unwrap_or_default();
    if !buffer.is_null() && size > 0 {
        let mut length = text.len().min(size - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        // SAFETY: `length` + 1 bytes are at most `size`, which the caller promises.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
            *buffer.add(length) = 0;
        }
    }
    text.len()
}

/// Asks for `number` queue pairs of this kind to lie ready in the pool, in addition to what the pool
/// would do by itself: for a program that knows how many connections are to come. At most `pool.max`
/// of the configuration; they are made in the background, and given back when nobody needed them for
/// `pool.idle_s`.
///
/// `pd` and `attr` are as for ibv_create_qp; `attr` is not changed, and its `qp_context` does not
/// matter. Returns 0, or -1 with errno EINVAL (a NULL pointer, or a number below 1), or EOPNOTSUPP: no
/// pool in this process (not in effect, `pool.enable` or `threads` off), or a kind that is not
/// pooled (neither RC nor UC, objects that were not created through the shim, no completion queues
/// given). Any thread may call it that may call ibv_create_qp with the same arguments.
#[allow(clippy::missing_safety_doc)] // the text above goes into the C header
#[no_mangle]
pub unsafe extern "C" fn cmshim_pool_warm(
    pd: *const IbvPd,
    attr: *const IbvQpInitAttr,
    number: c_int,
) -> c_int {
    // SAFETY: null or valid, as the caller promises.
    let (domain, wanted) = unsafe { (pd.as_ref(), attr.as_ref()) };
    let (Some(domain), Some(wanted), Ok(number @ 1..)) = (domain, wanted, u32::try_from(number))
    else {
        guard::set_errno(libc::EINVAL);
        return -1;
    };
    let asked = shim::get()
        .and_then(|shim| guard::run(|| pool::create::warm(shim, domain, wanted, number)));
    if asked == Some(true) {
        return 0;
    }
    guard::set_errno(libc::EOPNOTSUPP);
    -1
}
