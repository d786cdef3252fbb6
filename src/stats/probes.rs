//! USDT probes for bpftrace, perf, SystemTap and gdb: a nop each while nobody looks. They are there with
//! statistics on or off. `tools/bpftrace` uses them.
//!
//! | probe | arguments |
//! |---|---|
//! | `cmshim:connect` | id, IPv4 address in network order (0: IPv6 or none), port |
//! | `cmshim:established` | id, ns since rdma_connect or rdma_accept (0: not known) |
//! | `cmshim:rejected` | id, event (REJECTED, UNREACHABLE or CONNECT_ERROR), status |
//! | `cmshim:hand_over` | id, event, status |
//! | `cmshim:refusal` | id (0: refused before the program had it), why (0: the program called rdma_reject; else the number of a tenant `Code`): this process refuses a connect request |
//! | `cmshim:pool_hit` | queue pair number |
//! | `cmshim:pool_miss` | why, as the number of a by-pass reason (-1: the pool was empty) |

use cmshim_core::stats::Peer;
use probe::probe;

#[inline]
pub fn connect(id: usize, peer: &Peer) {
    let v4 = match peer.family {
        4 => peer.address[0] as u32,
        _ => 0,
    };
    probe!(cmshim, connect, id, v4, peer.port);
}

#[inline]
pub fn established(id: usize, took_ns: u64) {
    probe!(cmshim, established, id, took_ns);
}

#[inline]
pub fn rejected(id: usize, event: i32, status: i32) {
    probe!(cmshim, rejected, id, event, status);
}

#[inline]
pub fn hand_over(id: usize, event: i32, status: i32) {
    probe!(cmshim, hand_over, id, event, status);
}

#[inline]
pub fn refusal(id: usize, why: u8) {
    probe!(cmshim, refusal, id, why);
}

#[inline]
pub fn pool_hit(qp_num: u32) {
    probe!(cmshim, pool_hit, qp_num);
}

#[inline]
pub fn pool_miss(why: i32) {
    probe!(cmshim, pool_miss, why);
}
