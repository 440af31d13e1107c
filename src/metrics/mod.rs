//! What is counted and how long things take: counters by closed enum, latencies by phase.
//!
//! # Invariants
//!
//! * A hot thread writes only what it owns: a counter is one relaxed store, a latency goes into a
//!   histogram that nobody else sees. Merging is the reader's work.
//! * No sample and no count is lost: a hand-over that cannot be made is made later.
//! * Every reason is a variant of a closed enum and has its own counter ([`Closed`]).
//! * Latencies are nanoseconds. Where arrivals are scheduled, the caller measures from the intended
//!   time; nothing is corrected afterwards, because that would count a stall twice.

mod closed;
mod counters;
mod files;
mod histogram;
mod reading;
mod recorder;

pub use closed::{Closed, Phase};
pub use counters::{CounterReader, CounterWriter, Counts, counters};
pub use files::{Interval, write_csv, write_hgrm, write_hlog, write_tagged_hlog};
pub use histogram::{Histogram, HistogramSet, Latency};
pub use reading::{LogError, TaggedInterval, read_hlog};
pub use recorder::{Collector, Laps, Recorder, Sampler};
