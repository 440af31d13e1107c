//! Modes: who runs rounds, on which threads.

mod accounts;
mod batch;
mod beats;
mod command;
mod committer;
mod cores;
mod dying;
mod ending;
mod engine;
mod fate;
#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod fixtures;
mod garble;
mod index;
mod lanes;
mod lending;
mod monitor;
mod pipeline;
mod proposing;
mod publishing;
mod reading;
mod resting;
mod restraint;
mod room;
mod round;
mod sequential;
mod sorting;
mod spot;
mod standing;
mod start;
mod stopwatch;
mod turns;
mod view;

pub use accounts::{Accounts, Intent, Step};
pub use engine::Threaded;
pub use fate::Fate;
#[doc(hidden)]
pub use garble::Nonsense;
pub use monitor::{Access, Monitor};
pub use pipeline::{Pipeline, TurnOutcome};
pub use reading::Told;
pub use sequential::{Attempt, Sequential};
pub use start::{Mode, Placement, Running, StartError};
pub use stopwatch::Latencies;
