//! The tree of prefixes, flat: each knows the next larger one that holds it.
//!
//! In the order of [`Net`] the last prefix that is not behind an address is either the smallest one that holds it, or
//! below one that does: prefixes nest or are apart, so every prefix that holds the address is above that one. A
//! look-up is a binary search and some steps upwards. Nothing is ever removed or changed, so that this is all of it.

use super::net::{Address, Net, SortKey};

#[derive(Debug)]
pub(super) struct Tree<T> {
    nodes: Vec<Node>,
    items: Vec<T>,
}

#[derive(Debug)]
struct Node {
    net: Net,
    /// The smallest prefix that holds this one; `NONE` at the top.
    above: u32,
    /// Its items, from and to.
    items: (u32, u32),
}

const NONE: u32 = u32::MAX;

/// In one place, so that the code for it is there once: it is larger than this file's.
pub(super) fn sort(keys: &mut [SortKey]) {
    keys.sort_unstable();
}

impl<T: Copy> Tree<T> {
    /// Items of equal prefixes keep their order.
    pub fn new(all: &[(Net, T)]) -> Tree<T> {
        let numbered = all.iter().zip(0..);
        let mut keys: Vec<SortKey> = numbered.map(|((net, _), n)| net.sort_key(n)).collect();
        sort(&mut keys);
        let order = keys.iter().map(|(_, _, low)| &all[*low as u32 as usize]);
        Tree {
            nodes: nodes(&mut order.clone().map(|(net, _)| net)),
            items: order.map(|(_, item)| *item).collect(),
        }
    }
}

/// Of prefixes in their order, some of them more than once.
fn nodes(nets: &mut dyn Iterator<Item = &Net>) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (net, number) in nets.zip(0..) {
        let items = (number, number + 1);
        match nodes.last_mut() {
            Some(last) if last.net == *net => last.items.1 = items.1,
            _ => {
                let mut above = nodes.len().checked_sub(1).map_or(NONE, |n| n as u32);
                while let Some(node) = nodes.get(above as usize) {
                    if node.net.covers(net) {
                        break;
                    }
                    above = node.above;
                }
                nodes.push(Node {
                    net: *net,
                    above,
                    items,
                });
            }
        }
    }
    nodes
}

impl<T> Tree<T> {
    /// The same prefixes with other items.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Tree<U> {
        Tree {
            nodes: self.nodes,
            items: self.items.into_iter().map(change).collect(),
        }
    }

    fn node(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize)
    }

    /// The prefixes that hold an address, the most specific one first.
    pub fn holding(&self, address: Address) -> impl Iterator<Item = (&Net, &[T])> {
        self.covering(&Net::only(address))
    }

    /// The prefixes that hold all of another one, the most specific one first.
    pub fn covering(&self, net: &Net) -> impl Iterator<Item = (&Net, &[T])> {
        let place = self.nodes.partition_point(|node| node.net <= *net);
        let mut next = place.checked_sub(1).map_or(NONE, |n| n as u32);
        while self.node(next).is_some_and(|node| !node.net.covers(net)) {
            next = self.nodes[next as usize].above;
        }
        let first = self.node(next);
        std::iter::successors(first, |node| self.node(node.above)).map(|node| self.at(node))
    }

    /// All prefixes in order, each with its items.
    pub fn all(&self) -> impl Iterator<Item = (&Net, &[T])> {
        self.nodes.iter().map(|node| self.at(node))
    }

    fn at<'s>(&'s self, node: &'s Node) -> (&'s Net, &'s [T]) {
        let (from, to) = node.items;
        (&node.net, &self.items[from as usize..to as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv6Addr};

    /// Few bits, so that prefixes nest, repeat and touch; both families.
    fn prefix() -> impl Strategy<Value = Net> {
        (any::<bool>(), any::<u8>(), 0..=8u8).prop_map(|(v4, bits, length)| {
            let kept = match length {
                0 => 0,
                n => bits & (0xff << (8 - n)),
            };
            let text = match v4 {
                true => format!("{kept}.0.0.0/{length}"),
                false => format!("{kept:02x}00::/{length}"),
            };
            Net::parse(&text).unwrap().net
        })
    }

    fn address() -> impl Strategy<Value = Address> {
        let v4 = any::<[u8; 4]>().prop_map(IpAddr::from);
        let v6 = any::<[u8; 16]>().prop_map(|a| IpAddr::V6(Ipv6Addr::from(a)));
        prop_oneof![v4, v6].prop_map(Address::of)
    }

    proptest! {
        #[test]
        fn finds_what_a_scan_finds(nets in prop::collection::vec(prefix(), 0..60), wanted in prop::collection::vec(address(), 20)) {
            let all: Vec<(Net, usize)> = nets.iter().copied().zip(0..).collect();
            let tree = Tree::new(&all);
            for address in wanted {
                let found: Vec<usize> = tree.holding(address).flat_map(|(_, items)| items.to_vec()).collect();
                let mut expected: Vec<(Net, usize)> = all.iter().copied().filter(|(net, _)| net.holds(address)).collect();
                // Those that hold one address nest: the order of prefixes is that of their lengths.
                expected.sort_by_key(|(net, number)| (std::cmp::Reverse(*net), *number));
                prop_assert_eq!(found, expected.iter().map(|(_, n)| *n).collect::<Vec<_>>());
            }
            prop_assert_eq!(tree.all().map(|(_, items)| items.len()).sum::<usize>(), nets.len());
        }
    }

    #[test]
    fn an_empty_tree_holds_nothing() {
        let tree: Tree<()> = Tree::new(&[]);
        assert_eq!(tree.holding(Address::of([10, 0, 0, 1].into())).count(), 0);
    }
}
