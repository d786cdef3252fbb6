//! One `write` on an event channel's descriptor: which command is it, and what is to be done about it.

use super::channel::{How, Tap};
use super::handles::{self, GROUPS, IDS, LISTENERS, OWNERS};
use super::{serve, teardown};
use crate::abi::ucm::*;
use crate::real::c_library;
use crate::sys::guard;
use crate::tenant;
use cmshim_core::event_queue::{GroupHandle, IdHandle};
use libc::{c_int, c_void, size_t, ssize_t};
use std::sync::atomic::Ordering;

const FIRST_PAGE: usize = 4096;

/// A command as librdmacm wrote it.
#[derive(Clone, Copy)]
pub struct Command {
    pub at: *const u8,
    pub size: usize,
    pub cmd: u32,
    /// Bytes that there are for the answer.
    pub out: usize,
}

impl Command {
    /// Reads a header; `None` if this is no command: the program may have closed the channel's descriptor
    /// behind librdmacm's back and use its number for something else.
    ///
    /// # Safety
    /// `at` is in the first page, or readable for `size` bytes.
    unsafe fn read(at: *const c_void, size: size_t) -> Option<Command> {
        // What is in the first page is a bad pointer, for the kernel to refuse.
        if (at as usize) < FIRST_PAGE || size < HEADER {
            return None;
        }
        let mut command = Command {
            at: at.cast(),
            size,
            cmd: 0,
            out: 0,
        };
        // SAFETY: the header lies within the size.
        unsafe {
            command.cmd = command.u32(0);
            let lengths = command.u32(4).to_ne_bytes();
            let size_in = u16::from_ne_bytes([lengths[0], lengths[1]]) as usize;
            command.out = u16::from_ne_bytes([lengths[2], lengths[3]]) as usize;
            (command.cmd < cmd::LIMIT && size_in + HEADER == size).then_some(command)
        }
    }

    /// # Safety
    /// The number lies within the command.
    pub unsafe fn u32(&self, offset: usize) -> u32 {
        // SAFETY: as promised by the caller; no alignment is taken for granted.
        unsafe { self.at.add(offset).cast::<u32>().read_unaligned() }
    }

    /// # Safety
    /// As for `u32`; the number is an id's.
    pub unsafe fn id(&self, offset: usize) -> IdHandle {
        // SAFETY: as promised by the caller.
        IdHandle(unsafe { self.u32(offset) })
    }

    /// # Safety
    /// As for `u32`.
    pub unsafe fn u64(&self, offset: usize) -> u64 {
        // SAFETY: as promised by the caller.
        unsafe { self.at.add(offset).cast::<u64>().read_unaligned() }
    }

    /// Does the command reach that far?
    fn has(&self, end: usize) -> bool {
        self.size >= end
    }

    /// Hands it to the kernel as it is.
    ///
    /// # Safety
    /// The command is the program's, whole.
    pub unsafe fn forward(&self, tap: &Tap) -> ssize_t {
        loop {
            let kernel = tap.kernel();
            // SAFETY: as promised by the caller.
            let written = unsafe { c_library::write(kernel.0, self.at.cast(), self.size) };
            // The channel may have been interposed between these lines: an epoll set stood at the number, which
            // takes no writes (EINVAL), or nothing any more (EBADF).
            let refused = written < 0 && matches!(guard::errno(), libc::EINVAL | libc::EBADF);
            if !refused || tap.kernel() == kernel {
                return written;
            }
        }
    }

    pub fn went_well(&self, written: ssize_t) -> bool {
        written == self.size as ssize_t
    }
}

/// `write` on a descriptor that is an event channel's.
///
/// # Safety
/// As `write`.
pub unsafe fn write(tap: &'static Tap, fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t {
    // SAFETY: the program's buffer.
    let command = match unsafe { Command::read(buffer, size) } {
        Some(command) => command,
        // The kernel tells what is wrong with an address; it must be the one that knows commands.
        None if (buffer as usize) < FIRST_PAGE && tap.app().0 == fd => {
            // SAFETY: the program's arguments.
            return unsafe { c_library::write(tap.kernel().0, buffer, size) };
        }
        // SAFETY: the program's arguments.
        None => return unsafe { c_library::write(fd, buffer, size) },
    };
    // SAFETY: the command is whole, and each arm asks for its length.
    unsafe {
        match command.cmd {
            _ if tap.how() == How::Foreign => command.forward(tap),
            cmd::GET_EVENT
                if command.size == GET_EVENT_SIZE && command.out >= GET_EVENT_LEAST_ANSWER =>
            {
                serve::get_event(tap, &command)
            }
            cmd::DESTROY_ID if command.size == DESTROY_ID_SIZE => {
                teardown::destroy_id(tap, &command)
            }
            cmd::LEAVE_MCAST if command.size == DESTROY_ID_SIZE => {
                teardown::leave_group(tap, &command)
            }
            cmd::MIGRATE_ID if command.size == MIGRATE_ID_SIZE => {
                let written = teardown::migrate(tap, &command);
                if command.went_well(written) {
                    tenant::seats_by_handle::id_moved(command.id(MIGRATE_ID_ID), tap.app().0);
                }
                written
            }
            cmd::CREATE_ID if command.has(CREATE_ID_RESPONSE + 8) => created(tap, &command),
            cmd::ACCEPT if command.has(ACCEPT_ID + 4) => {
                // The kernel sends events of the id from here on. A failed accept leaves a number that is
                // right all the same: it is the structure of this id.
                IDS.set(command.id(ACCEPT_ID), command.u64(ACCEPT_UID));
                command.forward(tap)
            }
            cmd::REJECT if command.has(REJECT_ID + 4) => ends(tap, &command, REJECT_ID),
            cmd::DISCONNECT if command.has(DISCONNECT_ID + 4) => ends(tap, &command, DISCONNECT_ID),
            cmd::INIT_QP_ATTR if command.has(INIT_QP_ATTR_ID + 4) => attributes(tap, &command),
            cmd::LISTEN if command.has(LISTEN_BACKLOG + 4) => listens(tap, &command),
            cmd::JOIN_IP_MCAST if command.has(JOIN_IP_MCAST_ID + 4) => joined(
                tap,
                &command,
                JOIN_IP_MCAST_RESPONSE,
                JOIN_IP_MCAST_UID,
                JOIN_IP_MCAST_ID,
            ),
            cmd::JOIN_MCAST if command.has(JOIN_MCAST_ID + 4) => joined(
                tap,
                &command,
                JOIN_MCAST_RESPONSE,
                JOIN_MCAST_UID,
                JOIN_MCAST_ID,
            ),
            _ => command.forward(tap),
        }
    }
}

/// The handle that the kernel answered.
///
/// # Safety
/// The command went well, and its answer's address stands at `response`.
unsafe fn answered(command: &Command, response: usize) -> Option<u32> {
    // SAFETY: as promised by the caller; the kernel has just written there.
    unsafe { (command.u64(response) as *const u32).as_ref().copied() }
}

/// # Safety
/// A whole CREATE_ID.
unsafe fn created(tap: &Tap, command: &Command) -> ssize_t {
    // SAFETY: as promised by the caller.
    unsafe {
        let written = command.forward(tap);
        if command.went_well(written) {
            if let Some(handle) = answered(command, CREATE_ID_RESPONSE).map(IdHandle) {
                handles::is_new(handle);
                IDS.set(handle, command.u64(CREATE_ID_UID));
            }
        }
        written
    }
}

/// A command that ends a connection.
///
/// # Safety
/// A whole command, whose id stands there.
unsafe fn ends(tap: &Tap, command: &Command, id: usize) -> ssize_t {
    // SAFETY: as promised by the caller.
    unsafe {
        let handle = command.id(id);
        let seat = tenant::seats_by_handle::ending(handle);
        let written = command.forward(tap);
        if !command.went_well(written) {
            tenant::seats_by_handle::restore(handle, seat);
        }
        written
    }
}

/// The attributes of a queue pair carry the traffic class that the policy gives its tenant.
///
/// # Safety
/// A whole INIT_QP_ATTR.
unsafe fn attributes(tap: &Tap, command: &Command) -> ssize_t {
    // SAFETY: as promised by the caller; the kernel has just written the answer.
    unsafe {
        let written = command.forward(tap);
        if command.went_well(written) && command.out > QP_ATTR_TRAFFIC_CLASS {
            if let Some(class) = tenant::seats_by_handle::class_of(command.id(INIT_QP_ATTR_ID)) {
                let answer = command.u64(INIT_QP_ATTR_RESPONSE) as *mut u8;
                let mask = answer.add(QP_ATTR_MASK).cast::<u32>().read_unaligned();
                if mask & QP_ATTR_AV != 0 {
                    answer.add(QP_ATTR_TRAFFIC_CLASS).write(class);
                }
            }
        }
        written
    }
}

/// # Safety
/// A whole JOIN_IP_MCAST or JOIN_MCAST, with these offsets.
unsafe fn joined(tap: &Tap, command: &Command, response: usize, uid: usize, id: usize) -> ssize_t {
    // SAFETY: as promised by the caller.
    unsafe {
        let written = command.forward(tap);
        if command.went_well(written) {
            if let Some(handle) = answered(command, response).map(GroupHandle) {
                GROUPS.set(handle, command.u64(uid));
                OWNERS.set(handle, u64::from(command.id(id).0) + 1);
            }
        }
        written
    }
}

/// Remembers the backlog: it bounds what is read ahead.
///
/// # Safety
/// A whole LISTEN.
unsafe fn listens(tap: &Tap, command: &Command) -> ssize_t {
    // SAFETY: as promised by the caller.
    unsafe {
        let written = command.forward(tap);
        let handle = command.id(LISTEN_ID);
        let uid = IDS.get(handle);
        if command.went_well(written) && uid != 0 {
            let asked = command.u32(LISTEN_BACKLOG) as i32;
            // 0 and less are the kernel's greatest, `ucma_listen`.
            let backlog = u32::try_from(asked).ok().filter(|b| *b > 0);
            guard::run(|| {
                let mut locked = tap.lock();
                locked.behind.listens(uid, backlog.unwrap_or(u32::MAX));
                LISTENERS.set(handle, 1);
            });
        }
        written
    }
}

/// May events of this channel be waiting in its queue?
pub fn reads_ahead(tap: &Tap) -> bool {
    tap.interposed() || tap.queue.used()
}

/// Is the program's descriptor non-blocking? Asked of the kernel where a duplicate may have changed it.
pub fn nonblocking(tap: &'static Tap) -> bool {
    if tap.duplicated.load(Ordering::Acquire) || tap.how() == How::Thread {
        let on = super::descriptors::is_nonblocking(tap.app().0);
        if tap.how() == How::Inline && on != tap.nonblocking.load(Ordering::Acquire) {
            guard::run(|| super::descriptors::follow(tap));
        }
        return on;
    }
    tap.nonblocking.load(Ordering::Acquire)
}
