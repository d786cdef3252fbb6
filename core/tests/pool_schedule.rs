//! Random schedules of a program and the keeper over the pool's book, with a small model of the real
//! objects: nothing is destroyed under a queue pair, none is handed out twice, none is lost.

use cmshim_core::pool::{Book, Caps, Job, Key, Scope, Settings, Taken, QPT_RC};
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::{Duration, Instant};

const CONTEXTS: usize = 2;
const OBJECTS: usize = 3;
/// Of the model's device.
const MAX_QP: u32 = 12;
const SHARE: u32 = 50;

#[derive(Debug, Clone)]
enum Step {
    Create {
        context: usize,
        pd: usize,
        cq: usize,
        kind: u32,
    },
    /// The keeper takes up a job, or finishes the one it has.
    Keeper {
        fails: bool,
    },
    DestroyCq {
        context: usize,
        cq: usize,
    },
    DeallocPd {
        context: usize,
        pd: usize,
    },
    /// Memory ran out.
    Empty,
    Remove {
        context: usize,
    },
    Later {
        seconds: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let object = 0..OBJECTS;
    let context = 0..CONTEXTS;
    prop_oneof![
        8 => (context.clone(), 0..2usize, object.clone(), 0..2u32)
            .prop_map(|(context, pd, cq, kind)| Step::Create { context, pd, cq, kind }),
        12 => any::<bool>().prop_flat_map(|_| (0..10u32).prop_map(|n| Step::Keeper { fails: n == 0 })),
        2 => (context.clone(), object.clone()).prop_map(|(context, cq)| Step::DestroyCq { context, cq }),
        1 => (context.clone(), 0..2usize).prop_map(|(context, pd)| Step::DeallocPd { context, pd }),
        1 => Just(Step::Empty),
        1 => context.prop_map(|context| Step::Remove { context }),
        2 => (0..15u64).prop_map(|seconds| Step::Later { seconds }),
    ]
}

/// What the keeper is in the middle of.
enum Work {
    Make { flight: u64, key: Key },
    Drop { flight: u64, item: u32 },
}

struct World {
    book: Book<u32>,
    now: Instant,
    next: u32,
    /// Queue pairs of the pool that are really there.
    pooled: HashMap<u32, Key>,
    work: Option<Work>,
}

fn pd(context: usize, n: usize) -> usize {
    1000 * (context + 1) + n
}

fn cq(context: usize, n: usize) -> usize {
    1000 * (context + 1) + 100 + n
}

impl World {
    fn new() -> World {
        let settings = Settings {
            min: 2,
            max: 4,
            warm: 0,
            idle: Duration::from_secs(10),
            share: SHARE,
            recycle: false,
            quarantine: Duration::from_secs(2),
        };
        let mut world = World {
            book: Book::new(settings, Default::default()),
            now: Instant::now(),
            next: 0,
            pooled: HashMap::new(),
            work: None,
        };
        for context in 0..CONTEXTS {
            world.book.opened(context + 1);
            (0..2).for_each(|n| world.book.pd(pd(context, n), context + 1));
            (0..OBJECTS).for_each(|n| world.book.cq(cq(context, n)));
        }
        world
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Create {
                context,
                pd: p,
                cq: c,
                kind,
            } => self.create(context, p, c, kind),
            Step::Keeper { fails } => self.keeper(fails),
            Step::DestroyCq { context, cq: c } => {
                let cq = cq(context, c);
                self.evict(Scope::Cq(cq));
                assert!(self
                    .pooled
                    .values()
                    .all(|k| k.send_cq != cq && k.recv_cq != cq));
                self.book.cq(cq);
            }
            Step::DeallocPd { context, pd: p } => {
                let pd = pd(context, p);
                self.evict(Scope::Pd(pd));
                assert!(self.pooled.values().all(|k| k.pd != pd));
                self.book.pd(pd, context + 1);
            }
            Step::Empty => {
                self.book.hold(self.now);
                self.evict(Scope::All);
                assert!(self.pooled.is_empty() && !self.book.holds_any());
            }
            Step::Remove { context } => {
                self.book.gone(context + 1);
                self.evict(Scope::Context(context + 1));
                assert!(self.pooled.values().all(|k| k.context != context + 1));
                self.book.opened(context + 1);
            }
            Step::Later { seconds } => self.now += Duration::from_secs(seconds),
        }
        for context in 1..=CONTEXTS {
            let lying = self
                .pooled
                .values()
                .filter(|k| k.context == context)
                .count();
            assert!(lying <= (MAX_QP * SHARE / 100) as usize);
        }
    }

    fn create(&mut self, context: usize, p: usize, c: usize, kind: u32) {
        let key = Key {
            context: context + 1,
            pd: pd(context, p),
            send_cq: cq(context, c),
            recv_cq: cq(context, (c + 1) % OBJECTS),
            srq: 0,
            qp_type: QPT_RC,
            caps: Caps {
                send_wr: kind,
                ..Caps::default()
            },
            sq_sig_all: 0,
        };
        match self.book.take(&key, self.now) {
            Taken::Hit { item, .. } => {
                assert_eq!(
                    self.pooled.remove(&item),
                    Some(key),
                    "one of this kind, and not twice"
                );
            }
            Taken::Miss(_) => drop(self.book.created(&key, self.now)),
        }
    }

    /// The keeper works until it has nothing to do.
    fn keep_up(&mut self) {
        loop {
            self.keeper(false);
            if self.work.is_none() {
                self.keeper(false);
            }
            if self.work.is_none() {
                return;
            }
        }
    }

    fn keeper(&mut self, fails: bool) {
        match self.work.take() {
            Some(Work::Make { flight, .. }) if fails => self.book.failed(flight, self.now),
            Some(Work::Make { flight, key }) => {
                self.next += 1;
                self.pooled.insert(self.next, key);
                if let Some(item) = self.book.finish(flight, self.next) {
                    self.pooled.remove(&item);
                    self.book.end(flight);
                }
            }
            Some(Work::Drop { flight, item }) => {
                assert!(self.pooled.remove(&item).is_some());
                self.book.end(flight);
            }
            None => match self.book.next(self.now) {
                Job::Make {
                    flight,
                    key,
                    measure,
                    ..
                } => {
                    if measure && !self.book.measured(&key, MAX_QP, MAX_QP) {
                        self.book.failed(flight, self.now);
                    } else {
                        self.work = Some(Work::Make { flight, key });
                    }
                }
                Job::Drop { flight, item } => self.work = Some(Work::Drop { flight, item }),
                Job::Close { .. } | Job::Probe { .. } => {
                    unreachable!("neither bundles nor recycling here")
                }
                Job::Wait(_) => {}
            },
        }
    }

    /// As the entries do it: destroy, end, and wait for the keeper.
    fn evict(&mut self, scope: Scope) {
        let evicted = self.book.evict(scope);
        for item in evicted.items {
            assert!(self.pooled.remove(&item).is_some(), "destroyed twice");
        }
        self.book.end(evicted.flight);
        if self.book.busy(scope) {
            assert!(self.work.is_some(), "waits for nobody");
            self.keeper(false);
        }
        assert!(!self.book.busy(scope), "no longer than one creation");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn nothing_is_pinned_doubled_or_lost(steps in prop::collection::vec(step(), 1..250)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        world.keep_up();
        prop_assert_eq!(world.book.ready(), world.pooled.len());
        // Without a program nothing stays, and the keeper has nothing left to wait for.
        for _ in 0..2 {
            world.now += Duration::from_secs(11);
            world.keep_up();
        }
        prop_assert!(world.pooled.is_empty() && !world.book.holds_any());
        prop_assert_eq!(world.book.next(world.now), Job::Wait(None));
    }
}
