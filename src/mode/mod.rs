//! Modes: who runs rounds, on which threads.

mod command;
mod committer;
mod engine;
mod index;
mod monitor;
mod proposing;
mod sequential;

pub use committer::Fate;
pub use engine::{Mode, StartError, Threaded};
pub use monitor::{Access, Monitor};
pub use sequential::{Attempt, Sequential};
