//! Seeded random numbers, counts of values with their quantiles, and rows by name.

mod numbered;
mod random;
mod tally;

pub(super) use numbered::Numbered;
pub use random::Random;
pub(super) use random::{mix, whole};
pub(super) use tally::Tally;
