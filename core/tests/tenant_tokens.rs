//! The token bucket: never more than it says, and never shut for ever.

use cmshim_core::tenant::tokens::{take, take_among};
use cmshim_core::tenant::Rate;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::Barrier;
use std::time::Instant;

const S: u64 = 1_000_000_000;

fn rate() -> impl Strategy<Value = Rate> {
    let per_s = prop_oneof![1e-6..1.0, 1.0..1e4, 1e4..1e9];
    (per_s, 1..1000u32).prop_map(|(per_s, burst)| Rate { per_s, burst })
}

/// As exact as it gets: what may be let through in a time, with one more for the first instant.
fn most(rate: &Rate, ns: u64) -> f64 {
    f64::from(rate.burst) + rate.per_s * ns as f64 / 1e9
}

proptest! {
    #[test]
    fn never_more_than_burst_and_rate(rate in rate(), begin in 0..u64::MAX / 4, steps in prop::collection::vec((0..5u32, 0..3 * S), 1..300)) {
        let (tat, mut now) = (AtomicU64::new(0), begin);
        let mut taken: Vec<u64> = Vec::new();
        for (tries, wait) in steps {
            for _ in 0..tries {
                match take(&tat, now, &rate) {
                    Ok(()) => taken.push(now),
                    Err(retry) => {
                        // What is promised holds: not a moment earlier, and then for sure.
                        prop_assert!(retry > 0);
                        let copy = AtomicU64::new(tat.load(Relaxed));
                        prop_assert!(take(&copy, now + retry - 1, &rate).is_err());
                        prop_assert!(take(&copy, now + retry, &rate).is_ok());
                    }
                }
            }
            now += wait;
        }
        for (first, from) in taken.iter().enumerate() {
            for (count, to) in taken[first..].iter().enumerate() {
                prop_assert!(count as f64 + 1.0 <= most(&rate, to - from) + 1e-6);
            }
        }
    }

    #[test]
    fn a_word_of_another_clock_does_not_shut_for_long(rate in rate(), word in any::<u64>(), now in 0..u64::MAX / 4) {
        let tat = AtomicU64::new(word);
        let patience = rate.tolerance_ns().saturating_add(rate.period_ns()).saturating_add(61 * S);
        if let Err(retry) = take(&tat, now, &rate) {
            prop_assert!(retry <= patience);
            prop_assert!(take(&tat, now + retry, &rate).is_ok());
        }
        // Then it is a bucket like any other: empty at most.
        let used = (0..u64::from(rate.burst) + 1).take_while(|_| take(&tat, now + patience, &rate).is_ok());
        prop_assert!(used.count() <= rate.burst as usize);
    }
}

#[test]
fn a_full_bucket_gives_its_burst_and_then_one_at_a_time() {
    let rate = Rate {
        per_s: 10.0,
        burst: 3,
    };
    let tat = AtomicU64::new(0);
    let now = 1000 * S;
    (0..3).for_each(|_| take(&tat, now, &rate).unwrap());
    assert_eq!(take(&tat, now, &rate), Err(100_000_000));
    assert_eq!(take(&tat, now + 99_999_999, &rate), Err(1));
    take(&tat, now + 100_000_000, &rate).unwrap();
    assert!(take(&tat, now + 100_000_000, &rate).is_err());
    // A long rest fills it, and no more.
    let later = now + 3600 * S;
    (0..3).for_each(|_| take(&tat, later, &rate).unwrap());
    assert!(take(&tat, later, &rate).is_err());
}

#[test]
fn a_clock_that_is_a_little_behind_takes_nothing_extra() {
    let rate = Rate {
        per_s: 1.0,
        burst: 5,
    };
    let tat = AtomicU64::new(0);
    let now = 1000 * S;
    (0..5).for_each(|_| take(&tat, now, &rate).unwrap());
    for behind in [1, S, 10 * S, 59 * S] {
        assert_eq!(take(&tat, now - behind, &rate), Err(S + behind));
    }
}

#[test]
fn many_threads_share_one_bucket() {
    let rate = Rate {
        per_s: 20_000.0,
        burst: 50,
    };
    let begin = Instant::now();
    let clock = || 1_000 * S + begin.elapsed().as_nanos() as u64;
    let tat = AtomicU64::new(0);
    let taken: u64 = std::thread::scope(|scope| {
        let work = || {
            let mut taken = 0;
            while begin.elapsed().as_millis() < 300 {
                taken += u64::from(take(&tat, clock(), &rate).is_ok());
            }
            taken
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let most = most(&rate, clock() - 1_000 * S);
    assert!(taken as f64 <= most, "{taken} of {most}");
    // And what is there is given.
    assert!(taken >= u64::from(rate.burst), "{taken}");
}

/// The latest of the words but one.
fn others(words: &[AtomicU64], own: usize) -> Result<u64, ()> {
    let others = words.iter().enumerate().filter(|(at, _)| *at != own);
    Ok(others.map(|(_, word)| word.load(SeqCst)).max().unwrap_or(0))
}

#[test]
fn a_word_each_is_as_one_word() {
    let rate = Rate {
        per_s: 10.0,
        burst: 3,
    };
    let words: [AtomicU64; 3] = Default::default();
    let take = |own: usize, now| {
        take_among(&words[own], || others(&words, own), now, &rate).expect("they can be read")
    };
    let now = 1000 * S;
    (0..3).for_each(|own| take(own, now).unwrap());
    for own in 0..3 {
        assert_eq!(take(own, now), Err(100_000_000));
    }
    take(2, now + 100_000_000).unwrap();
    assert!(take(0, now + 100_000_000).is_err());
    assert_eq!(
        take_among(&words[0], || Err("gone"), now, &rate),
        Err("gone")
    );
}

#[test]
fn a_word_of_somebody_else_does_not_open_the_bucket_nor_shut_it_for_ever() {
    let rate = Rate {
        per_s: 10.0,
        burst: 3,
    };
    for theirs in [u64::MAX, 1 << 62, 0] {
        let own = AtomicU64::new(0);
        let mut taken = 0;
        for tenth in 0..100 {
            let now = 1000 * S + tenth * 100_000_000;
            while take_among(&own, || Ok::<u64, ()>(theirs), now, &rate)
                .unwrap()
                .is_ok()
            {
                taken += 1;
            }
        }
        let most = if theirs == 0 { 102 } else { 100 };
        assert!((99..=most).contains(&taken), "{taken} with {theirs}");
    }
}

#[test]
fn many_who_have_a_word_each_share_one_bucket() {
    let rate = Rate {
        per_s: 20_000.0,
        burst: 50,
    };
    let begin = Instant::now();
    let clock = || 1_000 * S + begin.elapsed().as_nanos() as u64;
    let words: [AtomicU64; 4] = Default::default();
    let taken: u64 = std::thread::scope(|scope| {
        let work = |own: usize| {
            let words = &words;
            move || {
                let mut taken = 0;
                while begin.elapsed().as_millis() < 300 {
                    let got = take_among(&words[own], || others(words, own), clock(), &rate);
                    taken += u64::from(got == Ok(Ok(())));
                }
                taken
            }
        };
        // Two processes of each user.
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(work(n / 2))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let most = most(&rate, clock() - 1_000 * S);
    assert!(taken as f64 <= most, "{taken} of {most}");
    assert!(taken >= u64::from(rate.burst), "{taken}");
}

/// At one moment, all at once: what a full bucket has, and not one more.
#[test]
fn many_who_have_a_word_each_take_no_more_than_the_burst() {
    let rate = Rate {
        per_s: 1.0,
        burst: 100,
    };
    for _ in 0..200 {
        let words: [AtomicU64; 4] = Default::default();
        let begin = Barrier::new(words.len());
        let taken: u32 = std::thread::scope(|scope| {
            let work = |own: usize| {
                let (words, begin) = (&words, &begin);
                move || {
                    let take = || take_among(&words[own], || others(words, own), 1_000 * S, &rate);
                    begin.wait();
                    (0..100)
                        .map(|_| u32::from(take() == Ok(Ok(()))))
                        .sum::<u32>()
                }
            };
            let threads: Vec<_> = (0..words.len()).map(|n| scope.spawn(work(n))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert!((1..=rate.burst).contains(&taken), "{taken}");
    }
}
