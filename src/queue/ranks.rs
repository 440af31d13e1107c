//! The order of a queue's children as a winner tree.
//!
//! # What
//!
//! Siblings sit at the leaves of a tree; each inner place holds the first of its two. A child that moves
//! updates one path to the root.
//!
//! # When it is valid
//!
//! While the state counts the epoch of the ranks, and as long as keys express what decides among the
//! children: their number and the number of priorities are limited. [`crate::policy::compare_children`]
//! decides otherwise, and must give the same order.
//!
//! # Cost
//!
//! One look for the first child; a comparison for each doubling of the number of children to move one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::QueueSlot;
use crate::resource::share;

/// Bits of a key, from below: the place among those alike in all that follows, by the share of the
/// partition that is guaranteed, larger first, and by the place in the list; what is used; the place
/// of the priority among those of all children, larger first; whether at least the whole is used;
/// whether nothing is guaranteed; whether the partition may not be used; whether the child is
/// passed over.
const USED: u32 = 20;
const URGENT: u32 = USED + 32;
const WHOLE: u32 = URGENT + 8;
const UNGUARANTEED: u32 = WHOLE + 1;
const INACCESSIBLE: u32 = UNGUARANTEED + 1;
const IDLE: u32 = INACCESSIBLE + 1;

const _: () = assert!(IDLE == u64::BITS - 1);

/// Most children of which keys express the order.
const MOST: usize = 1 << USED;

/// Most different priorities of children of which keys express the order.
const MOST_PRIORITIES: usize = 1 << (WHOLE - URGENT);

/// A child, and what decides its place among its siblings.
#[derive(Clone, Copy, Debug)]
pub struct ChildClaim {
    /// The child.
    pub child: QueueSlot,
    /// Whether it may use the partition.
    pub accessible: bool,
    /// What it is guaranteed as a fraction of the partition.
    pub absolute_capacity: f32,
    /// Larger is more important.
    pub priority: i32,
    /// What of it moves from container to container.
    pub of: ChildUse,
}

/// What of a child its rank follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChildUse {
    /// Used resources as a fraction of the guarantee, or of the partition where nothing is guaranteed.
    pub used: f32,
    /// Whether passes need not come to the child, which asks for nothing.
    pub idle: bool,
}

/// A child in the winner tree. No two have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rank {
    /// Smaller is served first. Shares are the reference's `f32`, in Java's order.
    key: u64,
    child: QueueSlot,
}

impl Rank {
    /// What the first place of a tree holds, which stands for nobody.
    const NOBODY: Self = Self {
        key: 0,
        child: QueueSlot(u32::MAX),
    };

    fn new(claim: &ChildClaim, urgent: usize, tie: usize) -> Self {
        debug_assert!(urgent < MOST_PRIORITIES && tie < MOST);
        let flag = |set: bool, bit: u32| u64::from(set) << bit;
        let unguaranteed = !share::above_none(claim.absolute_capacity);
        let key = flag(!claim.accessible, INACCESSIBLE)
            | flag(unguaranteed, UNGUARANTEED)
            | (urgent as u64) << URGENT
            | tie as u64;
        let child = claim.child;
        Self { key, child }.using(claim.of)
    }

    /// The rank after the child's use moved.
    #[inline(always)]
    fn using(self, of: ChildUse) -> Self {
        const MOVES: u64 = 1 << IDLE | 1 << WHOLE | (u32::MAX as u64) << USED;
        // In integers, and without a jump: a place on the way up waits for it.
        let used = share::java_rank(of.used);
        let whole = u64::from(used >= share::java_rank(1.0)) << WHOLE;
        let idle = u64::from(of.idle) << IDLE;
        Self {
            key: self.key & !MOVES | idle | whole | u64::from(used) << USED,
            ..self
        }
    }

    /// The one of two that is served first.
    #[inline(always)]
    fn first(self, other: Self) -> Self {
        // Who wins is anybody's guess, which a jump would have to make.
        select_unpredictable(other.key < self.key, other, self)
    }

    fn is_idle(self) -> bool {
        self.key >> IDLE != 0
    }
}

/// The order of the children of a queue on a partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranks {
    /// It holds while the state counts this epoch.
    pub epoch: u64,
    /// The child that is served first, where keys express the order. It is that of the first place, and stands beside
    /// the epoch: a way down waits for one look less at each level.
    first: Option<QueueSlot>,
    /// A tree in an array, of which pairs of neighbours are the items: the children in list order are its
    /// second half, and each place before holds the first of the pair at its own index. Empty when
    /// something that no key expresses decides, or there is nobody.
    pairs: Vec<[Rank; 2]>,
}

impl Ranks {
    /// The order of all children, given in list order; nothing where no key expresses it.
    #[must_use]
    pub fn new(epoch: u64, claims: Option<&[ChildClaim]>) -> Self {
        let ranks = claims.and_then(rank).unwrap_or_default();
        let count = ranks.len();
        let mut pairs = vec![[Rank::NOBODY; 2]; count];
        for (place, rank) in ranks.into_iter().enumerate() {
            let at = count + place;
            pairs[at / 2][at % 2] = rank;
        }
        for at in (1..count).rev() {
            let [one, other] = pairs[at];
            pairs[at / 2][at % 2] = one.first(other);
        }
        // With a single child, the tree is that one after nobody.
        let first = pairs.first().map(|pair| pair[1].child);
        Self {
            epoch,
            first,
            pairs,
        }
    }

    /// The child that is served first, where keys express the order.
    ///
    /// Cost: one look.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<QueueSlot> {
        self.first
    }

    /// The children in the order in which they are served, without those passed over.
    ///
    /// Cost: one look for the first; for each further one, some comparisons for each doubling of the
    /// number of children.
    pub fn in_order(&self) -> impl Iterator<Item = QueueSlot> + '_ {
        let count = self.pairs.len();
        let at_place = |at: usize| self.pairs[at / 2][at % 2];
        // Parts of the tree that hold what was not returned yet, by their first; and the part of
        // which the first was returned last.
        let mut open: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut last: Option<usize> = None;
        std::iter::from_fn(move || {
            let at = match last {
                None => self.first().and(Some(1))?,
                Some(mut at) => {
                    while at < count {
                        let right = usize::from(self.pairs[at][0] != at_place(at));
                        let [next, other] = [2 * at + right, 2 * at + 1 - right];
                        open.push(Reverse((at_place(other).key, other)));
                        at = next;
                    }
                    open.pop()?.0.1
                }
            };
            last = Some(at);
            let winner = at_place(at);
            (!winner.is_idle()).then_some(winner.child)
        })
    }

    /// Follows a child of which something moved, by its place in the list; one without a place is passed
    /// over.
    ///
    /// Cost: a comparison for each doubling of the number of children.
    #[inline(always)]
    pub fn follow(&mut self, place: usize, of: ChildUse) {
        let count = self.pairs.len();
        if place >= count {
            return;
        }
        let mut at = count + place;
        let before = self.pairs[at / 2][at % 2];
        let mut first = if is_planted(PlantedFlaw::WinnerTreeKeepsUse) {
            before
        } else {
            before.using(of)
        };
        while at > 1 {
            let pair = &mut self.pairs[at / 2];
            pair[at % 2] = first;
            first = first.first(pair[(at + 1) % 2]);
            at /= 2;
        }
        self.pairs[0][1] = first;
        self.first = Some(first.child);
    }
}

/// The ranks of children in list order; nothing where there are more of them, or more priorities, than
/// keys distinguish.
fn rank(claims: &[ChildClaim]) -> Option<Vec<Rank>> {
    let mut priorities: Vec<_> = claims.iter().map(|claim| Reverse(claim.priority)).collect();
    priorities.sort_unstable();
    priorities.dedup();
    if claims.len() > MOST || priorities.len() > MOST_PRIORITIES {
        return None;
    }
    let mut by_tie: Vec<_> = (0..claims.len()).collect();
    // Stable: equal ones stay in list order.
    by_tie.sort_by_key(|&place| Reverse(share::java_rank(claims[place].absolute_capacity)));
    let mut ranks = vec![Rank::NOBODY; claims.len()];
    for (tie, &place) in by_tie.iter().enumerate() {
        let claim = &claims[place];
        let urgent = priorities.partition_point(|&other| other < Reverse(claim.priority));
        ranks[place] = Rank::new(claim, urgent, tie);
    }
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A child by its place in the list.
    fn claim(place: usize, of: ChildUse) -> ChildClaim {
        ChildClaim {
            child: QueueSlot::at(100 + place),
            accessible: true,
            absolute_capacity: 0.5,
            priority: 0,
            of,
        }
    }

    fn using(used: f32) -> ChildUse {
        ChildUse { used, idle: false }
    }

    /// Used shares in quarters; those that use an odd number of them ask for nothing.
    fn of(quarters: u8) -> ChildUse {
        ChildUse {
            used: share::quotient(f32::from(quarters), 4.0),
            idle: quarters % 2 == 1,
        }
    }

    #[test]
    fn what_decides_comes_first_in_the_key() {
        let claims = [
            (true, 0.5, 7, 0.9),
            (true, 0.5, 0, 0.25),
            (true, 0.25, 0, 0.25),
            (true, 0.5, 0, 0.5),
            (true, 0.5, -1, 0.0),
            (true, 0.5, 7, 1.0),
            (true, 0.5, 0, f32::NAN),
            (true, 0.0, 0, 0.0),
            (false, 0.5, 7, 0.0),
        ];
        let claims = claims.map(
            |(accessible, absolute_capacity, priority, used)| ChildClaim {
                accessible,
                absolute_capacity,
                priority,
                ..claim(0, using(used))
            },
        );
        let expected: Vec<_> = (0..claims.len()).map(QueueSlot::at).collect();
        for turned in 0..claims.len() {
            let place = |i: usize| (i + turned) % claims.len();
            let claims: Vec<_> = (0..claims.len())
                .map(|i| ChildClaim {
                    child: expected[place(i)],
                    ..claims[place(i)]
                })
                .collect();
            let ranks = Ranks::new(1, Some(&claims));
            assert_eq!(ranks.in_order().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn more_than_keys_tell_apart_has_no_order_by_them() {
        let with_priorities = |count: usize| -> Vec<_> {
            let priority = |i| i32::try_from(i).unwrap_or(i32::MAX);
            (0..count)
                .map(|i| ChildClaim {
                    priority: priority(i),
                    ..claim(i, of(0))
                })
                .collect()
        };
        let most = with_priorities(MOST_PRIORITIES);
        let last = most.last().map(|claim| claim.child);
        assert_eq!(Ranks::new(1, Some(&most)).first(), last);
        let more = with_priorities(MOST_PRIORITIES + 1);
        assert_eq!(Ranks::new(1, Some(&more)).first(), None);
        let alike: Vec<_> = (0..=MOST).map(|i| claim(i, of(0))).collect();
        assert_eq!(
            Ranks::new(1, Some(&alike[..MOST])).first(),
            Some(alike[0].child)
        );
        assert_eq!(Ranks::new(1, Some(&alike)).first(), None);
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_whatever_moves(
            uses in prop::collection::vec(0..5_u8, 1..20),
            moves in prop::collection::vec((0..20_usize, 0..5_u8), 0..40)
        ) {
            let mut claims: Vec<_> = uses
                .iter()
                .enumerate()
                .map(|(place, &quarters)| claim(place, of(quarters)))
                .collect();
            let mut ranks = Ranks::new(1, Some(&claims));
            for (place, quarters) in moves {
                let mut order = claims.clone();
                order.sort_by(|a, b| {
                    a.of.idle.cmp(&b.of.idle).then(a.of.used.total_cmp(&b.of.used))
                });
                prop_assert_eq!(ranks.first(), order.first().map(|claim| claim.child));
                let visited = order.iter().filter(|claim| !claim.of.idle);
                prop_assert!(ranks.in_order().eq(visited.map(|claim| claim.child)));
                ranks.follow(place, of(quarters));
                if let Some(claim) = claims.get_mut(place) {
                    claim.of = of(quarters);
                }
            }
        }

        #[test]
        fn a_child_without_a_place_moves_nobody(place in prop_oneof![1..4_usize, Just(usize::MAX)]) {
            let mut nobody = Ranks::new(1, None);
            nobody.follow(place, of(2));
            prop_assert_eq!(nobody.first(), None);
            let mut one = Ranks::new(1, Some(&[claim(0, of(0))]));
            one.follow(place, of(2));
            prop_assert_eq!(one.first(), Some(QueueSlot(100)));
        }
    }
}
