//! The reader of reasons in the private data of a reject.
//! `cd core && cargo +nightly fuzz run reject_reason`
#![no_main]

use cmshim_core::tenant::reason::{decode, encode, Reason};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(found) = decode(bytes) else { return };
    assert!(!found.to_string().chars().any(char::is_control));
    if let (1, Ok(code)) = (found.version, found.code) {
        let again = encode(&Reason {
            code,
            retry_after_ms: found.retry_after_ms,
            used: found.used,
            limit: found.limit,
            tenant: &found.tenant,
        });
        let back = decode(&again).expect("ours");
        assert_eq!((back.code, back.used, back.limit), (found.code, found.used, found.limit));
    }
});
