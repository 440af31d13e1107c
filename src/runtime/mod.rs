//! The runtime: who runs rounds, on which threads. Modes with a committer and proposers, and one without threads.

mod attempts;
mod committer;
mod handles;
mod node_rounds;
mod nodes;
mod parts;
mod proposer;
mod sequential;
mod testing;
mod time_slicing;

pub use handles::engine::Threaded;
pub use handles::event_reader::DeliveredEvents;
pub use handles::monitor::{Access, Monitor};
pub use handles::start::{Mode, Placement, Running, StartError};
pub use proposer::stopwatch::Latencies;
pub use sequential::{Attempt, Sequential};
pub use testing::accounts::{Accounts, CommittedDecision, Intent};
#[doc(hidden)]
pub use testing::fault_injection::BadProposals;
pub use testing::pipeline::{Pipeline, TurnOutcome};
