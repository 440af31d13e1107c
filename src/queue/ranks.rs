//! The order of a queue's children as a tournament: the first of them is known, and a child that
//! moves plays only those on its way up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::resource::share;

/// Bits of a key, from below: the place in the list; the share of the partition that is guaranteed,
/// larger first; what is used; the priority, larger first; whether at least the whole is used;
/// whether nothing is guaranteed; whether the partition may not be used; whether the child is
/// passed over.
const PLACE: u32 = 28;
const CAPACITY: u32 = PLACE;
const USED: u32 = CAPACITY + 32;
const URGENT: u32 = USED + 32;
const WHOLE: u32 = URGENT + 32;
const UNGUARANTEED: u32 = WHOLE + 1;
const INACCESSIBLE: u32 = UNGUARANTEED + 1;
const IDLE: u32 = INACCESSIBLE + 1;

const _: () = assert!(IDLE == u128::BITS - 1);

/// Sort key of a child; smaller is served first. Shares are the reference's `f32`, in Java's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u128);

impl Rank {
    /// The key of a child but for its [`Use`], which [`Rank::using`] adds.
    #[must_use]
    pub fn new(accessible: bool, absolute_capacity: f32, priority: i32) -> Self {
        let flag = |set: bool, bit: u32| u128::from(set) << bit;
        let urgent = !(priority.cast_unsigned() ^ (1 << 31));
        let small = !share::java_rank(absolute_capacity);
        Self(
            flag(!accessible, INACCESSIBLE)
                | flag(!share::above_none(absolute_capacity), UNGUARANTEED)
                | u128::from(urgent) << URGENT
                | u128::from(small) << CAPACITY,
        )
    }

    /// The key after the child's use moved, everything else being as it was.
    #[inline]
    #[must_use]
    pub fn using(self, of: Use) -> Self {
        const MOVES: u128 = 1 << IDLE | 1 << WHOLE | (u32::MAX as u128) << USED;
        let guaranteed = self.0 & (1 << UNGUARANTEED) == 0;
        let used = if guaranteed {
            of.used_capacity
        } else {
            of.absolute_used
        };
        let whole = u128::from(!share::below_one(used)) << WHOLE;
        let idle = u128::from(of.idle) << IDLE;
        Self(self.0 & !MOVES | idle | whole | u128::from(share::java_rank(used)) << USED)
    }

    /// The key with the child's place in the list, which decides between equals.
    fn at(self, place: usize) -> Self {
        debug_assert!(place >> PLACE == 0, "{place} children");
        Self(self.0 & !((1 << PLACE) - 1) | place as u128)
    }

    fn place(self) -> usize {
        (self.0 & ((1 << PLACE) - 1)) as usize
    }

    fn is_idle(self) -> bool {
        self.0 >> IDLE != 0
    }
}

/// What of a child moves its place in the order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// Used resources as a fraction of the guarantee.
    pub used_capacity: f32,
    /// Used resources as a fraction of the partition.
    pub absolute_used: f32,
    /// Whether passes need not come to the child, which asks for nothing.
    pub idle: bool,
}

/// Sort keys of the children of a queue on a partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranks {
    /// The keys hold while the state counts this epoch.
    pub epoch: u64,
    /// A tree in an array: the keys in list order are its second half, and each place before is the
    /// smaller of the two at twice its index and one above that. Empty when something that no key
    /// expresses decides, or there is nobody.
    winners: Vec<Rank>,
}

impl Ranks {
    /// The keys of all children, in list order; nothing where no key expresses the order.
    #[must_use]
    pub fn new(epoch: u64, keys: Option<Vec<Rank>>) -> Self {
        let keys = keys.unwrap_or_default();
        let count = keys.len();
        let ranked = keys.into_iter().enumerate();
        let ranked: Vec<_> = ranked.map(|(place, key)| key.at(place)).collect();
        // The first place stands for nothing.
        let mut winners = vec![Rank(0); count];
        winners.extend(ranked);
        for at in (1..count).rev() {
            winners[at] = winners[2 * at].min(winners[2 * at + 1]);
        }
        Self { epoch, winners }
    }

    /// The place of the child that is served first, where keys express it.
    ///
    /// Cost: one look.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        // With a single child, the tree is its key twice.
        self.winners.get(1).map(|rank| rank.place())
    }

    /// Whether keys express the order.
    #[must_use]
    pub fn decide(&self) -> bool {
        !self.winners.is_empty()
    }

    /// The places in the order in which the children are served, without those passed over.
    ///
    /// Cost: one look for the first; for each further one, some comparisons for each doubling of the
    /// number of children.
    pub fn in_order(&self) -> impl Iterator<Item = usize> + '_ {
        let count = self.winners.len() / 2;
        // Parts of the tree that hold what was not returned yet, by their first; and the part of
        // which the first was returned last.
        let mut open = BinaryHeap::new();
        let mut last = None;
        std::iter::from_fn(move || {
            let at = match last {
                None => self.decide().then_some(1)?,
                Some(mut at) => {
                    while at < count {
                        let [left, right] = [2 * at, 2 * at + 1];
                        let next = if self.winners[left] == self.winners[at] {
                            left
                        } else {
                            right
                        };
                        let other = left + right - next;
                        open.push(Reverse((self.winners[other], other)));
                        at = next;
                    }
                    open.pop()?.0.1
                }
            };
            last = Some(at);
            let winner = self.winners[at];
            (!winner.is_idle()).then(|| winner.place())
        })
    }

    /// Follows a child of which the use moved; one without a place is passed over.
    ///
    /// Cost: a comparison for each doubling of the number of children.
    #[inline]
    pub fn follow(&mut self, place: usize, of: Use) {
        let count = self.winners.len() / 2;
        if place >= count {
            return;
        }
        let mut at = count + place;
        self.winners[at] = self.winners[at].using(of);
        while at > 1 {
            at /= 2;
            let [left, right] = [self.winners[2 * at], self.winners[2 * at + 1]];
            self.winners[at] = if right.0 < left.0 { right } else { left };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Used shares in quarters; those that use an odd number of them ask for nothing.
    fn of(quarters: u8) -> Use {
        Use {
            used_capacity: share::quotient(f32::from(quarters), 4.0),
            absolute_used: 0.0,
            idle: quarters % 2 == 1,
        }
    }

    #[test]
    fn what_decides_comes_first_in_the_key() {
        let of = |used| Use {
            used_capacity: used,
            absolute_used: used,
            idle: false,
        };
        let rank = |accessible, capacity, priority, used| {
            Rank::new(accessible, capacity, priority).using(of(used))
        };
        let sorted = [
            rank(true, 0.5, 7, 0.9),
            rank(true, 0.5, 0, 0.25),
            rank(true, 0.25, 0, 0.25),
            rank(true, 0.5, 0, 0.5),
            rank(true, 0.5, -1, 0.0),
            rank(true, 0.5, 7, 1.0),
            rank(true, 0.5, 0, f32::NAN),
            rank(true, 0.0, 0, 0.0),
            rank(false, 0.5, 7, 0.0),
        ];
        assert!(sorted.is_sorted_by(|a, b| a < b), "{sorted:?}");
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_whatever_moves(
            uses in prop::collection::vec(0..5_u8, 1..20),
            moves in prop::collection::vec((0..20_usize, 0..5_u8), 0..40)
        ) {
            let mut keys: Vec<_> = uses
                .iter()
                .map(|&quarters| Rank::new(true, 0.5, 0).using(of(quarters)))
                .collect();
            let mut ranks = Ranks::new(1, Some(keys.clone()));
            for (place, quarters) in moves {
                let least = keys.iter().enumerate().min_by_key(|(_, key)| **key);
                prop_assert_eq!(ranks.first(), least.map(|(place, _)| place));
                let mut order: Vec<_> = (0..keys.len()).filter(|&i| !keys[i].is_idle()).collect();
                order.sort_by_key(|&place| keys[place]);
                prop_assert_eq!(ranks.in_order().collect::<Vec<_>>(), order);
                ranks.follow(place, of(quarters));
                if let Some(key) = keys.get_mut(place) {
                    *key = key.using(of(quarters));
                }
            }
        }

        #[test]
        fn a_child_without_a_place_moves_nobody(place in prop_oneof![1..4_usize, Just(usize::MAX)]) {
            let mut nobody = Ranks::new(1, None);
            nobody.follow(place, of(2));
            prop_assert_eq!(nobody.first(), None);
            let mut one = Ranks::new(1, Some(vec![Rank::new(true, 0.5, 0)]));
            one.follow(place, of(2));
            prop_assert_eq!(one.first(), Some(0));
        }
    }
}
