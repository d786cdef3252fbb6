//! Commands of our own to the kernel, about ids that the program never saw.

use super::c_library;
use crate::abi::ucm::*;
use crate::sys::guard;
use cmshim_core::event_queue::IdHandle;
use libc::{c_int, ssize_t};

/// A descriptor of the kernel's own event channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelFd(pub c_int);

/// Destroys an id. A failure means that it is gone already.
pub fn destroy(channel: KernelFd, id: IdHandle) {
    let mut reported = 0u32;
    let mut command = new::<DESTROY_ID_SIZE>(cmd::DESTROY_ID, size_of_val(&reported));
    put_address(&mut command, DESTROY_ID_RESPONSE, &mut reported);
    put(&mut command, DESTROY_ID_ID, &id.0.to_ne_bytes());
    // SAFETY: a whole command, whose answer lives across the call.
    unsafe { write(channel, &command) };
}

/// Refuses a connect request as rdma_reject would. A failure means that the peer is gone.
pub fn reject(channel: KernelFd, id: IdHandle, private_data: &[u8]) {
    let mut command = new::<REJECT_SIZE>(cmd::REJECT, 0);
    put(&mut command, REJECT_ID, &id.0.to_ne_bytes());
    command[REJECT_LENGTH] = private_data.len() as u8;
    put(&mut command, REJECT_DATA, private_data);
    // SAFETY: a whole command without an answer.
    unsafe { write(channel, &command) };
}

/// Asks for the addresses of an id: QUERY_ADDR or QUERY_GID.
pub fn query(channel: KernelFd, id: IdHandle, option: u32) -> Option<QueryAddrResp> {
    // SAFETY: zeroed is a valid value of the plain structure.
    let mut answer: QueryAddrResp = unsafe { std::mem::zeroed() };
    let mut command = new::<QUERY_SIZE>(cmd::QUERY, size_of_val(&answer));
    put_address(&mut command, QUERY_RESPONSE, &mut answer);
    put(&mut command, QUERY_ID, &id.0.to_ne_bytes());
    put(&mut command, QUERY_OPTION, &option.to_ne_bytes());
    // SAFETY: a whole command, whose answer lives across the call.
    unsafe { write(channel, &command) }.then_some(answer)
}

/// Does the kernel take no command on the channel from this thread? It looks at that before it looks at the command
/// (`ucma_write`, drivers/infiniband/core/ucma.c), and there is none of this number. errno stays: the call may go
/// well.
pub fn refused(channel: KernelFd) -> bool {
    let command = new::<HEADER>(u32::MAX, 0);
    let before = guard::errno();
    // SAFETY: a whole header.
    let refused = !unsafe { write(channel, &command) } && guard::errno() == libc::EACCES;
    guard::set_errno(before);
    refused
}

/// A command with its header and nothing else.
fn new<const SIZE: usize>(number: u32, answer: usize) -> [u8; SIZE] {
    let mut command = [0; SIZE];
    put(&mut command, 0, &number.to_ne_bytes());
    put(&mut command, 4, &((SIZE - HEADER) as u16).to_ne_bytes());
    put(&mut command, 6, &(answer as u16).to_ne_bytes());
    command
}

fn put(command: &mut [u8], at: usize, bytes: &[u8]) {
    command[at..at + bytes.len()].copy_from_slice(bytes);
}

fn put_address<T>(command: &mut [u8], at: usize, answer: &mut T) {
    put(
        command,
        at,
        &(std::ptr::from_mut(answer) as u64).to_ne_bytes(),
    );
}

/// True if it went well.
///
/// # Safety
/// A whole command, whose answer has room where it says.
unsafe fn write(channel: KernelFd, command: &[u8]) -> bool {
    // SAFETY: as promised by the caller.
    let written = unsafe { c_library::write(channel.0, command.as_ptr().cast(), command.len()) };
    written == command.len() as ssize_t
}
