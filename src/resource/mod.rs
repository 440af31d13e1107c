//! Resource vectors and the two calculators with the exact rounding of the Capacity Scheduler.
//!
//! # Invariants
//!
//! * A [`ResourceVector`] holds one integer per resource type in the order of the cluster's list:
//!   memory in MiB, vcores, then the named extra types. Positions beyond that list are zero.
//! * Every conversion between integers and floats lives in [`share`]; no other floor computes with
//!   floats to decide about resources.
//! * Values enter as at most [`MAX_VALUE`], so that sums over a cluster cannot overflow an `i64`.

mod calculator;
mod divisor;
mod dominant;
mod packed;
pub mod share;
mod unit;
mod vector;

pub use calculator::Calculator;
pub(crate) use calculator::with_calculator;
pub use divisor::Divisor;
pub use packed::PackedVector;
pub use unit::ResourceUnit;
pub(crate) use vector::with_width;
pub use vector::{MAX_TYPES, MAX_VALUE, MEMORY, NARROW, ResourceVector, VCORES};
