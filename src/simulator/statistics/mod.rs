//! Seeded random numbers, and counts of values with their quantiles.

mod random;
mod tally;

pub use random::Random;
pub(super) use random::{mix, whole};
pub(super) use tally::Tally;
