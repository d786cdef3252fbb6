//! Connects that nothing came back for, from the flight recorders of dead processes.

use cmshim_core::codes::event as ev;
use cmshim_core::stats::{Entry, Record, What, RUNNING};

use super::sum::Sum;
use crate::stats::timeline::{lives, Life};

/// What ends the wait for an answer.
const ANSWERS: [i32; 7] = [
    ev::CONNECT_RESPONSE,
    ev::CONNECT_ERROR,
    ev::UNREACHABLE,
    ev::REJECTED,
    ev::ESTABLISHED,
    ev::DISCONNECTED,
    ev::DEVICE_REMOVAL,
];

/// At least so many: an older one may have left the recorder.
pub fn count(sum: &Sum) -> usize {
    let dead = sum.files.iter().filter(|file| !file.alive);
    let lives = dead.flat_map(|file| lives(&file.stats.records));
    lives.filter(is_unanswered).count()
}

fn is_unanswered(life: &Life) -> bool {
    let begins = |record: &&Record| {
        record.what == What::Call(Entry::rdma_connect) && matches!(record.status, 0 | RUNNING)
    };
    let Some(connect) = life.records.iter().rposition(begins) else {
        return false;
    };
    let answer = |record: &&Record| {
        let is_one = |number: u16| ANSWERS.contains(&i32::from(number));
        matches!(record.what, What::Event(number) if is_one(number))
    };
    !life.records[connect..].iter().any(answer)
}
