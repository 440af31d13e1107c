//! Allocation tags and the placement constraints that read them.
//!
//! Tests: `tests/commit/scheduling_requests.rs`.

use std::sync::Arc;

use crate::cluster::TagCount;
use crate::id::{AppSlot, Map, NodeSlot, SchedulerKey};
use crate::policy::ConstraintRegistry;
use crate::queue::ConstrainedKey;
use crate::snapshot::State;

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
    /// Counts the tags of a container on its node.
    pub(in crate::commit) fn count(
        &mut self,
        state: &mut State,
        app: AppSlot,
        key: SchedulerKey,
        node: NodeSlot,
        fixed: Arc<ConstrainedKey>,
    ) {
        let (id, app_tags) = (
            state.apps[app].id,
            Arc::clone(&state.apps[app].submission.tags),
        );
        let tags = &mut state.nodes[node].tags;
        for tag in &fixed.tags {
            match tags
                .iter_mut()
                .find(|known| known.app == id && known.tag == *tag)
            {
                Some(known) => known.count += 1,
                None => tags.push(TagCount {
                    app: id,
                    app_tags: Arc::clone(&app_tags),
                    tag: Arc::clone(tag),
                    count: 1,
                }),
            }
        }
        self.tagged.insert((app, key), fixed);
    }

    /// Forgets the tags of a container whose space is free again.
    pub(in crate::commit) fn uncount(
        &self,
        state: &mut State,
        app: AppSlot,
        key: SchedulerKey,
        node: NodeSlot,
    ) {
        let Some(fixed) = self.tagged.get(&(app, key)) else {
            return;
        };
        let id = state.apps[app].id;
        let tags = &mut state.nodes[node].tags;
        for tag in &fixed.tags {
            if let Some(at) = tags
                .iter()
                .position(|known| known.app == id && known.tag == *tag)
            {
                tags[at].count -= 1;
                if tags[at].count == 0 {
                    tags.swap_remove(at);
                }
            }
        }
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
