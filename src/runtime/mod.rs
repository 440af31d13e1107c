//! The runtime: who runs rounds, on which threads. Modes with a committer and proposers, and one without threads.
//!
//! # Without threads
//!
//! [`Sequential`] carries out every call and every attempt on the caller's thread. Proposal and commit take turns. Runs
//! repeat exactly, so that it is the basis of recordings, replays and simulation.
//!
//! # With threads
//!
//! [`Threaded`] is a handle. Behind it are one committer, which alone writes, any number of proposers, and a sorter.
//!
//! 1. A call becomes a command in the inbox of the committer (`handles`).
//! 2. The committer carries out commands and commits batches of proposals in turn (`committer`). It publishes snapshots
//!    and delivers events.
//! 3. A proposer decides on a working copy of the newest snapshot and sends batches (`proposer`).
//! 4. The sorter puts the nodes of a snapshot in order and publishes the index (`nodes`).
//!
//! # Cost
//!
//! A call waits for the command before it, and at most for one part of a long change (`long_changes`).

mod app_attempts;
mod attempts;
mod changes;
mod committer;
mod event_batch;
mod fetching;
mod handles;
mod label_refresh;
mod ledger_change;
mod long_changes;
mod node_changes;
mod node_rounds;
mod nodes;
mod operations;
mod panics;
mod parts;
mod prepared_refresh;
mod proposer;
mod sequential;
mod testing;
mod threaded_changes;
mod time_slicing;
mod trial;
mod waiting_events;

pub use handles::copies_in_passes::CopiedLook;
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
