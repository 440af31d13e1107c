//! Whether a live scheduler takes over a new configuration.
//!
//! Tests: `tests/inputs/queues.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::refresh_error::RefreshError;
use crate::commit::ledger::Ledger;
use crate::id::java_order;
use crate::queue::{
    Amounts, ConfiguredState, LegacyCapacity, PartitionSettings, Queue, QueueKind, QueueSettings,
    QueueState, TreeSettings,
};
use crate::resource::ResourceVector;
use crate::snapshot::State;

impl Ledger {
    /// Whether a new configuration could be taken over.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`].
    pub fn check_refresh(&self, settings: &TreeSettings) -> Result<(), RefreshError> {
        check_hierarchy(&self.state, settings)?;
        let dynamic = dynamic_settings(&self.state, settings)?;
        check_amounts(&self.state, settings, &dynamic)?;
        self.check_managed(settings)?;
        let below = by_parent(&settings.queues);
        for new in &settings.queues {
            let slot = self.registry.queue_at(&new.path);
            let Some(old) = slot.map(|slot| &self.state.queues[slot]) else {
                continue;
            };
            if old.is_leaf() {
                check_allocation(old, new)?;
            } else if settings.scheduler.legacy_queue_mode {
                let listed = below.get(&*new.path).map_or(&[][..], Vec::as_slice);
                let paths = old.children.iter();
                let paths = paths.map(|&child| &self.state.queues[child].settings.path);
                let dynamic: Vec<_> = paths.filter_map(|path| dynamic.get(path)).collect();
                check_children(&self.state, old, new, listed, &dynamic)?;
            }
        }
        Ok(())
    }
}

// As CapacitySchedulerQueueManager.validateQueueHierarchy.
fn check_queue(
    old: &Queue,
    new: Option<&QueueSettings>,
    settings: &TreeSettings,
) -> Result<(), RefreshError> {
    let path = || old.settings.path.to_string();
    let stops = settings.stopped.contains(&old.settings.path);
    let stopped = old.state == QueueState::Stopped || stops;
    let Some(new) = new else {
        return if stopped {
            Ok(())
        } else {
            Err(RefreshError::NotStopped(path()))
        };
    };
    if old.is_leaf() && new.kind != QueueKind::Leaf && !stopped {
        return Err(RefreshError::LeafNotStopped(path()));
    }
    let managed = |kind| kind == QueueKind::ManagedParent;
    if !old.is_leaf() && managed(old.settings.kind) != managed(new.kind) {
        return Err(RefreshError::KindChange(path()));
    }
    Ok(())
}

/// The largest allocation of a leaf does not shrink.
// As AbstractLeafQueue.reinitialize.
pub(in crate::commit) fn check_allocation(
    old: &Queue,
    new: &QueueSettings,
) -> Result<(), RefreshError> {
    let (before, after) = (&old.settings.maximum_allocation, &new.maximum_allocation);
    if new.kind == QueueKind::Leaf && !old.settings.dynamic && !before.fits_in(after) {
        return Err(RefreshError::AllocationDecreased(new.path.to_string()));
    }
    Ok(())
}

/// Queues below each path, in the order of their list.
pub(in crate::commit) fn by_parent(
    queues: &[QueueSettings],
) -> BTreeMap<&str, Vec<&QueueSettings>> {
    let mut children: BTreeMap<&str, Vec<&QueueSettings>> = BTreeMap::new();
    for queue in queues {
        if let Some(parent) = queue.parent_path() {
            children.entry(parent).or_default().push(queue);
        }
    }
    children
}

/// A parent without children counts as one of weights, which does not go with an absolute
/// capacity of its own. A parent that is new is not looked at.
// As AbstractParentQueue.reinitialize with setChildQueues.
fn check_childless(
    new: &QueueSettings,
    children: &[&QueueSettings],
    by_form: bool,
) -> Result<(), RefreshError> {
    let absolute = |part: &PartitionSettings| matches!(part.capacity.legacy, LegacyCapacity::Absolute(amount) if by_form || !amount.is_none());
    let waits = children.is_empty();
    if waits && &*new.path != "root" && new.partitions.values().any(absolute) {
        return Err(RefreshError::AbsoluteAboveWeights(new.path.to_string()));
    }
    Ok(())
}

/// Children of one parent, in the order that they end up in, go by one mode. The new tree was
/// checked in the order of its list before; since an absolute value makes the percentages before
/// it forgotten, what passed there may fail here.
// As AbstractParentQueue.getCapacityConfigurationTypeForQueues at the end of a reinitialization.
fn check_modes(
    new: &QueueSettings,
    children: &[&QueueSettings],
    by_form: bool,
) -> Result<(), RefreshError> {
    let (mut percent, mut weight, mut absolute) = (false, false, false);
    for child in children {
        let parts = new.partitions.keys();
        for part in parts.filter_map(|label| child.partitions.get(label)) {
            match part.capacity.legacy {
                LegacyCapacity::Percent(share) => percent |= share > 0.0,
                LegacyCapacity::Weight(_) => weight = true,
                LegacyCapacity::Absolute(amount) if by_form || !amount.is_none() => {
                    (absolute, percent) = (true, false);
                }
                LegacyCapacity::Absolute(_) | LegacyCapacity::Unusable => {}
            }
        }
    }
    if u8::from(percent) + u8::from(weight) + u8::from(absolute) > 1 {
        return Err(RefreshError::MixedModes(new.path.to_string()));
    }
    Ok(())
}

/// Compares the absolute amounts of queues by their shares of the cluster.
pub(in crate::commit) fn check_amounts(
    state: &State,
    settings: &TreeSettings,
    dynamic: &BTreeMap<Arc<str>, QueueSettings>,
) -> Result<(), RefreshError> {
    let mut maximums: BTreeMap<(&str, &str), ResourceVector> = BTreeMap::new();
    for queue in settings.queues.iter().chain(dynamic.values()) {
        for (label, partition) in &queue.partitions {
            let above = queue.parent_path();
            let above = above.and_then(|path| maximums.get(&(path, &**label)));
            let (maximum, excesses) = Amounts::of(partition).check(
                state.calculator,
                &state.cluster,
                above.copied().unwrap_or_default(),
            );
            if let Some(excess) = excesses.into_iter().flatten().next() {
                return Err(RefreshError::Excess(
                    queue.path.to_string(),
                    Box::new(excess),
                ));
            }
            maximums.insert((&queue.path, label), maximum);
        }
    }
    Ok(())
}

/// What is checked before anything is set up anew.
// As CapacitySchedulerConfigValidator.validateQueueHierarchy, after the new tree was built.
pub(in crate::commit) fn check_hierarchy(
    state: &State,
    settings: &TreeSettings,
) -> Result<(), RefreshError> {
    check_amounts(state, settings, &BTreeMap::new())?;
    let mut states: BTreeMap<&str, QueueState> = BTreeMap::new();
    let mut new: BTreeMap<&str, &QueueSettings> = BTreeMap::new();
    for queue in &settings.queues {
        let above = match queue.parent_path() {
            Some(path) => *states
                .get(path)
                .ok_or_else(|| RefreshError::UnknownParent(queue.path.to_string()))?,
            None => QueueState::Running,
        };
        let state = match queue.state {
            Some(ConfiguredState::Running) if above != QueueState::Running => {
                return Err(RefreshError::RunningBelowStopped(queue.path.to_string()));
            }
            Some(ConfiguredState::Stopped) => QueueState::Stopped,
            Some(ConfiguredState::Running) => QueueState::Running,
            None => above,
        };
        states.insert(&queue.path, state);
        new.insert(&queue.path, queue);
    }
    let queues = state.subtree(State::ROOT);
    let queues = queues.into_iter().map(|slot| &state.queues[slot]);
    for old in queues.filter(|old| !old.settings.dynamic) {
        let new = new.get(old.settings.path.as_ref()).copied();
        check_queue(old, new, settings)?;
    }
    Ok(())
}

/// The children of a parent against it and against each other, in legacy mode.
// As AbstractParentQueue.setChildQueues at the end of a reinitialization.
pub(in crate::commit) fn check_children(
    state: &State,
    old: &Queue,
    new: &QueueSettings,
    listed: &[&QueueSettings],
    dynamic: &[&QueueSettings],
) -> Result<(), RefreshError> {
    if new.kind != QueueKind::Parent {
        return Ok(());
    }
    let by_form = state.settings.rules.absolute_by_form;
    check_childless(new, listed, by_form)?;
    let children: Vec<_> = listed.iter().chain(dynamic).copied().collect();
    check_modes(new, &order_after(state, old, &children), by_form)
}

/// Settings of the queues that submissions created, as a refresh makes them anew.
fn dynamic_settings(
    state: &State,
    settings: &TreeSettings,
) -> Result<BTreeMap<Arc<str>, QueueSettings>, RefreshError> {
    let listed = settings.queues.iter().map(|queue| (&*queue.path, queue));
    let listed: BTreeMap<&str, &QueueSettings> = listed.collect();
    let mut dynamic: BTreeMap<Arc<str>, QueueSettings> = BTreeMap::new();
    for slot in state.subtree(State::ROOT) {
        let row = &state.queues[slot];
        let own = &row.settings;
        if !own.dynamic || listed.contains_key(&*own.path) {
            continue;
        }
        let above = |path| listed.get(path).copied().or_else(|| dynamic.get(path));
        // Without its parent there is no such queue any more.
        if let Some(parent) = own.parent_path().and_then(above) {
            let made = settings
                .templates
                .dynamic(parent, own.name(), row.is_leaf());
            let refused = || RefreshError::CreatedQueue(own.path.to_string());
            dynamic.insert(Arc::clone(&own.path), made.ok_or_else(refused)?);
        }
    }
    Ok(dynamic)
}

/// The children of a parent in the order that a refresh leaves them in.
fn order_after<'a>(
    state: &State,
    old: &Queue,
    children: &[&'a QueueSettings],
) -> Vec<&'a QueueSettings> {
    let hash = |queue: &&QueueSettings| java_order::string_hash(&queue.path);
    let mut new = children.to_vec();
    java_order::sort(&mut new, 0, hash);
    let slots = old.children.iter();
    let known: Vec<&str> = slots
        .map(|&child| &*state.queues[child].settings.path)
        .collect();
    let place = |queue: &&QueueSettings| known.iter().position(|path| *path == &*queue.path);
    // Known ones keep their places, new ones follow.
    new.sort_by_key(|queue| place(queue).unwrap_or(known.len()));
    let added = new.iter().filter(|queue| place(queue).is_none()).count();
    java_order::sort(&mut new, known.len() + added, hash);
    new
}
