//! Time slicing: long work pauses after each slice, for threads that share their cores with others.
//!
//! A thread that wakes may take its core from a thread with calls, and the OS may leave it there for milliseconds. The
//! work is counted in items; every few items it looks at the clock, and pauses when its slice is over. Sorting is
//! split into runs and a merge, so that no step takes longer than a slice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::time::Clock;

/// How long a slice takes, in ns, and a little more.
const SLICE_NS: u64 = 100_000;

/// Items between two looks at the clock: most take no more than some 0.2 us.
const LOOK: usize = 64;

/// Items that are sorted at once, which takes some 20 us.
pub(super) const RUN: usize = 512;

/// Work that makes a pause when it took so long, counted by the items that it dealt with.
#[derive(Debug)]
pub(super) struct TimeSlices<C, P> {
    clock: C,
    pause: P,
    /// When the present slice began.
    began_ns: u64,
    /// Items since the last look at the clock.
    dealt: usize,
}

impl<C: Clock, P: FnMut()> TimeSlices<C, P> {
    pub(super) fn new(clock: C, pause: P) -> Self {
        Self {
            began_ns: clock.now_ns(),
            clock,
            pause,
            dealt: 0,
        }
    }

    /// Begins a slice without a pause: whatever came before was no work.
    pub(super) fn begin(&mut self) {
        self.began_ns = self.clock.now_ns();
        self.dealt = 0;
    }

    /// Notes that so many items were dealt with, and ends the slice if it is time.
    pub(super) fn did(&mut self, items: usize) {
        self.dealt += items;
        if self.dealt < LOOK {
            return;
        }
        self.dealt = 0;
        if self.clock.now_ns().saturating_sub(self.began_ns) >= SLICE_NS {
            (self.pause)();
            self.begin();
        }
    }
}

/// Items of which each run is sorted.
#[derive(Debug)]
pub(super) struct Runs<T>(Vec<T>);

impl<T: Ord + Copy> Runs<T> {
    /// Takes items in; `did` is called with the length of each run.
    pub(super) fn of(
        mut items: impl ExactSizeIterator<Item = T>,
        did: &mut impl FnMut(usize),
    ) -> Self {
        let total = items.len();
        let mut runs = Vec::with_capacity(total);
        while runs.len() < total {
            let from = runs.len();
            runs.extend(items.by_ref().take(RUN));
            runs[from..].sort_unstable();
            did(runs.len() - from);
        }
        Self(runs)
    }

    /// The items in ascending order; equal ones in any. `did` is called for each, if there are several runs.
    pub(super) fn merge(self, did: &mut impl FnMut(usize)) -> Vec<T> {
        let Self(runs) = self;
        if runs.len() <= RUN {
            return runs;
        }
        let mut rest: Vec<_> = runs.chunks(RUN).map(<[T]>::iter).collect();
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
            did(1);
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::ManualClock;
    use proptest::prelude::*;
    use std::time::Duration;

    /// Items dealt with before each pause, where an item takes so long and a pause as long as a slice.
    fn pauses(items: usize, each_ns: u64) -> Vec<usize> {
        let (clock, dealt) = (ManualClock::default(), std::cell::Cell::new(0));
        let mut pauses = Vec::new();
        let mut slices = TimeSlices::new(clock.clone(), || {
            pauses.push(dealt.get());
            clock.advance(Duration::from_nanos(SLICE_NS));
        });
        // What came before the work counts on no slice.
        clock.advance(Duration::from_nanos(SLICE_NS));
        slices.begin();
        for _ in 0..items {
            clock.advance(Duration::from_nanos(each_ns));
            dealt.set(dealt.get() + 1);
            slices.did(1);
        }
        pauses
    }

    #[test]
    fn a_slice_ends_when_its_time_is_over_and_not_before() {
        assert!(pauses(1023, 100).is_empty());
        // Looks come every 64 items: the first one behind the thousandth is at 1,024.
        assert_eq!(pauses(3000, 100), [1024, 2048]);
        assert_eq!(pauses(200, SLICE_NS), [64, 128, 192]);
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_plain_sort(
            items in proptest::collection::vec(0_u16..999, 0..5 * RUN)
        ) {
            let mut plain = items.clone();
            plain.sort_unstable();
            let mut most = 0;
            let mut did = |items| most = most.max(items);
            let sorted = Runs::of(items.into_iter(), &mut did).merge(&mut did);
            prop_assert!(most <= RUN);
            prop_assert_eq!(sorted, plain);
        }
    }
}
