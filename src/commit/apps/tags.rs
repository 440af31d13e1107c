//! Allocation tags and the placement constraints that read them.
//!
//! Tests: `tests/commit/scheduling_requests.rs`.

use std::sync::Arc;

use crate::cluster::TagCount;
use crate::commit::containers::slot::ContainerSlot;
use crate::id::{AppSlot, Map, NodeSlot};
use crate::policy::ConstraintRegistry;
use crate::queue::ConstrainedKey;
use crate::snapshot::State;

/// What the ledger keeps for placement constraints.
#[derive(Clone, Debug)]
pub(in crate::commit) struct PlacementTags {
    /// Containers that take space and carry tags, each with the scheduling request that it was placed for: the key
    /// may have another one by the time that the container ends.
    tagged: Map<ContainerSlot, Arc<ConstrainedKey>>,
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
    /// Counts the tags of a container of an application on its node.
    pub(in crate::commit) fn count(
        &mut self,
        state: &mut State,
        (app, node): (AppSlot, NodeSlot),
        container: ContainerSlot,
        fixed: Arc<ConstrainedKey>,
    ) {
        let row = &state.apps[app];
        let (id, app_tags) = (row.id, Arc::clone(&row.submission.tags));
        let tags = &mut state.nodes[node].tags;
        for tag in &fixed.tags {
            let same = |known: &&mut TagCount| known.app == id && known.tag == *tag;
            match tags.iter_mut().find(same) {
                Some(known) => known.count += 1,
                None => tags.push(TagCount {
                    app: id,
                    app_tags: Arc::clone(&app_tags),
                    tag: Arc::clone(tag),
                    count: 1,
                }),
            }
        }
        self.tagged.insert(container, fixed);
    }

    /// Forgets a container whose space is free again. Its tags go with it once it was fetched; those of others are
    /// counted for ever.
    // As SchedulerNode.releaseContainer: a container has its tags from when it is fetched.
    pub(in crate::commit) fn release(
        &mut self,
        state: &mut State,
        (app, node): (AppSlot, NodeSlot),
        container: ContainerSlot,
        fetched: bool,
    ) {
        let Some(fixed) = self.tagged.remove(&container).filter(|_| fetched) else {
            return;
        };
        let id = state.apps[app].id;
        let tags = &mut state.nodes[node].tags;
        for tag in &fixed.tags {
            let same = |known: &TagCount| known.app == id && known.tag == *tag;
            if let Some(at) = tags.iter().position(same) {
                tags[at].count -= 1;
                if tags[at].count == 0 {
                    tags.swap_remove(at);
                }
            }
        }
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
