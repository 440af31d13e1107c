//! Allocation tags and the placement constraints that read them.
//!
//! Tests: `tests/commit/scheduling_requests.rs`.

use std::sync::Arc;

use crate::id::{AppSlot, Map, SchedulerKey};
use crate::policy::ConstraintRegistry;
use crate::queue::ConstrainedKey;

/// What the ledger keeps for placement constraints.
#[derive(Clone, Debug)]
pub(in crate::commit) struct PlacementTags {
    /// Scheduling requests whose containers carry tags on nodes.
    tagged: Map<(AppSlot, SchedulerKey), Arc<ConstrainedKey>>,
    /// Constraints of applications and of the cluster.
    constraints: ConstraintRegistry,
}

impl Default for PlacementTags {
    fn default() -> Self {
        Self {
            tagged: Map::default(),
            constraints: ConstraintRegistry::new(),
        }
    }
}

impl PlacementTags {
    /// Notes that containers of a request carry tags on nodes.
    pub(in crate::commit) fn note(
        &mut self,
        app: AppSlot,
        key: SchedulerKey,
        fixed: Arc<ConstrainedKey>,
    ) {
        self.tagged.insert((app, key), fixed);
    }

    /// The request whose containers carry tags on nodes.
    pub(in crate::commit) fn of(
        &self,
        app: AppSlot,
        key: SchedulerKey,
    ) -> Option<&Arc<ConstrainedKey>> {
        self.tagged.get(&(app, key))
    }

    /// Forgets the requests of an application.
    pub(in crate::commit) fn forget_app(&mut self, app: AppSlot) {
        self.tagged.retain(|(owner, _), _| *owner != app);
    }

    /// Constraints of applications and of the cluster.
    pub(in crate::commit) fn constraints(&self) -> &ConstraintRegistry {
        &self.constraints
    }

    /// The same, to be changed.
    pub(in crate::commit) fn constraints_mut(&mut self) -> &mut ConstraintRegistry {
        &mut self.constraints
    }
}
