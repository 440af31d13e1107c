//! Whether a live scheduler takes over a new configuration.
//!
//! Tests: `tests/inputs/queues.rs`.

use std::borrow::Borrow;
use std::sync::Arc;

use super::managed::check_managed_refresh;
use super::refresh_error::RefreshError;
use super::strays::strays;
use crate::id::{Map, QueueSlot, Set, java_order};
use crate::queue::{
    Amounts, ConfiguredState, LegacyCapacity, PartitionSettings, Queue, QueueKind, QueueSettings,
    QueueState, TreeSettings,
};
use crate::resource::{ResourceVector, share};
use crate::snapshot::State;

/// Whether a new configuration could be taken over.
pub(super) fn check_refresh(state: &State, settings: &TreeSettings) -> Result<(), RefreshError> {
    check_resource_types(state, settings)?;
    check_hierarchy(state, settings)?;
    let Some(root) = settings.queues.first() else {
        return Ok(());
    };
    let mut walk = Walk {
        state,
        settings,
        below: by_parent(&settings.queues),
        maximums: Map::default(),
    };
    walk.queue(State::ROOT, root)
}

/// Every amount of the engine has the types that it was built with.
fn check_resource_types(state: &State, settings: &TreeSettings) -> Result<(), RefreshError> {
    let (present, new) = (
        &state.settings.resource_types,
        &settings.scheduler.resource_types,
    );
    if present == new {
        return Ok(());
    }
    Err(RefreshError::ResourceTypes {
        present: present.join(", "),
        new: new.join(", "),
    })
}

/// A walk over the present queues in the order in which a refresh sets them up anew; the first
/// refusal ends it.
struct Walk<'a> {
    state: &'a State,
    settings: &'a TreeSettings,
    /// Listed queues by their parents.
    below: Map<&'a str, Vec<&'a QueueSettings>>,
    /// Maximum amounts by queue and label, of the queues that were visited and have some.
    maximums: Map<(String, Arc<str>), ResourceVector>,
}

impl Walk<'_> {
    // As AbstractParentQueue.reinitialize and AbstractLeafQueue.reinitialize.
    fn queue(&mut self, slot: QueueSlot, new: &QueueSettings) -> Result<(), RefreshError> {
        let old = &self.state.queues[slot];
        if old.is_leaf() {
            check_allocation(old, new)?;
            return self.amounts(new);
        }
        check_managed_refresh(self.state, slot, new)?;
        self.amounts(new)?;
        let mut listed = self.below.get(&*new.path).cloned().unwrap_or_default();
        let created = self.created(slot, new, &listed)?;
        java_order::sort(&mut listed, 0, |queue| java_order::string_hash(&queue.path));
        let children = by_path(self.state, &old.children);
        for queue in &listed {
            let known = children.get(&*queue.path).copied();
            // A queue that changes between leaf and parent is taken as a new one.
            let kept = known.filter(|&child| {
                self.state.queues[child].is_leaf() == (queue.kind == QueueKind::Leaf)
            });
            match kept {
                Some(child) => self.queue(child, queue)?,
                None => self.added(queue)?,
            }
        }
        if !self.settings.scheduler.legacy_queue_mode {
            return Ok(());
        }
        check_created_modes(self.state, new, &created)?;
        let created: Vec<&QueueSettings> = created.iter().collect();
        check_children(self.state, old, new, &listed, &created)
    }

    /// The children that submissions created, as the templates make them anew.
    fn created(
        &mut self,
        parent: QueueSlot,
        new: &QueueSettings,
        listed: &[&QueueSettings],
    ) -> Result<Vec<QueueSettings>, RefreshError> {
        let state = self.state;
        let mut children = state.queues[parent].children.clone();
        let path = |child: &QueueSlot| &*state.queues[*child].settings.path;
        java_order::sort(&mut children, 0, |child| {
            java_order::string_hash(path(child))
        });
        let listed = paths(listed);
        children
            .retain(|child| state.queues[*child].settings.dynamic && !listed.contains(path(child)));
        let mut made = Vec::with_capacity(children.len());
        for child in children {
            let row = &state.queues[child];
            let name = row.settings.name();
            let settings = self.settings.templates.dynamic(new, name, row.is_leaf());
            let refused = |code| RefreshError::CreatedQueue(row.settings.path.to_string(), code);
            let settings = settings.map_err(refused)?;
            self.queue(child, &settings)?;
            made.push(settings);
        }
        Ok(made)
    }

    /// A queue that is new is set up already, and so are those below it.
    fn added(&mut self, queue: &QueueSettings) -> Result<(), RefreshError> {
        self.amounts(queue)?;
        for below in self.below.get(&*queue.path).cloned().unwrap_or_default() {
            self.added(below)?;
        }
        Ok(())
    }

    /// Compares the absolute amounts of a queue by their shares of the cluster.
    // As AbstractCSQueue.updateConfigurableResourceLimits.
    fn amounts(&mut self, queue: &QueueSettings) -> Result<(), RefreshError> {
        for (label, partition) in &queue.partitions {
            let above = self.maximum_above(queue, label);
            let (calculator, cluster) = (self.state.calculator, &self.state.cluster);
            let (maximum, excesses) = Amounts::of(partition).check(calculator, cluster, above);
            if let Some(excess) = excesses.into_iter().flatten().next() {
                let path = queue.path.to_string();
                return Err(RefreshError::Excess(path, Box::new(excess)));
            }
            if !maximum.is_none() || !self.maximums.is_empty() {
                let key = (queue.path.to_string(), Arc::clone(label));
                self.maximums.insert(key, maximum);
            }
        }
        Ok(())
    }

    /// The maximum amount of the parent of a queue, which most have not.
    fn maximum_above(&self, queue: &QueueSettings, label: &Arc<str>) -> ResourceVector {
        if self.maximums.is_empty() {
            return ResourceVector::NONE;
        }
        let above = queue.parent_path().unwrap_or_default().to_owned();
        let above = self.maximums.get(&(above, Arc::clone(label)));
        above.copied().unwrap_or_default()
    }
}

// As CapacitySchedulerQueueManager.validateQueueHierarchy.
fn check_queue(
    old: &Queue,
    new: Option<&QueueSettings>,
    settings: &TreeSettings,
) -> Result<(), RefreshError> {
    let path = || old.settings.path.to_string();
    let stops = settings.stopped.contains(&*old.settings.path);
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
pub(in crate::commit) fn by_parent<Q: Borrow<QueueSettings>>(queues: &[Q]) -> Map<&str, Vec<&Q>> {
    let mut children: Map<&str, Vec<&Q>> = Map::default();
    for queue in queues {
        let settings: &QueueSettings = queue.borrow();
        if let Some(parent) = settings.parent_path() {
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

/// The leaves of a managed parent go by one mode on all labels. A percentage counts where the leaf
/// has it: the refresh takes it from leaves without applications.
// As AbstractParentQueue.getCapacityConfigurationTypeForQueues when resources are divided.
fn check_created_modes(
    state: &State,
    new: &QueueSettings,
    created: &[QueueSettings],
) -> Result<(), RefreshError> {
    if new.kind != QueueKind::ManagedParent {
        return Ok(());
    }
    let has = |leaf: &QueueSettings, mode: fn(&LegacyCapacity) -> bool| {
        let mut parts = leaf.partitions.values();
        parts.any(|part| mode(&part.capacity.legacy))
    };
    let is_used = |leaf: &QueueSettings| {
        let mut queues = state.queues.iter().filter(|row| !row.removed);
        let row = queues.find(|row| row.settings.path == leaf.path && row.is_leaf());
        row.is_some_and(|row| {
            let leaf = row.as_leaf();
            !leaf.active.is_empty() || !leaf.waiting.is_empty()
        })
    };
    let weighs = |leaf: &QueueSettings| has(leaf, |mode| matches!(mode, LegacyCapacity::Weight(_)));
    let shares = |leaf: &QueueSettings| {
        let percent =
            |mode: &LegacyCapacity| matches!(mode, LegacyCapacity::Percent(p) if *p > 0.0);
        has(leaf, percent) && is_used(leaf)
    };
    if created.iter().any(weighs) && created.iter().any(shares) {
        return Err(RefreshError::MixedModes(new.path.to_string()));
    }
    Ok(())
}

/// What is checked before anything is set up anew.
// As CapacitySchedulerConfigValidator.validateQueueHierarchy, after the new tree was built.
pub(in crate::commit) fn check_hierarchy(
    state: &State,
    settings: &TreeSettings,
) -> Result<(), RefreshError> {
    let mut walk = Walk {
        state,
        settings,
        below: Map::default(),
        maximums: Map::default(),
    };
    settings
        .queues
        .iter()
        .try_for_each(|queue| walk.amounts(queue))?;
    let mut states: Map<&str, QueueState> = Map::default();
    let mut new: Map<&str, &QueueSettings> = Map::default();
    for queue in &settings.queues {
        let above = match queue.parent_path() {
            Some(path) => *states
                .get(path)
                .ok_or_else(|| RefreshError::UnknownParent(queue.path.to_string()))?,
            None => QueueState::Running,
        };
        states.insert(&queue.path, state_below(above, queue)?);
        new.insert(&queue.path, queue);
    }
    let mut queues = state.subtree(State::ROOT);
    queues.extend(strays(state));
    let hash = |slot: &QueueSlot| java_order::string_hash(&state.queues[*slot].settings.path);
    java_order::sort(&mut queues, 0, hash);
    let queues = queues.into_iter().map(|slot| &state.queues[slot]);
    for old in queues.filter(|old| !old.settings.dynamic) {
        let new = new.get(old.settings.path.as_ref()).copied();
        check_queue(old, new, settings)?;
    }
    Ok(())
}

/// The state of a queue below a parent in a state.
fn state_below(above: QueueState, queue: &QueueSettings) -> Result<QueueState, RefreshError> {
    match queue.state {
        Some(ConfiguredState::Running) if above != QueueState::Running => {
            Err(RefreshError::RunningBelowStopped(queue.path.to_string()))
        }
        Some(ConfiguredState::Stopped) => Ok(QueueState::Stopped),
        Some(ConfiguredState::Running) => Ok(QueueState::Running),
        None => Ok(above),
    }
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
    check_modes(new, &order_after(state, old, &children), by_form)?;
    if dynamic.is_empty() {
        return Ok(());
    }
    // What is listed was checked when it was read; created ones count as well.
    check_sums(new, &children, by_form)
}

/// Children of one parent by percentages sum to 100 or to nothing, and absolute ones need an
/// absolute parent.
// As AbstractParentQueue.setChildQueues.
fn check_sums(
    new: &QueueSettings,
    children: &[&QueueSettings],
    by_form: bool,
) -> Result<(), RefreshError> {
    let capacities = |label: &Arc<str>| {
        let parts = children.iter().map(|child| child.partitions.get(label));
        parts
            .flatten()
            .map(|part| &part.capacity.legacy)
            .collect::<Vec<_>>()
    };
    let absolute = |capacity: &LegacyCapacity| matches!(capacity, LegacyCapacity::Absolute(amount) if by_form || !amount.is_none());
    let all: Vec<_> = new.partitions.keys().flat_map(capacities).collect();
    let own = new
        .partitions
        .values()
        .any(|part| absolute(&part.capacity.legacy));
    if all.iter().any(|capacity| absolute(capacity)) && !own && &*new.path != "root" {
        return Err(RefreshError::AbsoluteAboveWeights(new.path.to_string()));
    }
    for label in new.partitions.keys() {
        let sum = capacities(label)
            .into_iter()
            .fold(0.0, |sum, capacity| match capacity {
                LegacyCapacity::Percent(percent) => {
                    share::sum(sum, share::quotient(*percent, 100.0))
                }
                _ => sum,
            });
        if share::distance(1.0, sum) > PRECISION && share::magnitude(sum) > PRECISION {
            return Err(RefreshError::CapacitySum(new.path.to_string()));
        }
    }
    Ok(())
}

/// How far a sum of shares may be from 1.
const PRECISION: f32 = 0.0005;

/// Paths of queues that a configuration lists.
pub(super) fn paths<'a>(listed: &[&'a QueueSettings]) -> Set<&'a str> {
    listed.iter().map(|queue| &*queue.path).collect()
}

/// Children of a queue by path.
fn by_path<'a>(state: &'a State, children: &[QueueSlot]) -> Map<&'a str, QueueSlot> {
    let named = |&child: &QueueSlot| (&*state.queues[child].settings.path, child);
    children.iter().map(named).collect()
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
    let slots = old.children.iter().enumerate();
    let known: Map<&str, usize> = slots
        .map(|(at, &child)| (&*state.queues[child].settings.path, at))
        .collect();
    let place = |queue: &&QueueSettings| known.get(&*queue.path).copied();
    // Known ones keep their places, new ones follow.
    new.sort_by_cached_key(|queue| place(queue).unwrap_or(known.len()));
    let added = new.iter().filter(|queue| place(queue).is_none()).count();
    java_order::sort(&mut new, known.len() + added, hash);
    new
}
