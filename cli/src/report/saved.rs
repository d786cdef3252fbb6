//! What the pool and batching saved: measured in this run, or not told.

use std::time::Duration;

use cmshim_core::report::duration::human;
use cmshim_core::stats::{Bypass, Counter, Phase};

use super::sum::Sum;

/// Queue pairs from the pool against those that the device made in the same run.
pub fn pool(sum: &Sum) -> String {
    let (hit, miss) = (
        sum.phase(Phase::CreateQpHit),
        sum.phase(Phase::CreateQpMiss),
    );
    let (hits, misses) = (hit.count(), miss.count());
    let all = hits.saturating_add(misses);
    if all == 0 {
        return "no queue pair was created".into();
    }
    let from = format!("{hits} of {all} queue pairs came from it");
    match (hit.quantile_ns(0.5), miss.quantile_ns(0.5)) {
        (Some(with), Some(without)) => {
            let told = |ns| human(Duration::from_nanos(ns));
            let (sign, each) = match without.checked_sub(with) {
                Some(less) => ("less", less),
                None => ("more", with - without),
            };
            format!(
                "{from}, in {} each instead of {} (medians of {hits} and {misses}): {} {sign} waiting in all",
                told(with),
                told(without),
                told(each.saturating_mul(hits))
            )
        }
        (Some(_), None) => format!(
            "{from}; what that saved is not measured, since the device made none to compare with"
        ),
        _ => from,
    }
}

/// Events for each system call; the kernel hands out one at a time (ucma_get_event, drivers/infiniband/core/ucma.c).
pub fn batching(sum: &Sum) -> String {
    let events = sum.counter(Counter::EventsBatched);
    let reads = sum.reads();
    if events == 0 {
        let blocking = sum.add(|f| f.stats.bypass(Bypass::TapBlocking));
        return match blocking {
            0 => "no event was read in a batch".into(),
            n => format!("not used: {n} reads on blocking channels were left to the kernel"),
        };
    }
    let saved = match events.checked_sub(reads) {
        Some(fewer) if fewer > 0 => format!("{fewer} fewer than one for each"),
        _ => "none saved".into(),
    };
    format!(
        "{events} events came with {reads} system calls ({:.1} each), {saved}; time is not measured",
        events as f64 / reads.max(1) as f64
    )
}
