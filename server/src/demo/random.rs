//! Numbers that look random and repeat for the same seed (SplitMix64).

/// A source of numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn of(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from a lowest to a highest one, both included.
    pub(super) fn within(&mut self, lowest: u64, highest: u64) -> u64 {
        let span = highest.saturating_sub(lowest).saturating_add(1);
        lowest + self.next() % span
    }

    /// True so many times of a hundred.
    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.within(1, 100) <= share
    }

    /// One of a list that is not empty.
    pub(super) fn one<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        let last = list.len().checked_sub(1)?;
        let at = self.within(0, last as u64);
        list.get(usize::try_from(at).ok()?)
    }
}
