//! How many decisions took how long, over the time of a run: the data of a heat map.

use std::collections::BTreeMap;
use std::time::Duration;

use capsched::metrics::TaggedInterval;
use serde::Serialize;

/// The phase that is shown: a whole decision.
const PHASE: &str = "propose";

/// Decisions by interval and latency.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct LatencyMap {
    /// Begins of the intervals in ms of wall time since that of the run.
    at_ms: Vec<u64>,
    /// Their lengths in ms. Intervals without a decision are left out.
    length_ms: Vec<u64>,
    /// Lower bounds of the rows in ns, each twice the one before; a row ends where the next begins.
    from_ns: Vec<u64>,
    /// Decisions by row and interval.
    counts: Vec<Vec<u64>>,
    /// The longest of each interval in ns.
    max_ns: Vec<u64>,
}

impl LatencyMap {
    /// Nothing where the log has fewer than two intervals with decisions.
    pub(super) fn of(intervals: &[TaggedInterval]) -> Option<Self> {
        let mut by_time: BTreeMap<u64, &TaggedInterval> = BTreeMap::new();
        for interval in intervals.iter().filter(|one| one.tag == PHASE) {
            by_time.insert(ms(interval.start), interval);
        }
        let latencies = || by_time.values().map(|one| one.latencies.latency());
        let with_any = || latencies().filter(|latency| latency.n > 0);
        if with_any().count() < 2 {
            return None;
        }
        let low = with_any().map(|latency| latency.min).min().unwrap_or(1);
        let high = with_any().map(|latency| latency.max).max().unwrap_or(1);
        let first = 1_u64 << low.max(1).ilog2();
        let rows = std::iter::successors(Some(first), |from| from.checked_mul(2));
        let from_ns: Vec<u64> = rows.take_while(|from| *from <= high).collect();
        let row = |from: &u64| {
            let end = from.saturating_mul(2).saturating_sub(1);
            let count = |one: &&TaggedInterval| one.latencies.count_between(*from, end);
            by_time.values().map(count).collect()
        };
        Some(Self {
            counts: from_ns.iter().map(row).collect(),
            at_ms: by_time.keys().copied().collect(),
            length_ms: by_time.values().map(|one| ms(one.length)).collect(),
            max_ns: latencies().map(|latency| latency.max).collect(),
            from_ns,
        })
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use capsched::metrics::Histogram;

    use super::*;

    fn interval(tag: &str, at_s: u64, values: &[u64]) -> TaggedInterval {
        let mut latencies = Histogram::new();
        values.iter().for_each(|ns| latencies.record(*ns));
        TaggedInterval {
            tag: tag.to_owned(),
            start: Duration::from_secs(at_s),
            length: Duration::from_secs(1),
            latencies,
        }
    }

    #[test]
    fn rows_are_powers_of_two_and_hold_every_decision() {
        let log = [
            interval("propose", 0, &[600, 700, 3_000]),
            interval("apply", 0, &[5]),
            interval("propose", 1, &[1_500]),
        ];
        let map = LatencyMap::of(&log).unwrap();
        assert_eq!((map.at_ms, map.length_ms), (vec![0, 1_000], vec![1_000; 2]));
        assert_eq!(map.from_ns, [512, 1_024, 2_048]);
        assert_eq!(map.counts, [[2, 0], [0, 1], [1, 0]]);
    }

    #[test]
    fn one_interval_is_no_course() {
        let log = [interval("propose", 0, &[600]), interval("propose", 1, &[])];
        assert_eq!(LatencyMap::of(&log), None);
    }
}
