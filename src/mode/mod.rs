//! Modes: who runs rounds, on which threads.

mod sequential;

pub use sequential::{Attempt, Sequential};
