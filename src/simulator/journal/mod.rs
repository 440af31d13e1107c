//! A journal of the calls to an engine, and snapshots made of it.
//!
//! An engine that runs step by step decides from its calls alone. The configuration and the calls up
//! to a moment are therefore the state at that moment, exactly: what comes next is decided equally.

mod ask_lines;
mod call;
mod check;
mod container_line;
mod file;
mod gang_call;
mod head;
mod journaled;
mod opportunistic_call;
mod recovery_calls;
mod reduce;
mod snapshot_error;
mod submit_call;

pub use ask_lines::{AskLine, ChangeLine, ConstrainedLine, UpdateLine};
pub use call::{AppCall, Call};
pub use container_line::ContainerLine;
pub use file::StateSnapshot;
pub use gang_call::GangCall;
pub use head::{SnapshotHead, of_mode};
pub use journaled::Journaled;
pub use opportunistic_call::OpportunisticCall;
pub use recovery_calls::{RecoverCall, RegisterCall, RunningLine};
pub use reduce::reduced;
pub use snapshot_error::SnapshotError;
pub use submit_call::SubmitCall;
