//! What a thread is in the middle of: librdmacm calls its own exported functions, so entries are
//! re-entered, and one failure of the program's call may be several of inner calls.

use std::cell::Cell;

/// Names a record that was written to the flight recorder; 0 names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark(pub u64);

impl Mark {
    pub const NONE: Mark = Mark(0);
}

/// An inner call that failed, to be named by the line of the outermost one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inner {
    pub call: &'static str,
    pub errno: i32,
    /// Queue pair states, of ibv_modify_qp: from, to.
    pub states: Option<(i32, i32)>,
}

/// Packet sequence numbers that a queue pair starts with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Psns {
    pub send: Option<u32>,
    pub receive: Option<u32>,
}

struct Context {
    depth: Cell<u32>,
    /// Name and stack address of the outermost entry.
    name: Cell<&'static str>,
    frame: Cell<usize>,
    inner: Cell<Option<Inner>>,
    reported: Cell<bool>,
    psns: Cell<Psns>,
    mark: Cell<Mark>,
    /// How often an rdma_* function was entered.
    entered: Cell<u64>,
}

thread_local! {
    static CONTEXT: Context = const {
        Context {
            depth: Cell::new(0),
            name: Cell::new(""),
            frame: Cell::new(0),
            inner: Cell::new(None),
            reported: Cell::new(false),
            psns: Cell::new(Psns { send: None, receive: None }),
            mark: Cell::new(Mark::NONE),
            entered: Cell::new(0),
        }
    };
}

/// Steps into an entry; true if it is the outermost, the program's own call.
///
/// A program may leave a blocked call by longjmp: the entry never returns. It is noticed by the
/// stack, since a call that is really nested lies deeper (at a lower address) than its outermost,
/// and by the names, since rdma_get_cm_event calls no other rdma_* functions but these two.
pub fn enter(name: &'static str, frame: usize) -> bool {
    CONTEXT.with(|c| {
        if name.starts_with("rdma_") {
            c.entered.set(c.entered.get() + 1);
        }
        let impossible = c.name.get() == "rdma_get_cm_event"
            && name.starts_with("rdma_")
            && !matches!(name, "rdma_destroy_id" | "rdma_init_qp_attr");
        if c.depth.get() == 0 || frame >= c.frame.get() || impossible {
            c.depth.set(1);
            c.name.set(name);
            c.frame.set(frame);
            c.inner.set(None);
            c.reported.set(false);
            c.psns.set(Psns::default());
            return true;
        }
        c.depth.set(c.depth.get() + 1);
        false
    })
}

/// How often this thread has entered an rdma_* function. Where a call of librdmacm that calls others of them leaves it as
/// it was, the inner ones do not come through us.
pub fn entered() -> u64 {
    CONTEXT.with(|c| c.entered.get())
}

/// Steps out again.
pub fn leave() {
    CONTEXT.with(|c| c.depth.set(c.depth.get().saturating_sub(1)));
}

/// Remembers the failure of an inner call. The last one counts, since librdmacm stops there; but
/// an inner call that only hands on the errno of a deeper one leaves that one's name.
pub fn note_inner(inner: Inner) {
    CONTEXT.with(|c| match c.inner.get() {
        Some(deeper) if deeper.errno == inner.errno => {}
        _ => c.inner.set(Some(inner)),
    });
}

/// The inner call that failed during the program's call, if any.
pub fn inner() -> Option<Inner> {
    CONTEXT.with(|c| c.inner.get())
}

/// Remembers the sequence numbers that ibv_modify_qp gave a queue pair. librdmacm moves the client's
/// queue pair inside rdma_get_cm_event, before it hands over ESTABLISHED.
pub fn note_psns(send: Option<u32>, receive: Option<u32>) {
    CONTEXT.with(|c| {
        let known = c.psns.get();
        c.psns.set(Psns {
            send: send.or(known.send),
            receive: receive.or(known.receive),
        });
    });
}

/// The sequence numbers given during the program's call.
pub fn psns() -> Psns {
    CONTEXT.with(|c| c.psns.get())
}

/// Where the program's call stands in the flight recorder.
pub fn note_mark(mark: Mark) {
    CONTEXT.with(|c| c.mark.set(mark));
}

/// The program's call in the flight recorder.
pub fn mark() -> Mark {
    CONTEXT.with(|c| c.mark.get())
}

/// Says that a line was written for the program's call, so that no second one follows.
pub fn mark_reported() {
    CONTEXT.with(|c| c.reported.set(true));
}

/// Was a line written for the program's call?
pub fn reported() -> bool {
    CONTEXT.with(|c| c.reported.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_entries_are_told_from_the_program_s() {
        assert!(enter("rdma_connect", 1000));
        assert!(!enter("rdma_get_cm_event", 900));
        note_inner(Inner {
            call: "ibv_modify_qp",
            errno: 22,
            states: None,
        });
        leave();
        assert_eq!(inner().map(|i| i.errno), Some(22));
        leave();
        assert!(enter("rdma_connect", 1000));
        assert_eq!(inner(), None, "a new call starts clean");
        leave();
    }

    #[test]
    fn a_wait_left_by_longjmp_is_forgotten_deeper_in_the_stack_too() {
        assert!(enter("rdma_get_cm_event", 1000));
        for inside in ["ibv_modify_qp", "rdma_destroy_id", "rdma_init_qp_attr"] {
            assert!(!enter(inside, 900));
            leave();
        }
        assert!(enter("rdma_connect", 900));
        leave();
    }

    #[test]
    fn the_deepest_of_a_chain_of_failures_is_named() {
        let note = |call, errno| {
            note_inner(Inner {
                call,
                errno,
                states: None,
            })
        };
        assert!(enter("rdma_create_ep", 1000));
        note("rdma_set_option", 95);
        note("ibv_create_qp", 12);
        note("rdma_create_qp", 12);
        assert_eq!(inner().map(|i| i.call), Some("ibv_create_qp"));
        leave();
    }

    #[test]
    fn an_entry_left_by_longjmp_is_forgotten() {
        assert!(enter("rdma_connect", 1000));
        assert!(
            enter("rdma_connect", 1000),
            "the same place on the stack cannot be nested"
        );
        assert!(enter("rdma_connect", 1200));
        leave();
    }
}
