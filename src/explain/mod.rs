//! Why something waits: the reason, its evidence and the setting behind it, from a state alone.
//!
//! # Invariants
//!
//! * An explanation is a function of a state: nothing is recorded while the engine decides.
//! * Reasons have tiers. The lowest tier that applies is the reason; see [`Reason::tier`].
//! * Limits are those of the policy floor, so that an explanation and a decision agree.

mod application;
mod evidence;
mod finding;
mod gang;
mod holders;
mod key;
mod node_check;
mod nodes;
mod on_its_way;
mod opportunistic;
mod order;
mod quota;
mod reason;
mod timeline;
mod waiting;

pub use application::{Explanation, explain};
pub use evidence::Evidence;
pub use finding::{Finding, Waiting, amounts, amounts_beside};
pub use gang::GangOfApp;
pub use holders::Holder;
pub use key::KeyExplanation;
pub use node_check::{KeyOnNode, NodeCheck, why_not};
pub use order::{OrderList, Position};
pub use reason::Reason;
pub use timeline::{Timeline, WaitSpan};
pub use waiting::{UnderWay, WaitExplainer};
