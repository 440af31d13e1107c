//! The structs and numbers that cross the border; a later version only adds to their ends.

pub mod numbers;
pub mod records;

pub use numbers::*;
pub use records::*;
