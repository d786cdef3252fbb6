//! What statistics add to a call and to an event, natively: the counting code of the library over memory of its own.
//! Run with `cargo bench --bench stats`.

#![allow(dead_code, unused_imports, unused_macros)] // only the counting half of the library is in here

#[path = "../src/abi/mod.rs"]
mod abi;

#[path = "../src/sys"]
mod sys {
    pub mod clock;
}

#[path = "../src/process"]
mod process {
    pub mod thread;
}

#[path = "../src/stats"]
mod stats {
    pub mod calls;
    pub mod count;
    pub mod events;
    pub mod peer;
    pub mod probes;
    pub mod process_local;
    pub mod reasons;
    pub mod recorder;
    pub mod starts;
    pub use cmshim_core::stats::{Bypass, Counter, Entry, Phase};

    pub fn time_ns(phase: Phase, ns: u64) {
        if let Some(words) = process_local::words() {
            count::measure(words, phase, ns);
        }
    }
}

use abi::cm::{RdmaCmEvent, RdmaCmId};
use criterion::{criterion_group, Criterion};
use stats::{calls::CallSpan, count, events, process_local, Counter, Entry, Phase};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use sys::clock::LazyNow;

/// An id with an IPv4 peer, as a program has it.
fn id() -> Box<RdmaCmId> {
    // SAFETY: pointers, numbers and addresses may all be zero.
    let mut id: Box<RdmaCmId> = Box::new(unsafe { std::mem::zeroed() });
    id.route.addr.dst.ss_family = libc::AF_INET as u16;
    id
}

fn event(id: &mut RdmaCmId, number: i32) -> Box<RdmaCmEvent> {
    // SAFETY: as above.
    let mut event: Box<RdmaCmEvent> = Box::new(unsafe { std::mem::zeroed() });
    event.id = id;
    event.event = number;
    event
}

fn call(entry: Entry, id: &RdmaCmId) {
    // SAFETY: the id is alive.
    let began = unsafe { CallSpan::now(black_box(entry), true, id) };
    black_box(began).ends(black_box(None));
}

fn benches(c: &mut Criterion) {
    let mut id = id();
    let established = event(&mut id, 9);
    c.bench_function("clock_gettime", |b| b.iter(sys::clock::now_ns));
    c.bench_function("off: call", |b| b.iter(|| call(Entry::rdma_notify, &id)));

    let words: Vec<AtomicU64> = (0..cmshim_core::stats::layout::WORDS)
        .map(|_| AtomicU64::new(0))
        .collect();
    let words: Box<process_local::Words> = words.into_boxed_slice().try_into().expect("length");
    assert!(process_local::get_or_make()
        .expect("memory")
        .adopt(Box::leak(words)));

    c.bench_function("counter", |b| {
        b.iter(|| count::add(black_box(Counter::Batches), 1))
    });
    c.bench_function("phase", |b| {
        b.iter(|| stats::time_ns(black_box(Phase::Connect), black_box(1_234_567)))
    });
    c.bench_function("call, counted", |b| b.iter(|| call(Entry::ibv_reg_mr, &id)));
    c.bench_function("call, recorded", |b| {
        b.iter(|| call(Entry::rdma_notify, &id))
    });
    c.bench_function("call, recorded, a phase begins", |b| {
        b.iter(|| call(Entry::rdma_connect, &id))
    });
    c.bench_function("event, handed over and acked", |b| {
        b.iter(|| {
            events::read_ahead_at(black_box(1));
            // SAFETY: event and id are alive.
            unsafe { events::handed_over(black_box(&*established), &LazyNow::default()) };
            events::acked(black_box(&*established));
        })
    });
}

/// The promise: what a call costs more, at most.
const LIMIT_NS: f64 = 60.0;

/// The least of many short rounds, in ns: what it costs while nothing else has the processor.
fn floor(name: &str, calls: f64, mut work: impl FnMut()) -> f64 {
    const CALLS: u32 = 200;
    let round = || {
        let begin = std::time::Instant::now();
        (0..CALLS).for_each(|_| work());
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS) / calls
    };
    let least = std::iter::repeat_with(round)
        .take(20_000)
        .fold(f64::MAX, f64::min);
    println!("least: {least:6.1} ns for each {name}");
    least
}

fn main() {
    all();
    Criterion::default().configure_from_args().final_summary();
    let mut id = id();
    let established = event(&mut id, 9);
    floor("look at the clock", 1.0, || {
        black_box(sys::clock::now_ns());
    });
    let costs = [
        floor("call, counted", 1.0, || call(Entry::ibv_reg_mr, &id)),
        floor("call, recorded", 1.0, || call(Entry::rdma_notify, &id)),
        floor("call, recorded, a phase begins", 1.0, || {
            call(Entry::rdma_connect, &id)
        }),
        floor("event handed over, and acked (two calls)", 2.0, || {
            events::read_ahead_at(black_box(1));
            // SAFETY: event and id are alive.
            unsafe { events::handed_over(black_box(&*established), &LazyNow::default()) };
            events::acked(black_box(&*established));
        }),
    ];
    let most = costs.into_iter().fold(0.0, f64::max);
    assert!(most < LIMIT_NS, "{most:.1} ns for a call are too much");
}

criterion_group!(all, benches);
