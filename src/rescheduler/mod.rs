//! Preemption: who uses more than its share, and which containers are asked back or killed for it.
//!
//! A round is a pure function of a [`RoundInput`], the [`Settings`] and a [`Memory`] of what was asked
//! back when. It yields verdicts, which are commands to the ledger like everybody else's.
//!
//! # Invariants
//!
//! * Nothing here changes the state; what a round learns by looking is handed on as observations.
//! * One budget bounds everything that a round selects, over all selectors and partitions.
//! * A container is killed only in a round that selects it again after its wait is over.

mod explain;
mod extract;
mod fifo;
mod holdings;
mod hungry;
mod ideal;
mod intra;
mod order;
mod policy;
mod priority;
mod quota;
mod records;
mod reserved;
mod round;
mod scene;
mod settings;
mod view;

pub use explain::{AppVerdict, AskedBack, WhyNot};
pub use policy::{Rescheduler, Taken};
pub use round::{Memory, RoundPlan, plan};
pub use settings::{IntraQueueOrder, IntraQueueSettings, QueuePrioritySettings, Settings};
pub use view::{
    LimitLookup, RoundApp, RoundContainer, RoundInput, RoundLeaf, RoundNode, RoundQueue,
    RoundQueuePart, RoundUser,
};

#[cfg(test)]
mod tests;
