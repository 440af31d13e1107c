//! Calm stretches of a run: tenths of a second in which the system took no core away.
//!
//! On a shared machine most of the tail of all latencies may be that of the neighbours. Beside it stands
//! that of the stretches in which no thread of this process lost its core, to whatever other thread, and
//! the machine lost none to other machines. What the engine's own threads did to each other is left out with
//! them, so that a figure needs the share of calm stretches beside it. What such a loss delayed may be seen in
//! the stretch after it, which is left out as well. Time lost to other machines is counted in hundredths of
//! a second, so that shorter losses may pass unseen. It is the driver that asks the system, and the time that
//! this takes is part of the latencies.

use std::fmt;

use capsched::metrics::Histogram;
use serde::Serialize;

use crate::machine;
use crate::record::Percentiles;

/// Length of a stretch, ns.
const STRETCH_NS: u64 = 100_000_000;

/// Latencies by stretch, while a run goes on.
#[derive(Debug)]
pub(crate) struct Calm {
    /// When the present stretch ends, ns.
    end_ns: u64,
    /// Latencies seen in it.
    present: Histogram,
    /// Latencies of the calm ones.
    calm: Histogram,
    stretches: u64,
    calm_stretches: u64,
    losses: u64,
    /// Whether the stretch before was disturbed.
    shaken: bool,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Found {
    /// Tenths of a second; one that was overslept counts once.
    stretches: u64,
    /// Those of them in which no core was lost, nor in the one before.
    calm_stretches: u64,
    /// Nothing where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    calm_latency_ns: Option<Percentiles>,
    #[serde(skip)]
    figures: String,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (calm, all) = (self.calm_stretches, self.stretches);
        if calm == 0 {
            return write!(f, "none of {all} tenths of a second was calm");
        }
        write!(
            f,
            "{calm} of {all} tenths of a second calm: {}",
            self.figures
        )
    }
}

impl Calm {
    /// From a moment on.
    pub(crate) fn new(from_ns: u64) -> Self {
        Self {
            end_ns: from_ns + STRETCH_NS,
            present: Histogram::new(),
            calm: Histogram::new(),
            stretches: 0,
            calm_stretches: 0,
            losses: machine::core_losses(),
            // What came before is not known.
            shaken: true,
        }
    }

    /// Counts a latency that was seen in the present stretch.
    pub(crate) fn record(&mut self, latency_ns: u64) {
        self.present.record(latency_ns);
    }

    /// Ends the present stretch when it is time.
    ///
    /// Cost: once in a stretch, a look at what the system reports of each thread.
    pub(crate) fn tend(&mut self, now_ns: u64) {
        if now_ns >= self.end_ns {
            self.end_stretch(machine::core_losses());
            // A stretch that was overslept is one stretch.
            self.end_ns = now_ns + STRETCH_NS;
        }
    }

    /// Ends a stretch, by when so many cores were lost since the system started.
    fn end_stretch(&mut self, losses: u64) {
        let lost = std::mem::replace(&mut self.losses, losses) != losses;
        self.stretches += 1;
        if !lost && !self.shaken {
            self.calm_stretches += 1;
            self.calm.merge(&self.present);
        }
        self.shaken = lost;
        self.present.clear();
    }

    /// What was found; the stretch that has not ended is left out.
    pub(crate) fn finish(&self) -> Found {
        Found {
            stretches: self.stretches,
            calm_stretches: self.calm_stretches,
            calm_latency_ns: (self.calm_stretches > 0).then(|| Percentiles::of(&self.calm)),
            figures: self.calm.latency().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_counts_where_no_core_was_lost_in_it_nor_in_the_one_before() {
        let mut calm = Calm::new(0);
        assert_eq!(
            calm.finish().to_string(),
            "none of 0 tenths of a second was calm"
        );
        calm.losses = 7;
        for (latency_ns, losses) in [(1, 7), (2, 7), (3, 8), (4, 8), (5, 8), (6, 8)] {
            calm.record(latency_ns);
            calm.end_stretch(losses);
        }
        assert_eq!((calm.stretches, calm.calm_stretches), (6, 3));
        let latency = calm.calm.latency();
        // Of the 2nd, the 5th and the 6th.
        assert_eq!((latency.n, latency.min, latency.max), (3, 2, 6));
        assert!(
            calm.finish()
                .to_string()
                .starts_with("3 of 6 tenths of a second calm: n=3")
        );
    }

    #[test]
    fn a_stretch_ends_when_it_is_time() {
        let mut calm = Calm::new(50);
        calm.tend(50 + STRETCH_NS - 1);
        assert_eq!(calm.stretches, 0);
        calm.tend(50 + 5 * STRETCH_NS);
        assert_eq!((calm.stretches, calm.end_ns), (1, 50 + 6 * STRETCH_NS));
    }
}
