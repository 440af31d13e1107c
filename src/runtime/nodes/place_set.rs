//! A set of places in an order of nodes.

use std::ops::Range;

/// A set of places.
#[derive(Clone, Debug, Default)]
pub(super) struct PlaceSet {
    words: Vec<u64>,
    /// How many places are in the set.
    len: u64,
}

impl PlaceSet {
    pub(super) fn of(len: usize) -> Self {
        let words = vec![0; len.div_ceil(64)];
        Self { words, len: 0 }
    }

    pub(super) fn set(&mut self, place: usize, is_in: bool) {
        let (word, bit) = (&mut self.words[place / 64], 1 << (place % 64));
        match (*word & bit != 0, is_in) {
            (false, true) => self.len += 1,
            (true, false) => self.len -= 1,
            _ => return,
        }
        *word ^= bit;
    }

    /// The words of a range, each with its first place and without what is out of the range.
    fn words(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        let first = range.start / 64;
        let end = range.end.div_ceil(64).max(first);
        // Nothing is found in an empty set.
        let end = if self.len == 0 { first } else { end };
        self.words[first..end]
            .iter()
            .enumerate()
            .map(move |(i, &word)| {
                let base = (first + i) * 64;
                let low = u64::MAX << range.start.saturating_sub(base).min(63);
                let left = range.end - base;
                let high = if left < 64 { (1 << left) - 1 } else { u64::MAX };
                (base, word & low & high)
            })
    }

    /// The first place of a range that is in the set.
    pub(super) fn first(&self, range: Range<usize>) -> Option<usize> {
        let mut words = self.words(range).filter(|(_, word)| *word != 0);
        words
            .next()
            .map(|(base, word)| base + word.trailing_zeros() as usize)
    }

    /// The places of a range that are in the set, in order.
    pub(super) fn places(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        self.words(range).flat_map(|(base, mut word)| {
            std::iter::from_fn(move || {
                let place = (word != 0).then(|| base + word.trailing_zeros() as usize);
                word &= word.wrapping_sub(1);
                place
            })
        })
    }

    /// How many places of a range are in the set, and the last of them.
    pub(super) fn count(&self, range: Range<usize>) -> Option<(u64, usize)> {
        if range.start == 0 && range.end.div_ceil(64) == self.words.len() {
            let mut words = self.words(range.clone()).rev();
            let (base, word) = words.find(|(_, word)| *word != 0)?;
            let last = base + 63 - word.leading_zeros() as usize;
            let behind = self.words(range.end..self.words.len() * 64);
            let behind: u32 = behind.map(|(_, word)| word.count_ones()).sum();
            return Some((self.len - u64::from(behind), last));
        }
        let (mut count, mut last) = (0, None);
        for (base, word) in self.words(range).filter(|(_, word)| *word != 0) {
            count += u64::from(word.count_ones());
            last = Some(base + 63 - word.leading_zeros() as usize);
        }
        last.map(|last| (count, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_range_are_found_and_counted_within_it_alone() {
        let mut places = PlaceSet::of(200);
        for place in [0, 63, 64, 127, 128, 199] {
            places.set(place, true);
        }
        for (range, first, count) in [
            (0..200, Some(0), Some((6, 199))),
            (1..200, Some(63), Some((5, 199))),
            (1..63, None, None),
            (64..128, Some(64), Some((2, 127))),
            (65..127, None, None),
            (128..129, Some(128), Some((1, 128))),
            (70..70, None, None),
            (200..200, None, None),
            (129..200, Some(199), Some((1, 199))),
        ] {
            assert_eq!(places.first(range.clone()), first, "{range:?}");
            assert_eq!(places.count(range.clone()), count, "{range:?}");
            let listed: Vec<_> = places.places(range).collect();
            let ends = |count: (u64, usize)| (usize::try_from(count.0).unwrap(), count.1);
            assert_eq!(listed.first().copied(), first);
            let listed = listed.last().map(|&last| (listed.len(), last));
            assert_eq!(listed, count.map(ends));
        }
        places.set(63, false);
        assert_eq!(places.first(1..200), Some(64));
    }
}
