//! Counters by closed enum: one writer, who pays a relaxed store, and readers at any time.

use std::fmt;
use std::marker::PhantomData;

use crate::metrics::Closed;
use crate::sync::{Arc, AtomicU64, Ordering};

/// A counter for each variant, all zero.
///
/// Each thread has its own; readers add them up by [`Counts::merge`].
#[must_use]
pub fn counters<E: Closed>() -> (CounterWriter<E>, CounterReader<E>) {
    let words: Words = Arc::new(E::ALL.iter().map(|_| AtomicU64::new(0)).collect());
    let reader = CounterReader {
        words: Arc::clone(&words),
        of: PhantomData,
    };
    let writer = CounterWriter {
        words,
        of: PhantomData,
    };
    (writer, reader)
}

/// Written by the one writer, read by anybody.
type Words = Arc<Vec<AtomicU64>>;

/// The handle of the thread that counts.
#[derive(Debug)]
pub struct CounterWriter<E> {
    words: Words,
    of: PhantomData<E>,
}

impl<E: Closed> CounterWriter<E> {
    /// Counts one event.
    #[inline]
    pub fn count(&mut self, event: E) {
        self.count_n(event, 1);
    }

    /// Counts `n` events; after 2^64 of them the counter starts anew.
    #[inline]
    pub fn count_n(&mut self, event: E, n: u64) {
        let word = &self.words[event.index()];
        // A load and a store suffice: this is the only handle that writes.
        let before = word.load(Ordering::Relaxed);
        word.store(before.wrapping_add(n), Ordering::Relaxed);
    }
}

/// A handle that looks at the counters of one writer.
#[derive(Clone, Debug)]
pub struct CounterReader<E> {
    words: Words,
    of: PhantomData<E>,
}

impl<E: Closed> CounterReader<E> {
    /// The counts at about this moment. While the writer runs they need not belong to one instant,
    /// so sums over variants are exact only at rest.
    #[must_use]
    pub fn read(&self) -> Counts<E> {
        let counts = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        Counts {
            counts: counts.collect(),
            of: PhantomData,
        }
    }
}

/// Counts taken from counters: plain values that can be added up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts<E> {
    counts: Vec<u64>,
    of: PhantomData<E>,
}

impl<E: Closed> Counts<E> {
    /// The count of one variant.
    #[must_use]
    pub fn get(&self, event: E) -> u64 {
        self.counts[event.index()]
    }

    /// The sum over all variants.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the counts of another writer.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.wrapping_add(*theirs);
        }
    }

    /// The events since an earlier reading of the same writers.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.counts.iter().zip(&earlier.counts);
        Self {
            counts: pairs.map(|(now, then)| now.wrapping_sub(*then)).collect(),
            of: PhantomData,
        }
    }

    /// Each variant with its count, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (E, u64)> {
        E::ALL.iter().map(|&event| (event, self.get(event)))
    }
}

impl<E: Closed> Default for Counts<E> {
    fn default() -> Self {
        Self {
            counts: vec![0; E::ALL.len()],
            of: PhantomData,
        }
    }
}

/// The variants that were met, as `name=count` joined by spaces.
impl<E: Closed> fmt::Display for Counts<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (event, count) in self.iter().filter(|(_, count)| *count > 0) {
            write!(f, "{separator}{}={count}", event.name())?;
            separator = " ";
        }
        Ok(())
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;
    use crate::metrics::Phase;

    #[test]
    fn a_reader_sees_what_the_writer_counted() {
        let (mut writer, reader) = counters();
        writer.count(Phase::Apply);
        writer.count_n(Phase::NodePick, 3);
        let counts = reader.read();
        assert_eq!(counts.get(Phase::Apply), 1);
        assert_eq!(counts.get(Phase::NodePick), 3);
        assert_eq!(counts.total(), 4);
        assert_eq!(counts.to_string(), "node-pick=3 apply=1");
    }

    #[test]
    fn counts_of_several_writers_add_up() {
        let (mut first, of_first) = counters();
        let (mut second, of_second) = counters();
        first.count(Phase::QueueOrder);
        second.count_n(Phase::QueueOrder, 2);
        let mut sum = Counts::default();
        sum.merge(&of_first.read());
        sum.merge(&of_second.read());
        assert_eq!(sum.get(Phase::QueueOrder), 3);
    }

    #[test]
    fn counts_since_an_earlier_reading_leave_that_out() {
        let (mut writer, reader) = counters();
        writer.count_n(Phase::Publish, 5);
        let earlier = reader.read();
        writer.count_n(Phase::Publish, 2);
        let since = reader.read().since(&earlier);
        assert_eq!((since.get(Phase::Publish), since.total()), (2, 2));
    }
}
