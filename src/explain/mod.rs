//! Why something waits: the reason, its evidence and the setting behind it, from a state alone.
//!
//! # Invariants
//!
//! * An explanation is a function of a state: nothing is recorded while the engine decides.
//! * Reasons have tiers. The lowest tier that applies is the reason; see [`Reason::tier`].
//! * Limits are those of the policy floor, so that an explanation and a decision agree.

mod finding;
mod nodes;
mod quota;
mod reason;
mod waiting;

pub use finding::{Finding, Waiting, amounts};
pub use reason::Reason;
pub use waiting::WaitExplainer;
