//! The other end of an id, copied without a look at anything else.

use crate::abi::cm::RdmaCmId;
use cmshim_core::stats::Peer;

/// The destination that the id has now.
///
/// # Safety
/// `id` is null or an rdma_cm_id that stays valid during this call.
#[inline(always)]
pub unsafe fn of(id: *const RdmaCmId) -> Peer {
    if id.is_null() {
        return Peer::default();
    }
    // SAFETY: valid, see above. A sockaddr_storage is aligned and large enough for both kinds.
    unsafe {
        let dst = std::ptr::addr_of!((*id).route.addr.dst);
        match i32::from((*dst).ss_family) {
            libc::AF_INET => {
                let v4 = &*dst.cast::<libc::sockaddr_in>();
                let [a, b, c, d] = v4.sin_addr.s_addr.to_ne_bytes();
                let bytes = [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                Peer::new(bytes, u16::from_be(v4.sin_port), 4)
            }
            libc::AF_INET6 => {
                let v6 = &*dst.cast::<libc::sockaddr_in6>();
                Peer::new(v6.sin6_addr.s6_addr, u16::from_be(v6.sin6_port), 6)
            }
            _ => Peer::default(),
        }
    }
}

/// The address of the destination as a number; 0: none.
///
/// # Safety
/// As `of`.
pub unsafe fn address(id: *const RdmaCmId) -> u128 {
    // SAFETY: as promised by the caller.
    let [low, high] = unsafe { of(id) }.address;
    u128::from(high) << 64 | u128::from(low)
}
