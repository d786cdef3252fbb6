//! The queue of events read ahead against a plain model: random steps of kernel, program and library on
//! several channels, and real threads. Nothing lost, nothing doubled, the kernel's order for each id.

use cmshim_core::codes::event as number;
use cmshim_core::event_queue::{Event, Gone, IdHandle, Queue, QueueState};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;

/// A small generator with a fixed seed (xorshift64*): a failure comes again.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n as u64) as usize
    }
}

const CHANNELS: usize = 3;
const BATCH: usize = 16;

struct Channel {
    kernel: VecDeque<Event>,
    queue: Queue,
    behind: QueueState,
}

/// An id: its channel, its kernel handle, what the kernel has sent for it, and the next event that the
/// program must see.
struct Id {
    channel: usize,
    handle: u32,
    listener: bool,
    sent: u64,
    seen: u64,
    /// Events that the kernel counts as reported.
    reported: u64,
}

struct World {
    channels: Vec<Channel>,
    ids: BTreeMap<u64, Id>,
    next_uid: u64,
    free_handles: Vec<u32>,
    random: Random,
    /// Requests that were voided with their listener, for whose new ids the library has to care.
    undone: usize,
    delivered: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let channel = |_| Channel {
            kernel: VecDeque::new(),
            queue: Queue::new(24),
            behind: QueueState::default(),
        };
        World {
            channels: (0..CHANNELS).map(channel).collect(),
            ids: BTreeMap::new(),
            next_uid: 1,
            free_handles: (0..40).collect(),
            random: Random(seed),
            undone: 0,
            delivered: 0,
        }
    }

    fn any_id(&mut self) -> Option<u64> {
        let n = self.ids.len();
        (n > 0)
            .then(|| self.random.below(n))
            .and_then(|at| self.ids.keys().nth(at).copied())
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..=5 => self.create(),
            6..=39 => self.kernel_event(),
            40..=54 => self.fetch(),
            55..=89 => self.program_takes(),
            90..=93 => self.migrate(),
            _ => self.destroy(),
        }
    }

    /// The lowest free handle, as the kernel takes it: handles of destroyed ids come again at once.
    fn create(&mut self) {
        self.free_handles.sort_unstable_by(|a, b| b.cmp(a));
        let Some(handle) = self.free_handles.pop() else {
            return;
        };
        let (channel, uid) = (self.random.below(CHANNELS), self.next_uid);
        self.next_uid += 1;
        let listener = self.random.below(4) == 0;
        if listener {
            let backlog = 1 + self.random.below(8) as u32;
            self.channels[channel].behind.listens(uid, backlog);
        }
        let id = Id {
            channel,
            handle,
            listener,
            sent: 0,
            seen: 0,
            reported: 0,
        };
        self.ids.insert(uid, id);
    }

    fn kernel_event(&mut self) {
        let Some(uid) = self.any_id() else { return };
        let id = self.ids.get_mut(&uid).expect("picked");
        let event = match id.listener {
            true => Event::made(uid, 1000 + id.sent as u32, number::CONNECT_REQUEST, id.sent),
            false => Event::made(uid, id.handle, number::ESTABLISHED, id.sent),
        };
        id.sent += 1;
        self.channels[id.channel].kernel.push_back(event);
    }

    /// As the library reads ahead: what the room allows, the kernel's first.
    fn fetch(&mut self) {
        let at = self.random.below(CHANNELS);
        let channel = &mut self.channels[at];
        let room = channel.queue.room(&channel.behind, BATCH);
        let n = room.min(channel.kernel.len());
        let batch: Vec<Event> = channel.kernel.drain(..n).collect();
        for event in &batch {
            self.ids
                .get_mut(&event.uid())
                .expect("events of living ids only")
                .reported += 1;
        }
        channel.queue.put(&mut channel.behind, batch);
    }

    fn program_takes(&mut self) {
        let at = self.random.below(CHANNELS);
        let channel = &mut self.channels[at];
        let mut event = channel.queue.pop();
        if event.is_none() && channel.queue.more() {
            channel.queue.refill(&mut channel.behind);
            event = channel.queue.pop();
            assert!(event.is_some(), "something stood behind the ring");
        }
        let Some(event) = event else {
            assert!(channel.queue.is_empty());
            return;
        };
        let id = self
            .ids
            .get_mut(&event.uid())
            .expect("no event of a destroyed id");
        assert_eq!(id.channel, at, "an event stays on its id's channel");
        assert_eq!(event.words[2], id.seen, "each event once, in order");
        id.seen += 1;
        self.delivered += 1;
    }

    fn destroy(&mut self) {
        let Some(uid) = self.any_id() else { return };
        let id = self.ids.remove(&uid).expect("picked");
        let channel = &mut self.channels[id.channel];
        channel.kernel.retain(|event| event.uid() != uid);
        self.free_handles.push(id.handle);
        let gone = Gone::Id {
            handle: IdHandle(id.handle),
            uid,
        };
        let void = channel.queue.void(&mut channel.behind, gone, |_| None);
        // What librdmacm waits for must be what the program has seen.
        assert_eq!(
            id.reported - void.len() as u64,
            id.seen,
            "rdma_destroy_id would hang"
        );
        let requests = void.iter().filter(|e| e.is_connect_request()).count();
        assert_eq!(requests, if id.listener { void.len() } else { 0 });
        self.undone += requests;
        channel.behind.listens_no_more(uid);
    }

    fn migrate(&mut self) {
        let Some(uid) = self.any_id() else { return };
        let to = self.random.below(CHANNELS);
        let id = self.ids.get_mut(&uid).expect("picked");
        let from = std::mem::replace(&mut id.channel, to);
        if from == to {
            return;
        }
        let old = &mut self.channels[from];
        let (moved, kept): (Vec<_>, Vec<_>) = old.kernel.drain(..).partition(|e| e.uid() == uid);
        old.kernel = kept.into();
        let gone = Gone::Id {
            handle: IdHandle(id.handle),
            uid,
        };
        let ahead = old.queue.void(&mut old.behind, gone, |_| None);
        let listener = old.behind.listens_no_more(uid);
        let new = &mut self.channels[to];
        new.queue.put(&mut new.behind, ahead);
        new.kernel.extend(moved);
        if let Some(listener) = listener {
            new.behind.moves_in(listener);
        }
    }
}

#[test]
fn a_million_random_steps_lose_double_and_reorder_nothing() {
    let mut world = World::new(0x9E37_79B9_7F4A_7C15);
    for _ in 0..1_200_000 {
        world.step();
    }
    assert!(
        world.delivered > 100_000,
        "only {} events were delivered",
        world.delivered
    );
    assert!(
        world.undone > 1_000,
        "only {} requests were voided",
        world.undone
    );
}

/// Threads: one that reads ahead, four that take, one that destroys. Every event is either seen once or
/// voided once, and no thread sees an id's events out of order.
#[test]
fn threads_share_a_queue() {
    const EVENTS: u64 = 60_000;
    const IDS: u64 = 8;
    let queue = Queue::new(24);
    let behind = Mutex::new(QueueState::default());
    let done = AtomicBool::new(false);
    let seen = Mutex::new(vec![0u8; EVENTS as usize]);
    let voided = AtomicU64::new(0);
    let mark = |event: &Event| {
        let mut seen = seen.lock().expect("no panic");
        seen[event.words[2] as usize] += 1;
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut next = 0;
            while next < EVENTS {
                let mut behind = behind.lock().expect("no panic");
                let room = queue.room(&behind, BATCH).min((EVENTS - next) as usize) as u64;
                let batch = (next..next + room)
                    .map(|m| Event::made(m % IDS + 1, (m % IDS) as u32, number::ESTABLISHED, m));
                queue.put(&mut behind, batch);
                next += room;
                drop(behind);
                std::thread::yield_now();
            }
            done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            let mut random = Random(77);
            while !done.load(Ordering::Acquire) {
                let id = random.below(IDS as usize) as u64;
                let gone = Gone::Id {
                    handle: IdHandle(id as u32),
                    uid: id + 1,
                };
                let void = queue.void(&mut behind.lock().expect("no panic"), gone, |_| None);
                voided.fetch_add(void.len() as u64, Ordering::Relaxed);
                void.iter().for_each(mark);
                assert!(void.windows(2).all(|w| w[0].words[2] < w[1].words[2]));
                std::thread::yield_now();
            }
        });
        for _ in 0..4 {
            scope.spawn(|| {
                let mut last = [None; IDS as usize];
                // Whoever takes all at once would leave nothing to void.
                while voided.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                loop {
                    let ended = done.load(Ordering::Acquire);
                    match queue.pop() {
                        Some(event) => {
                            let before =
                                &mut last[event.id().expect("no multicast here").0 as usize];
                            assert!(*before < Some(event.words[2]), "out of order");
                            *before = Some(event.words[2]);
                            mark(&event);
                        }
                        None if ended => return,
                        None => std::thread::yield_now(),
                    }
                }
            });
        }
    });
    let seen = seen.into_inner().expect("no panic");
    assert!(
        seen.iter().all(|times| *times == 1),
        "an event was lost or doubled"
    );
    assert!(voided.into_inner() > 0);
}
