//! Commands that end or move an id: the kernel counts every event that was taken, librdmacm waits until the
//! program has acked as many, and those in the queue the program has never seen.

use super::channel::{How, Locked, Tap};
use super::commands::{reads_ahead, Command};
use super::handles::{GROUPS, IDS, LISTENERS, NEVER_SEEN, ORIGINS, OWNERS};
use super::{interpose, lifetime, table};
use crate::abi::ucm::*;
use crate::real::ucm;
use crate::sys::guard;
use crate::tenant;
use cmshim_core::event_queue::{Event, Gone, GroupHandle, IdHandle};
use libc::ssize_t;
use std::sync::MutexGuard;

/// The handle of the id that joined a group.
fn owner(group: GroupHandle) -> Option<IdHandle> {
    let id = OWNERS.get(group).checked_sub(1)?;
    u32::try_from(id).ok().map(IdHandle)
}

/// # Safety
/// A whole DESTROY_ID of the program.
pub unsafe fn destroy_id(tap: &'static Tap, command: &Command) -> ssize_t {
    // SAFETY: as promised by the caller.
    unsafe {
        let handle = command.id(DESTROY_ID_ID);
        // Taken before: as soon as the kernel has destroyed the id, the handle may be a new one's.
        let uid = IDS.take(handle);
        let listened = LISTENERS.take(handle) != 0;
        let never_seen = NEVER_SEEN.take(handle) as u32;
        let seat = tenant::seats_by_handle::ending(handle);
        let written = command.forward(tap);
        if !command.went_well(written) {
            tenant::seats_by_handle::restore(handle, seat);
            if uid != 0 {
                IDS.set(handle, uid);
                LISTENERS.set(handle, listened.into());
                NEVER_SEEN.set(handle, never_seen.into());
            }
            return written;
        }
        if listened || reads_ahead(tap) {
            let void = guard::run(|| void(tap, Gone::Id { handle, uid }, listened.then_some(uid)));
            correct(command, DESTROY_ID_RESPONSE, void.unwrap_or_default());
        }
        correct(command, DESTROY_ID_RESPONSE, never_seen);
        written
    }
}

/// # Safety
/// A whole LEAVE_MCAST of the program.
pub unsafe fn leave_group(tap: &'static Tap, command: &Command) -> ssize_t {
    // SAFETY: as promised by the caller.
    unsafe {
        let handle = GroupHandle(command.u32(DESTROY_ID_ID));
        let uid = GROUPS.take(handle);
        let owned = OWNERS.take(handle);
        let written = command.forward(tap);
        if !command.went_well(written) {
            GROUPS.set(handle, uid);
            OWNERS.set(handle, owned);
        } else if reads_ahead(tap) {
            let void = guard::run(|| void(tap, Gone::Group { handle, uid }, None));
            let void = void.unwrap_or_default();
            correct(command, DESTROY_ID_RESPONSE, void);
            // The kernel counts a group's events for its id too, and tells when that is destroyed or moved.
            if let Some(id) = owned.checked_sub(1).filter(|_| void > 0) {
                NEVER_SEEN.add(IdHandle(id as u32), void.into());
            }
        }
        written
    }
}

/// Takes the events of what is gone out of the queue and gives their number. Connect requests among them
/// have new ids in the kernel, which it would have destroyed with the listener: they are destroyed here.
fn void(tap: &'static Tap, gone: Gone, listener: Option<u64>) -> u32 {
    let mut locked = tap.lock();
    // Under the lock: whoever took a request from the kernel and refused it has counted it.
    let refused = listener.and_then(|uid| locked.behind.listens_no_more(uid));
    let events = tap.queue.void(&mut locked.behind, gone, owner);
    if !events.is_empty() && tap.queue.is_empty() {
        locked.nothing_queued(tap.app());
    }
    super::aggregator::resume(tap, &mut locked);
    drop(locked);
    for request in events.iter().filter_map(Event::request) {
        tenant::seats_by_handle::ended(request);
        ucm::destroy(origin(request).unwrap_or(tap).kernel(), request);
    }
    events.len() as u32 + refused.map_or(0, |listener| listener.never_seen)
}

/// The channel that the kernel keeps a moved request's id at.
fn origin(request: IdHandle) -> Option<&'static Tap> {
    // SAFETY: null, or a tap that `move_events` stored; taps are never freed. Where the channel has ended, and its tap is
    // another one's, so has the id, and the kernel refuses the command (`ucma_get_ctx`).
    unsafe { (ORIGINS.take(request) as *const Tap).as_ref() }
}

/// Takes the events that the program never saw off `events_reported`. Done before librdmacm looks at it.
///
/// # Safety
/// The command went well, and the address of its answer stands at `response`.
unsafe fn correct(command: &Command, response: usize, never_seen: u32) {
    // SAFETY: as promised by the caller; the kernel has just written there.
    if let Some(reported) = unsafe { (command.u64(response) as *mut u32).as_mut() } {
        *reported = reported.saturating_sub(never_seen);
    }
}

/// MIGRATE_ID comes on the new channel and names the old one's descriptor inside.
///
/// # Safety
/// A whole MIGRATE_ID of the program.
pub unsafe fn migrate(new: &'static Tap, command: &Command) -> ssize_t {
    // SAFETY: as promised by the caller.
    unsafe {
        let Some(old) = table::find(command.u32(MIGRATE_ID_FD) as i32) else {
            return command.forward(new);
        };
        let mut bytes = [0u8; MIGRATE_ID_SIZE];
        std::ptr::copy_nonoverlapping(command.at, bytes.as_mut_ptr(), bytes.len());
        bytes[MIGRATE_ID_FD..][..4].copy_from_slice(&old.kernel().0.to_ne_bytes());
        let changed = Command {
            at: bytes.as_ptr(),
            ..*command
        };
        let handle = command.id(MIGRATE_ID_ID);
        let uid = IDS.get(handle);
        let listens = LISTENERS.get(handle) != 0;
        let parents = old.how() == How::Foreign;
        let aside = parents || !listens && !reads_ahead(old) && !reads_ahead(new);
        let never_seen = NEVER_SEEN.get(handle) as u32;
        if aside {
            let written = changed.forward(new);
            if command.went_well(written) {
                let unseen = match parents {
                    true => None,
                    false => guard::run(|| unseen(old, &mut old.lock(), Gone::Id { handle, uid })),
                };
                let count = never_seen + unseen.unwrap_or_default();
                correct(command, MIGRATE_ID_RESPONSE, count);
            }
            return written;
        }
        let moves = !std::ptr::eq(old, new);
        // Who polls the new channel has to see the events that come from the queue.
        if let Some(shim) =
            lifetime::hooked().filter(|shim| moves && shim.on() && !old.queue.is_empty())
        {
            guard::run(|| interpose::interpose(shim, new, old.how()));
        }
        let id = Gone::Id { handle, uid };
        let moved = guard::run(|| match moves {
            true => move_events(old, new, &changed, id),
            false => stay(new, &changed, id),
        });
        let Some((written, errno, count)) = moved else {
            return changed.forward(new);
        };
        guard::set_errno(errno);
        if command.went_well(written) {
            correct(command, MIGRATE_ID_RESPONSE, count + never_seen);
        }
        written
    }
}

/// The id moves to the channel that it is on. With the channel locked, so that no event of the id is taken between the kernel's
/// count and ours.
fn stay(tap: &'static Tap, command: &Command, id: Gone) -> (ssize_t, i32, u32) {
    let mut locked = tap.lock();
    // SAFETY: the program's command, with only the descriptor inside changed.
    let written = unsafe { command.forward(tap) };
    let errno = guard::errno();
    match command.went_well(written) {
        true => (written, errno, unseen(tap, &mut locked, id)),
        false => (written, errno, 0),
    }
}

/// The id has moved to the channel that it is on. How many events of it the kernel has reported that the program has not: those
/// in the channel's queue, and requests that were refused. The former go to the end, as those that the kernel still has do
/// (`ucma_migrate_id`, drivers/infiniband/core/ucma.c).
fn unseen(tap: &'static Tap, locked: &mut Locked, id: Gone) -> u32 {
    let events = tap.queue.void(&mut locked.behind, id, owner);
    let queued = events.len() as u32;
    if queued > 0 {
        tap.queue.put(&mut locked.behind, events);
        if tap.interposed() {
            tap.signal_readable(locked);
        }
        // Whoever looked in between has seen too few.
        super::waiting::wake(tap);
    }
    let refused = match id {
        Gone::Id { uid, .. } => locked.behind.listener(uid).map_or(0, |l| l.never_seen),
        Gone::Group { .. } => 0,
    };
    queued + refused
}

/// With both channels locked, so that no event of the id is taken on the new one before those that were
/// read ahead on the old one are there. The kernel's part is short.
fn move_events(
    old: &'static Tap,
    new: &'static Tap,
    command: &Command,
    id: Gone,
) -> (ssize_t, i32, u32) {
    let (mut from, mut to) = lock_both(old, new);
    // SAFETY: the program's command, with only the descriptor inside changed.
    let written = unsafe { command.forward(new) };
    let errno = guard::errno();
    if !command.went_well(written) {
        return (written, errno, 0);
    }
    let events: Vec<Event> = old.queue.void(&mut from.behind, id, owner);
    let mut refused = 0;
    if let Gone::Id { uid, .. } = id {
        if let Some(listener) = from.behind.listens_no_more(uid) {
            to.behind.moves_in(listener);
            refused = listener.never_seen;
        }
    }
    let count = events.len() as u32;
    for request in events.iter().filter_map(Event::request) {
        // Who has moved before is where the kernel knows it first.
        if ORIGINS.get(request) == 0 {
            ORIGINS.set(request, std::ptr::from_ref(old) as u64);
        }
    }
    if count > 0 {
        new.queue.put(&mut to.behind, events);
        if new.interposed() {
            new.signal_readable(&mut to);
        }
        if old.queue.is_empty() {
            from.nothing_queued(old.app());
        }
    }
    super::waiting::wake(new);
    // The kernel moves events without waking anybody who waits for the new channel (`ucma_move_events`).
    interpose::look_again(new);
    (written, errno, count + refused)
}

fn lock_both(
    old: &'static Tap,
    new: &'static Tap,
) -> (MutexGuard<'static, Locked>, MutexGuard<'static, Locked>) {
    if std::ptr::from_ref(old) < std::ptr::from_ref(new) {
        let from = old.lock();
        (from, new.lock())
    } else {
        let to = new.lock();
        (old.lock(), to)
    }
}
