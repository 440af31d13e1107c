//! Modes: who runs rounds, on which threads.

mod batch;
mod command;
mod committer;
mod engine;
mod index;
mod monitor;
mod proposing;
mod sequential;
mod view;

pub use committer::Fate;
pub use engine::{Mode, StartError, Threaded};
pub use monitor::{Access, Monitor};
pub use sequential::{Attempt, Sequential};
