//! Latency histograms: 1 ns to 60 s at three digits, one per variant of a closed enum.

#![expect(
    clippy::float_arithmetic,
    reason = "quantiles and means for display; nothing decides by them"
)]

use std::fmt;
use std::marker::PhantomData;

use crate::metrics::Closed;

const HIGHEST_NS: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

/// Latencies in nanoseconds; takes 221 KB. Values above 60 s count as 60 s.
#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS)
            .expect("the bounds and digits are constants within the limits of the format");
        Self { inner }
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.inner.saturating_record(ns);
    }

    /// Counts one latency `n` times, as when time is stamped once per batch.
    #[inline]
    pub fn record_n(&mut self, ns: u64, n: u64) {
        self.inner.saturating_record_n(ns, n);
    }

    /// Adds all latencies of another one.
    pub fn merge(&mut self, other: &Self) {
        self.inner
            .add(&other.inner)
            .expect("all histograms have the same bounds");
    }

    /// What was counted since this one was as `earlier`; nothing where that one has latencies that this one
    /// has not.
    ///
    /// Cost: a copy.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        match since.inner.subtract(&earlier.inner) {
            Ok(()) => since,
            Err(_) => Self::new(),
        }
    }

    /// Latencies from one up to another in ns, both included, as far as three digits distinguish them.
    ///
    /// Cost: proportional to the buckets in between.
    #[must_use]
    pub fn count_between(&self, low_ns: u64, high_ns: u64) -> u64 {
        self.inner.count_between(low_ns, high_ns)
    }

    /// Forgets all latencies and keeps the memory.
    pub fn clear(&mut self) {
        self.inner.reset();
    }

    /// Latencies counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.inner.len()
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The latency (ns) that the given share of all latencies, 0 to 1, does not exceed; accurate
    /// to three digits.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        self.inner.value_at_quantile(share)
    }

    /// The figures of a report.
    #[must_use]
    pub fn latency(&self) -> Latency {
        Latency {
            n: self.len(),
            mean: self.inner.mean(),
            min: self.inner.min(),
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            p9999: self.quantile(0.9999),
            max: self.inner.max(),
        }
    }

    pub(super) fn inner(&self) -> &hdrhistogram::Histogram<u64> {
        &self.inner
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The figures of a histogram, in nanoseconds; all zero when nothing was counted.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Latency {
    /// Latencies counted.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub min: u64,
    /// Half of them do not exceed this.
    pub p50: u64,
    /// 90 in 100 do not exceed this.
    pub p90: u64,
    /// 99 in 100 do not exceed this.
    pub p99: u64,
    /// 999 in 1,000 do not exceed this.
    pub p999: u64,
    /// 9,999 in 10,000 do not exceed this.
    pub p9999: u64,
    /// The greatest.
    pub max: u64,
}

/// The figures in microseconds, the tail included.
impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: u64| std::time::Duration::from_nanos(ns).as_secs_f64() * 1e6;
        write!(
            f,
            "n={} p50={:.1} p90={:.1} p99={:.1} p99.9={:.1} p99.99={:.1} max={:.1} us",
            self.n,
            us(self.p50),
            us(self.p90),
            us(self.p99),
            us(self.p999),
            us(self.p9999),
            us(self.max)
        )
    }
}

/// A histogram for each variant, made when its first latency comes.
#[derive(Clone, Debug)]
pub struct HistogramSet<P> {
    histograms: Vec<Option<Box<Histogram>>>,
    of: PhantomData<P>,
}

impl<P: Closed> HistogramSet<P> {
    /// A set without latencies.
    #[must_use]
    pub fn new() -> Self {
        Self {
            histograms: vec![None; P::ALL.len()],
            of: PhantomData,
        }
    }

    /// Counts a latency `n` times.
    #[inline]
    pub fn record_n(&mut self, phase: P, ns: u64, n: u64) {
        self.slot(phase).record_n(ns, n);
    }

    /// The latencies of one variant, if it has any.
    #[must_use]
    pub fn get(&self, phase: P) -> Option<&Histogram> {
        let made = self.histograms[phase.index()].as_deref();
        made.filter(|histogram| !histogram.is_empty())
    }

    /// The variants that have latencies, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (P, &Histogram)> {
        let all = P::ALL.iter();
        all.filter_map(|&phase| Some((phase, self.get(phase)?)))
    }

    /// Adds all latencies of another set.
    pub fn merge(&mut self, other: &Self) {
        for (phase, theirs) in other.iter() {
            self.slot(phase).merge(theirs);
        }
    }

    /// What was counted since this set was as `earlier`, as [`Histogram::since`].
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = Self::new();
        for (phase, histogram) in self.iter() {
            let fresh = match earlier.get(phase) {
                Some(earlier) => histogram.since(earlier),
                None => histogram.clone(),
            };
            since.slot(phase).merge(&fresh);
        }
        since
    }

    /// Forgets all latencies and keeps the memory.
    pub fn clear(&mut self) {
        for histogram in self.histograms.iter_mut().flatten() {
            histogram.clear();
        }
    }

    /// Whether no variant has a latency.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    fn slot(&mut self, phase: P) -> &mut Histogram {
        self.histograms[phase.index()].get_or_insert_default()
    }
}

impl<P: Closed> Default for HistogramSet<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Phase;

    #[test]
    fn quantiles_are_exact_to_three_digits() {
        let mut histogram = Histogram::new();
        for ns in 1..=100_000 {
            histogram.record(ns);
        }
        let latency = histogram.latency();
        assert_eq!((latency.n, latency.min), (100_000, 1));
        for (found, exact) in [(latency.p50, 50_000_u64), (latency.p99, 99_000)] {
            assert!(
                found.abs_diff(exact) <= exact / 1_000,
                "{found} for {exact}"
            );
        }
    }

    #[test]
    fn a_latency_out_of_range_counts_as_the_highest() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        let max = histogram.latency().max;
        assert!((HIGHEST_NS..=HIGHEST_NS + HIGHEST_NS / 1_000).contains(&max));
    }

    #[test]
    fn an_empty_histogram_has_zero_figures() {
        assert_eq!(Histogram::new().latency(), Latency::default());
    }

    #[test]
    fn merging_sets_adds_variant_by_variant() {
        let (mut sum, mut other) = (HistogramSet::new(), HistogramSet::new());
        sum.record_n(Phase::NodePick, 10, 2);
        other.record_n(Phase::NodePick, 20, 1);
        other.record_n(Phase::Apply, 30, 4);
        sum.merge(&other);
        let lens: Vec<_> = sum.iter().map(|(phase, h)| (phase, h.len())).collect();
        assert_eq!(lens, [(Phase::NodePick, 3), (Phase::Apply, 4)]);
        sum.clear();
        assert!(sum.is_empty());
    }
}
