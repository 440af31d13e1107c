//! A long sort a piece at a time, for threads that share their cores with others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Items between two pauses, some 0.1 us each.
pub(super) const PIECE: usize = 1024;

/// Items of which each piece is sorted.
#[derive(Debug)]
pub(super) struct Runs<T>(Vec<T>);

impl<T: Ord + Copy> Runs<T> {
    /// Takes items in. There is a pause after each piece, unless one holds them all.
    pub(super) fn of(
        mut items: impl ExactSizeIterator<Item = T>,
        pause: &mut impl FnMut(),
    ) -> Self {
        let total = items.len();
        let mut runs = Vec::with_capacity(total);
        while runs.len() < total {
            let from = runs.len();
            runs.extend(items.by_ref().take(PIECE));
            runs[from..].sort_unstable();
            if total > PIECE {
                pause();
            }
        }
        Self(runs)
    }

    /// The items in ascending order; equal ones in any. There is a pause after each piece but the last.
    pub(super) fn merge(self, pause: &mut impl FnMut()) -> Vec<T> {
        let Self(runs) = self;
        if runs.len() <= PIECE {
            return runs;
        }
        let mut rest: Vec<_> = runs.chunks(PIECE).map(<[T]>::iter).collect();
        let firsts = rest.iter_mut().enumerate();
        let firsts = firsts.filter_map(|(run, rest)| Some(Reverse((*rest.next()?, run))));
        let mut heads: BinaryHeap<_> = firsts.collect();
        let mut merged = Vec::with_capacity(runs.len());
        while let Some(mut least) = heads.peek_mut() {
            let Reverse((head, run)) = *least;
            merged.push(head);
            if let Some(&next) = rest[run].next() {
                *least = Reverse((next, run));
            } else {
                PeekMut::pop(least);
            }
            if merged.len() % PIECE == 0 && merged.len() < runs.len() {
                pause();
            }
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pauses(total: usize) -> usize {
        let mut pauses = 0;
        let mut pause = || pauses += 1;
        let sorted = Runs::of((0..total).rev(), &mut pause).merge(&mut pause);
        assert!(sorted.into_iter().eq(0..total));
        pauses
    }

    #[test]
    fn there_is_a_pause_between_two_pieces() {
        assert_eq!([0, 1, PIECE].map(pauses), [0; 3]);
        assert_eq!(pauses(PIECE + 1), 2 + 1);
        assert_eq!(pauses(3 * PIECE), 3 + 2);
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_plain_sort(
            items in proptest::collection::vec(0_u16..999, 0..5 * PIECE)
        ) {
            let mut plain = items.clone();
            plain.sort_unstable();
            let sorted = Runs::of(items.into_iter(), &mut || ()).merge(&mut || ());
            prop_assert_eq!(sorted, plain);
        }
    }
}
