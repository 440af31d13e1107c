//! The runtime: who runs rounds, on which threads. Modes with a committer and proposers, and one without threads.

mod app_attempts;
mod attempts;
mod changes;
mod committer;
mod handles;
mod label_refresh;
mod long_changes;
mod node_rounds;
mod nodes;
mod operations;
mod panics;
mod parts;
mod proposer;
mod sequential;
mod testing;
mod time_slicing;
mod trial;

pub use handles::ending::EngineEnd;
pub use handles::engine::Threaded;
pub use handles::event_reader::{Awaited, DeliveredEvents};
pub use handles::event_stream::{EventStream, StreamTimeout};
pub use handles::looks::CallError;
pub use handles::monitor::{Access, Monitor};
pub use handles::start::{Mode, NodeSorting, Placement, Running, StartError};
pub use panics::{PanicCause, WorkerPanics};
pub use proposer::stopwatch::Latencies;
pub use sequential::{Attempt, Sequential};
pub use testing::accounts::{Accounts, CommittedDecision, Intent};
#[doc(hidden)]
pub use testing::desk::{Desk, DeskAnswer};
#[doc(hidden)]
pub use testing::fault_injection::BadProposals;
pub use testing::pipeline::{Pipeline, TurnOutcome};
