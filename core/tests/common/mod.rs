//! What the tests of the pool's book share.
#![allow(dead_code)] // each test takes what it needs

use cmshim_core::pool::{Book, Caps, Key, Settings, QPT_RC};
use std::time::Duration;

pub const CONTEXT: usize = 0x100;
pub const PD: usize = 0x200;
pub const CQ: usize = 0x300;

pub fn settings() -> Settings {
    Settings {
        min: 2,
        max: 8,
        warm: 0,
        idle: Duration::from_secs(10),
        share: 50,
        recycle: false,
        quarantine: Duration::from_secs(2),
    }
}

/// Queue pairs on one completion queue.
pub fn key() -> Key {
    Key {
        context: CONTEXT,
        pd: PD,
        send_cq: CQ,
        recv_cq: CQ,
        srq: 0,
        qp_type: QPT_RC,
        caps: Caps::default(),
        sq_sig_all: 0,
    }
}

/// Queue pairs with completion queues that librdmacm makes for each.
pub fn bundle() -> Key {
    Key {
        send_cq: 0,
        recv_cq: 0,
        ..key()
    }
}

/// A book that knows the device, the PD and the completion queue.
pub fn book(settings: Settings) -> Book<u32> {
    let mut book = Book::new(settings, Default::default());
    book.opened(CONTEXT);
    book.pd(PD, CONTEXT);
    book.cq(CQ);
    book
}
