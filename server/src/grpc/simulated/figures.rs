//! How long answers took.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Longest time that is recorded, in us.
const LONGEST_US: u64 = 600_000_000;

/// Times of answers, to three digits.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Option<Histogram<u64>>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            // The bounds are constant and valid.
            histogram: Histogram::new_with_max(LONGEST_US, 3).ok(),
        }
    }
}

impl Latencies {
    pub(super) fn record(&mut self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(us);
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        if let (Some(own), Some(other)) = (&mut self.histogram, &other.histogram) {
            // Both have the same bounds.
            let _ = own.add(other);
        }
    }

    /// Answers.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// The time that so many of a thousand answers did not exceed, in us.
    #[must_use]
    #[expect(clippy::float_arithmetic, reason = "percentiles are for people")]
    pub fn at_permille(&self, permille: u32) -> u64 {
        let histogram = self.histogram.as_ref();
        histogram.map_or(0, |of| of.value_at_quantile(f64::from(permille) / 1000.0))
    }

    /// Count, and percentiles in us.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "count": self.count(),
            "p50_us": self.at_permille(500),
            "p99_us": self.at_permille(990),
            "p999_us": self.at_permille(999),
            "max_us": self.at_permille(1000),
        })
    }
}
