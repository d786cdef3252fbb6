//! The reader of statistics files on bytes that nobody vouches for.
//! `cd core && cargo +nightly fuzz run stats_file` (seeds: any file below /run/cmshim, in core/fuzz/corpus/stats_file)
#![no_main]

use cmshim_core::stats::{Counter, Phase, Snapshot};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(s) = Snapshot::parse(bytes) else { return };
    for counter in Counter::ALL {
        s.counter(*counter);
    }
    let mut all = s.phase(Phase::Connect);
    for phase in Phase::ALL {
        let h = s.phase(*phase);
        all.merge(&h);
        let _ = (h.mean_ns(), h.quantile_ns(0.99), h.filled().count());
    }
    for record in &s.records {
        let _ = (record.peer.address(), s.header.wall_ns(record.at_ns));
    }
    assert!(s.reasons.iter().all(|r| !r.code.chars().any(char::is_control)));
});
