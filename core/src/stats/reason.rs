//! How often the same code came from the same peer, in sixteen words.

use super::check;
use super::record::Peer;
use crate::model::{Stage, Who};
use crate::text::packed;

/// Words of a reason.
pub const WORDS: usize = 16;
/// Words of its code's text.
const CODE_WORDS: usize = 8;
/// Longer codes are cut, before a comma or semicolon if there is one.
pub const CODE_BYTES: usize = CODE_WORDS * 8;
/// First words: seal, and what changes with each one more.
const COUNT: usize = 1;

/// A code and a peer, and how often they met.
///
/// The table keeps the most frequent ones: where it is full, a new pair takes the place of the rarest one,
/// and begins with its count, since it may have been counted there before. So no count is too low, and none
/// is too high by more than `over`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub count: u64,
    /// What `count` may be too high by.
    pub over: u64,
    /// CLOCK_MONOTONIC in ns of the latest one.
    pub last_ns: u64,
    /// Name and number: "REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID".
    pub code: String,
    /// Address without port; family 0 if none is known.
    pub peer: Peer,
    /// `None` for one that this build does not know.
    pub who: Option<Who>,
    pub stage: Option<Stage>,
}

impl Reason {
    /// The words, sealed. What is not part of the key (count, over, last) is outside the seal and
    /// may be changed alone.
    pub fn encode(&self) -> [u64; WORDS] {
        let key = Reason::key(&self.code, &self.peer, self.who, self.stage);
        let mut words = [0; WORDS];
        words[COUNT..COUNT + 3].copy_from_slice(&[self.count, self.over, self.last_ns]);
        words[4..].copy_from_slice(&key);
        words[0] = check::sealed(1, &key);
        words
    }

    /// The words that two of the same kind share.
    pub fn key(
        code: &str,
        peer: &Peer,
        who: Option<Who>,
        stage: Option<Stage>,
    ) -> [u64; WORDS - 4] {
        let mut key = [0; WORDS - 4];
        key[0] = place(&Who::ALL, who) << 8 | place(&Stage::ALL, stage);
        key[1] = u64::from(peer.family);
        key[2..4].copy_from_slice(&peer.address);
        key[4..].copy_from_slice(&packed::pack::<CODE_WORDS>(fitting(code)));
        key
    }

    /// The reason in these words; `None` if the slot is empty or half written.
    pub fn decode(words: &[u64]) -> Option<Reason> {
        let [seal, count, over, last_ns, key @ ..] = words else {
            return None;
        };
        check::opened(*seal, key)?;
        let [places, family, high, low, code @ ..] = key else {
            return None;
        };
        Some(Reason {
            count: *count,
            over: *over,
            last_ns: *last_ns,
            code: packed::unpack(code),
            peer: Peer {
                address: [*high, *low],
                port: 0,
                family: *family as u8,
            },
            who: at(&Who::ALL, places >> 8),
            stage: at(&Stage::ALL, places & 0xff),
        })
    }
}

impl Reason {
    /// Do both count the same code of the same peer?
    pub fn same_kind(&self, other: &Reason) -> bool {
        let key = |r: &Reason| Reason::key(&r.code, &r.peer, r.who, r.stage);
        key(self) == key(other)
    }

    /// Adds another one of the same kind.
    pub(super) fn join(&mut self, other: &Reason) {
        self.count = self.count.saturating_add(other.count);
        self.over = self.over.saturating_add(other.over);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

/// The parts of a code for which there is room: half a name would look like another one.
fn fitting(code: &str) -> &str {
    let end = |bytes: &[u8]| bytes.iter().rposition(|b| matches!(b, b',' | b';'));
    let end = code.as_bytes().get(..=CODE_BYTES).and_then(end);
    end.and_then(|end| code.get(..end)).unwrap_or(code)
}

/// Place in the list, from 1; 0 for none.
fn place<T: PartialEq>(all: &[T], one: Option<T>) -> u64 {
    let found = one.and_then(|one| all.iter().position(|a| *a == one));
    found.map_or(0, |place| place as u64 + 1)
}

fn at<T: Copy>(all: &[T], place: u64) -> Option<T> {
    let place = usize::try_from(place.checked_sub(1)?).ok()?;
    all.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_code_is_cut_between_its_parts() {
        let whole = "ibv_reg_mr errno 12, ENOMEM; inside ibv_reg_mr_iova2 errno 12, E";
        assert_eq!((whole.len(), fitting(whole)), (CODE_BYTES, whole));
        let cut = "ibv_reg_mr errno 12, ENOMEM; inside ibv_reg_mr_iova2 errno 12";
        assert_eq!(fitting(&format!("{whole}NOMEM")), cut);
        let part = "a".repeat(CODE_BYTES);
        assert_eq!(fitting(&format!("{part}, b")), part);
        let name = "a".repeat(CODE_BYTES + 9);
        assert_eq!(fitting(&name), name);
    }

    #[test]
    fn a_reason_comes_back_and_a_damaged_one_does_not() {
        let reason = Reason {
            count: 5,
            over: 1,
            last_ns: 77,
            code: "REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID".into(),
            peer: Peer::of("10.77.0.1:0".parse().unwrap()),
            who: Some(Who::PeerKernel),
            stage: Some(Stage::Connect),
        };
        let words = reason.encode();
        assert_eq!(Reason::decode(&words), Some(reason));
        for at in [0, 4, 5, 8, 15] {
            let mut broken = words;
            broken[at] ^= 0x10;
            assert_eq!(Reason::decode(&broken), None, "word {at}");
        }
        assert_eq!(Reason::decode(&[0; WORDS]), None);
    }
}
