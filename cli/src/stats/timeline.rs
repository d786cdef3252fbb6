//! The flight recorder's records, each connection by itself.

use cmshim_core::codes::event;
use cmshim_core::model::Role;
use cmshim_core::stats::{Entry, Record, What};

/// The life of one id: from its creation or connect request to its destruction. Its address may have another
/// life later.
pub struct Life<'a> {
    /// 0 for what belongs to no id.
    pub id: u64,
    pub records: Vec<&'a Record>,
}

/// In the order of their first records.
pub fn lives(records: &[Record]) -> Vec<Life<'_>> {
    let mut lives: Vec<Life> = Vec::new();
    for record in records {
        let open = lives.iter_mut().rev().find(|life| life.id == record.id);
        match open.filter(|life| life.goes_on_with(record)) {
            Some(life) => life.records.push(record),
            None => lives.push(Life {
                id: record.id,
                records: vec![record],
            }),
        }
    }
    lives
}

impl Life<'_> {
    fn goes_on_with(&self, next: &Record) -> bool {
        let Some(last) = self.records.last() else {
            return true;
        };
        if self.id == 0 {
            return true;
        }
        // rdma_get_request takes the event of the id that it gives: the call began before.
        let taken_by_call = is_call(last, &[Entry::rdma_get_request]);
        let begins = is_call(next, &BEGIN) || is_request(next) && !taken_by_call;
        let ended = is_call(last, &END) && last.status <= 0;
        !begins && !ended
    }

    /// The latest peer that is known.
    pub fn peer(&self) -> Option<std::net::SocketAddr> {
        let peers = self.records.iter().rev().map(|r| r.peer.address());
        peers
            .flatten()
            .find(|peer| peer.port() != 0 || !peer.ip().is_unspecified())
    }

    pub fn qp_num(&self) -> Option<u32> {
        let numbers = self.records.iter().rev().map(|r| r.qp_num);
        numbers.into_iter().find(|number| *number != 0)
    }

    /// Which end of the connection this process is, as far as the records that are left tell.
    pub fn role(&self) -> Role {
        let server = |r: &Record| is_request(r) || is_call(r, &SERVER);
        match self.records.iter().any(|r| server(r)) {
            true => Role::Server,
            false => Role::Client,
        }
    }

    /// The listener that it came from.
    pub fn listener(&self) -> Option<u64> {
        let request = self.records.iter().find(|r| is_request(r))?;
        Some(request.extra).filter(|listener| *listener != 0)
    }
}

const BEGIN: [Entry; 3] = [
    Entry::rdma_create_id,
    Entry::rdma_create_ep,
    Entry::rdma_get_request,
];
const SERVER: [Entry; 4] = [
    Entry::rdma_listen,
    Entry::rdma_get_request,
    Entry::rdma_accept,
    Entry::rdma_reject,
];
const END: [Entry; 2] = [Entry::rdma_destroy_id, Entry::rdma_destroy_ep];

fn is_call(record: &Record, calls: &[Entry]) -> bool {
    matches!(record.what, What::Call(entry) if calls.contains(&entry))
}

fn is_request(record: &Record) -> bool {
    record.what == What::Event(event::CONNECT_REQUEST as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmshim_core::stats::RUNNING;

    fn records(all: &[(u64, What, i32)]) -> Vec<Record> {
        let numbered = all.iter().zip(1..);
        numbered
            .map(|((id, what, status), number)| Record {
                number,
                at_ns: number,
                id: *id,
                what: *what,
                status: *status,
                peer: Default::default(),
                qp_num: 0,
                extra: 0,
            })
            .collect()
    }

    fn numbers(records: &[Record]) -> Vec<Vec<u64>> {
        let lives = lives(records);
        let numbers = |life: &Life| life.records.iter().map(|r| r.number).collect();
        lives.iter().map(numbers).collect()
    }

    const CREATE: What = What::Call(Entry::rdma_create_id);
    const DESTROY: What = What::Call(Entry::rdma_destroy_id);
    const REQUEST: What = What::Event(4);

    #[test]
    fn an_address_may_have_several_lives() {
        let all = records(&[
            (1, CREATE, 0),
            (2, REQUEST, 0),
            (1, DESTROY, 22),
            (1, DESTROY, 0),
            (1, CREATE, 0),
            (2, DESTROY, RUNNING),
            (2, What::Call(Entry::rdma_listen), 0),
            (2, REQUEST, 0),
        ]);
        assert_eq!(
            numbers(&all),
            [vec![1, 3, 4], vec![2, 6], vec![5], vec![7], vec![8]]
        );
    }

    #[test]
    fn a_request_belongs_to_the_call_that_took_it() {
        let get = What::Call(Entry::rdma_get_request);
        let all = records(&[(3, get, 0), (3, REQUEST, 0), (0, get, 11), (0, CREATE, 12)]);
        assert_eq!(numbers(&all), [[1, 2], [3, 4]]);
    }
}
