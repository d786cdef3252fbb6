//! One event as the kernel wrote it: `struct rdma_ucm_event_resp` of `<rdma/rdma_user_cm.h>`.

use crate::codes::event as number;

/// Size of an event, in 64-bit words: the last one is ours.
pub const WORDS: usize = 48;
/// What the kernel may fill, in bytes. The structure has 336 in Linux 6.12; the kernel fills at most what the
/// reader offers (`ucma_get_event`, drivers/infiniband/core/ucma.c).
pub const BYTES: usize = (WORDS - 1) * 8;

/// An event as the kernel wrote it.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    pub words: [u64; WORDS],
}

/// The kernel's number of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdHandle(pub u32);

/// The kernel's number of a multicast group that an id has joined. Ids and groups are numbered apart, both from the lowest
/// (`ctx_table` and `multicast_table`, drivers/infiniband/core/ucma.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupHandle(pub u32);

/// In the last word, beside a time that does not reach so far.
const DECIDED: u64 = 1 << 63;

impl Event {
    pub const EMPTY: Event = Event { words: [0; WORDS] };

    /// What librdmacm gave the kernel for the id (or the group, in a multicast event): the address of its
    /// own structure. In a CONNECT_REQUEST the listener's.
    pub fn uid(&self) -> u64 {
        self.words[0]
    }

    /// The event's id, in a CONNECT_REQUEST the new one; none in a multicast event.
    pub fn id(&self) -> Option<IdHandle> {
        (!self.is_multicast()).then(|| IdHandle(self.handle()))
    }

    /// The new id, in a CONNECT_REQUEST.
    pub fn request(&self) -> Option<IdHandle> {
        self.id().filter(|_| self.is_connect_request())
    }

    /// The group of a multicast event.
    pub fn group(&self) -> Option<GroupHandle> {
        self.is_multicast().then(|| GroupHandle(self.handle()))
    }

    fn handle(&self) -> u32 {
        self.half(1, 0)
    }

    /// Number of `enum rdma_cm_event_type`.
    pub fn kind(&self) -> i32 {
        self.half(1, 1) as i32
    }

    /// Notes when it was taken from the kernel, in ns.
    pub fn stamp(&mut self, now_ns: u64) {
        self.words[WORDS - 1] = now_ns;
    }

    /// When it was taken from the kernel.
    pub fn taken_at_ns(&self) -> u64 {
        self.words[WORDS - 1] & !DECIDED
    }

    /// Notes that the tenant check has let this connect request through.
    pub fn decide(&mut self) {
        self.words[WORDS - 1] |= DECIDED;
    }

    /// Has it?
    pub fn decided(&self) -> bool {
        self.words[WORDS - 1] & DECIDED != 0
    }

    pub fn is_connect_request(&self) -> bool {
        self.kind() == number::CONNECT_REQUEST
    }

    pub fn is_multicast(&self) -> bool {
        matches!(
            self.kind(),
            number::MULTICAST_JOIN | number::MULTICAST_ERROR
        )
    }

    fn half(&self, word: usize, which: usize) -> u32 {
        let bytes = self.words[word].to_ne_bytes();
        let at = which * 4;
        u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }

    /// An event with these fields, for tests.
    pub fn made(uid: u64, handle: u32, kind: i32, mark: u64) -> Event {
        let mut event = Event::EMPTY;
        event.words[0] = uid;
        let (h, k) = (handle.to_ne_bytes(), kind.to_ne_bytes());
        event.words[1] = u64::from_ne_bytes([h[0], h[1], h[2], h[3], k[0], k[1], k[2], k[3]]);
        event.words[2] = mark;
        event
    }
}

/// What has been destroyed, so that its events are void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// An id; `uid` is 0 when it is not known.
    Id { handle: IdHandle, uid: u64 },
    /// A multicast group of an id.
    Group { handle: GroupHandle, uid: u64 },
}

impl Gone {
    /// Does the event belong to it? `owner` gives the handle of the id that joined a group.
    ///
    /// The kernel uses handles again at once, so the uid decides where both sides have one.
    pub fn owns(&self, event: &Event, owner: impl Fn(GroupHandle) -> Option<IdHandle>) -> bool {
        let same = |uid: u64| uid == 0 || event.uid() == 0 || event.uid() == uid;
        match *self {
            Gone::Group { handle, uid } => event.group() == Some(handle) && same(uid),
            Gone::Id { uid, .. } if event.is_connect_request() => uid != 0 && event.uid() == uid,
            Gone::Id { handle, uid } => match event.group() {
                Some(group) => owner(group) == Some(handle),
                None => event.id() == Some(handle) && same(uid),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: GroupHandle) -> Option<IdHandle> {
        None
    }

    #[test]
    fn an_id_owns_its_events_and_not_those_of_a_new_id_with_its_handle() {
        let id = Gone::Id {
            handle: IdHandle(7),
            uid: 100,
        };
        assert!(id.owns(&Event::made(100, 7, number::ESTABLISHED, 0), none));
        assert!(!id.owns(&Event::made(200, 7, number::ESTABLISHED, 0), none));
        assert!(!id.owns(&Event::made(100, 8, number::ESTABLISHED, 0), none));
        let unknown = Gone::Id {
            handle: IdHandle(7),
            uid: 0,
        };
        assert!(unknown.owns(&Event::made(200, 7, number::ESTABLISHED, 0), none));
    }

    #[test]
    fn a_listener_owns_the_requests_that_came_to_it() {
        let listener = Gone::Id {
            handle: IdHandle(7),
            uid: 100,
        };
        let to = |uid, new| Event::made(uid, new, number::CONNECT_REQUEST, 0);
        assert!(listener.owns(&to(100, 9), none));
        assert!(!listener.owns(&to(200, 9), none));
        // The handle of a request is that of the new id.
        assert!(!listener.owns(&to(200, 7), none));
        let new = Gone::Id {
            handle: IdHandle(9),
            uid: 0,
        };
        assert!(!new.owns(&to(100, 9), none));
    }

    #[test]
    fn a_multicast_event_names_a_group_and_no_id() {
        let join = Event::made(300, 3, number::MULTICAST_JOIN, 0);
        assert_eq!((join.id(), join.group()), (None, Some(GroupHandle(3))));
        let request = Event::made(300, 3, number::CONNECT_REQUEST, 0);
        assert_eq!(request.request(), Some(IdHandle(3)));
        assert_eq!((request.id(), request.group()), (request.request(), None));
        let established = Event::made(300, 3, number::ESTABLISHED, 0);
        assert_eq!(
            (established.id(), established.request()),
            (Some(IdHandle(3)), None)
        );
    }

    #[test]
    fn groups_are_owned_by_the_id_that_joined_and_by_themselves() {
        let join = Event::made(300, 3, number::MULTICAST_JOIN, 0);
        let joined_by_7 = |group| (group == GroupHandle(3)).then_some(IdHandle(7));
        assert!(Gone::Id {
            handle: IdHandle(7),
            uid: 100
        }
        .owns(&join, joined_by_7));
        assert!(!Gone::Id {
            handle: IdHandle(3),
            uid: 100
        }
        .owns(&join, joined_by_7));
        assert!(Gone::Group {
            handle: GroupHandle(3),
            uid: 300
        }
        .owns(&join, none));
        assert!(!Gone::Group {
            handle: GroupHandle(3),
            uid: 301
        }
        .owns(&join, none));
        let other = Event::made(300, 3, number::ESTABLISHED, 0);
        assert!(!Gone::Group {
            handle: GroupHandle(3),
            uid: 300
        }
        .owns(&other, none));
    }
}
