//! Modes: who runs rounds, on which threads.

mod command;
mod committer;
mod engine;
mod garble;
mod index;
mod pipeline;
mod proposing;
mod sequential;

pub use committer::Fate;
pub use engine::{Mode, StartError, Threaded};
pub use pipeline::{Accounts, Intent, Pipeline, Step, TurnOutcome};
pub use sequential::{Attempt, Sequential};
