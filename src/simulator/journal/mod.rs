//! A journal of the calls to an engine, and snapshots made of it.
//!
//! An engine that runs step by step decides from its calls alone. The configuration and the calls up
//! to a moment are therefore the state at that moment, exactly: what comes next is decided equally.

mod call;
mod check;
mod container_line;
mod file;
mod gang_call;
mod head;
mod journaled;
mod opportunistic_call;
mod reduce;
mod submit_call;

pub use call::{AppCall, AskLine, Call, ChangeLine, ConstrainedLine, UpdateLine};
pub use container_line::ContainerLine;
pub use file::{SnapshotError, StateSnapshot};
pub use gang_call::GangCall;
pub use head::SnapshotHead;
pub use journaled::Journaled;
pub use opportunistic_call::OpportunisticCall;
pub use reduce::reduced;
pub use submit_call::SubmitCall;
