//! Modes: who runs rounds, on which threads.

mod committer;
mod handles;
mod nodes;
mod proposer;
mod sequential;
mod testing;
mod time_slicing;

pub use committer::fate::Fate;
pub use handles::engine::Threaded;
pub use handles::event_reader::Told;
pub use handles::monitor::{Access, Monitor};
pub use handles::start::{Mode, Placement, Running, StartError};
pub use proposer::stopwatch::Latencies;
pub use sequential::{Attempt, Sequential};
pub use testing::accounts::{Accounts, Intent, Step};
#[doc(hidden)]
pub use testing::fault_injection::BadProposals;
pub use testing::pipeline::{Pipeline, TurnOutcome};
