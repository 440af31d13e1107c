//! A gang that is placed.
//!
//! Tests: `tests/preemption/gangs.rs`.

use std::sync::Arc;

use crate::id::{AppSlot, ContainerId};

/// A gang of which the minimum was placed.
#[derive(Clone, Debug)]
pub(in crate::commit) struct PlacedGang {
    pub(super) app: AppSlot,
    pub(super) generation: u32,
    /// The containers of its minimum, ascending.
    pub(super) members: Arc<Vec<ContainerId>>,
}

impl PlacedGang {
    pub(super) fn new(app: AppSlot, generation: u32, mut members: Vec<ContainerId>) -> Self {
        members.sort_unstable();
        Self {
            app,
            generation,
            members: Arc::new(members),
        }
    }
}
