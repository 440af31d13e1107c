//! Modes: who runs rounds, on which threads.

mod batch;
mod command;
mod committer;
mod cores;
mod engine;
mod garble;
mod index;
mod monitor;
mod pipeline;
mod proposing;
mod sequential;
mod start;
mod stopwatch;
mod view;

pub use committer::Fate;
pub use engine::Threaded;
pub use monitor::{Access, Monitor};
pub use pipeline::{Accounts, Intent, Pipeline, Step, TurnOutcome};
pub use sequential::{Attempt, Sequential};
pub use start::{Mode, Placement, Running, StartError};
pub use stopwatch::Latencies;
