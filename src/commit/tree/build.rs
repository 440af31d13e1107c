//! Building queues from settings, and creating queues that submissions name.
//!
//! Tests: `tests/commit/creation.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Tree;
use super::refresh_error::RefreshError;
use crate::cluster::Partition;
use crate::commit::PartitionSpec;
use crate::commit::tree::capacity::recompute;
use crate::commit::tree::fractions::update_absolute;
use crate::commit::tree::managed::is_given_away;
use crate::commit::tree::vector_capacities::set_root_capacity;
use crate::id::{Map, PartitionId, QueuePath, QueueSlot};
use crate::queue::{
    Amounts, AppOrder, ApplicationRule, CapacityMode, ConfiguredAmounts, ConfiguredState,
    CreationScheme, LegacyCapacity, PartitionSettings, PerPartition, Queue, QueueKind, QueuePart,
    QueueSettings, QueueState,
};
use crate::resource::{Calculator, PackedVector, ResourceVector, share};
use crate::snapshot::State;

/// Builds the tree of a new ledger.
pub(in crate::commit) fn build(
    tree: &mut Tree<'_>,
    queues: &[QueueSettings],
) -> Result<(), RefreshError> {
    let mut slots: Map<QueuePath, QueueSlot> = Map::default();
    for settings in queues {
        let parent = match settings.parent_path() {
            Some(path) => Some(
                *slots
                    .get(path)
                    .ok_or_else(|| RefreshError::UnknownParent(settings.path.to_string()))?,
            ),
            None => None,
        };
        let settings = Arc::new(settings.clone());
        let path = settings.path.clone();
        let slot = new_queue(tree, settings, parent)?;
        slots.insert(path, slot);
    }
    Ok(())
}

/// Adds a queue below its parent.
pub(in crate::commit) fn new_queue(
    tree: &mut Tree<'_>,
    settings: Arc<QueueSettings>,
    parent: Option<QueueSlot>,
) -> Result<QueueSlot, RefreshError> {
    let state = initial_state(tree, &settings, parent)?;
    let leaf = (settings.kind == QueueKind::Leaf).then(Default::default);
    let queue = Queue {
        parent,
        children: Vec::new(),
        place: 0,
        most_children: 0,
        state,
        parts: PerPartition::default(),
        mode: CapacityMode::Percent,
        apps: 0,
        runnable: 0,
        reserved_by_present: PackedVector::default(),
        template: BTreeMap::new(),
        leaf,
        removed: false,
        stray: false,
        settings: Arc::clone(&settings),
    };
    let slot = QueueSlot::at(tree.state.queues.push(queue));
    configure(tree, slot);
    update_absolute(tree.state, slot);
    tree.read_template(slot, &settings);
    if let Some(parent) = parent {
        let row = &mut tree.state.queues[parent];
        row.children.push(slot);
        row.most_children = row.most_children.max(row.children.len());
        tree.state.epoch += 1;
    }
    tree.registry.add_queue(settings.path.clone(), slot);
    Ok(slot)
}

/// The state of a queue at its first initialisation.
// As AbstractCSQueue.initializeQueueState.
fn initial_state(
    tree: &Tree<'_>,
    settings: &QueueSettings,
    parent: Option<QueueSlot>,
) -> Result<QueueState, RefreshError> {
    let above = parent.map_or(QueueState::Running, |parent| {
        tree.state.queues[parent].state
    });
    match settings.state {
        None if above == QueueState::Draining => Ok(QueueState::Stopped),
        None => Ok(above),
        Some(ConfiguredState::Running) if above != QueueState::Running => {
            Err(RefreshError::RunningBelowStopped(settings.path.to_string()))
        }
        Some(ConfiguredState::Running) => Ok(QueueState::Running),
        Some(ConfiguredState::Stopped) => Ok(QueueState::Stopped),
    }
}

/// Fills a queue's figures from its settings; figures of use stay.
pub(in crate::commit) fn configure(tree: &mut Tree<'_>, slot: QueueSlot) {
    let settings = Arc::clone(&tree.state.queues[slot].settings);
    if let Some(leaf) = &mut tree.state.queues[slot].leaf {
        leaf.fair = matches!(settings.leaf.app_order, AppOrder::Fair { .. });
        leaf.application_rule = ApplicationRule::of(&settings.leaf);
    }
    // Requests without a label are for the default one, even where the cluster has no such label.
    let named = settings
        .partitions
        .keys()
        .chain(&settings.default_partition);
    for name in named {
        tree.add_partition(name, false, false);
    }
    let calculator = tree.state.calculator;
    let root = tree.state.queues[slot].parent.is_none();
    for partition in tree.state.partition_ids() {
        let name = Arc::clone(&tree.state.partitions[partition].name);
        let above = tree.state.queues[slot].parent;
        let above = above.map(|parent| tree.state.queues[parent].part(partition));
        let highest = above.map_or(ResourceVector::NONE, |part| part.amounts.maximum());
        let of = settings.partitions.get(&name);
        let access = (settings.accessible.contains(&name), of.is_some());
        let row = &mut tree.state.queues[slot];
        set_access(row, partition, access);
        let Some(of) = of else { continue };
        let part = row.part_mut(partition);
        part.known = true;
        let minimum = configure_minimum(part, of, calculator, root);
        let highest = if minimum.is_none() {
            ResourceVector::NONE
        } else {
            highest
        };
        let maximum = configure_maximum(part, of, calculator, highest);
        part.amounts = ConfiguredAmounts::of(minimum, maximum);
        part.master_share = of.maximum_master_share;
    }
    tree.state.queues[slot].mode = mode_of(tree, slot);
}

/// Whether requests for a partition are served at a queue, and whether it has settings of its own there. A partition of
/// which neither is so needs no place.
fn set_access(row: &mut Queue, partition: PartitionId, access: (bool, bool)) {
    let part = row.part(partition);
    if (part.accessible, part.configured) != access {
        let part = row.part_mut(partition);
        (part.accessible, part.configured) = access;
    }
}

/// The capacity of a queue on a partition, as its settings say it; returns an absolute one.
fn configure_minimum(
    part: &mut QueuePart,
    of: &PartitionSettings,
    calculator: Calculator,
    root: bool,
) -> ResourceVector {
    part.mode = CapacityMode::Percent;
    part.capacity = 0.0;
    // A value in brackets may have a weight, too, beside its mode.
    part.weight = of
        .capacity
        .common_weight(calculator.types())
        .unwrap_or(-1.0);
    match of.capacity.legacy {
        LegacyCapacity::Percent(percent) => part.capacity = share::quotient(percent, 100.0),
        LegacyCapacity::Weight(weight) if root => {
            part.capacity = 1.0;
            part.weight = weight;
        }
        LegacyCapacity::Weight(weight) => {
            part.mode = CapacityMode::Weight;
            part.weight = weight;
        }
        LegacyCapacity::Absolute(amount) => {
            part.mode = CapacityMode::Absolute;
            return calculator.known(&amount);
        }
        LegacyCapacity::Unusable => {}
    }
    ResourceVector::NONE
}

/// The maximum of a queue on a partition; returns an absolute one, which is `highest` where none is set.
fn configure_maximum(
    part: &mut QueuePart,
    of: &PartitionSettings,
    calculator: Calculator,
    highest: ResourceVector,
) -> ResourceVector {
    // A maximum in brackets counts as 100 % until resources are derived from it, which happens
    // only beside an absolute capacity.
    part.maximum_capacity = 1.0;
    let own = match of.maximum.legacy {
        LegacyCapacity::Percent(percent) => {
            part.maximum_capacity = share::quotient(percent, 100.0);
            ResourceVector::NONE
        }
        LegacyCapacity::Absolute(amount) => calculator.known(&amount),
        LegacyCapacity::Weight(_) | LegacyCapacity::Unusable => ResourceVector::NONE,
    };
    if own.is_none() { highest } else { own }
}

/// The capacity mode of a queue as a whole, from those of its partitions.
// As AbstractCSQueue.updateCapacityConfigType, which the first partition decides outside legacy mode.
fn mode_of(tree: &Tree<'_>, slot: QueueSlot) -> CapacityMode {
    let queue = &tree.state.queues[slot];
    let configured = queue.parts.iter().filter(|part| part.configured);
    let has = |mode| configured.clone().any(|part| part.mode == mode);
    let absolute = if tree.state.settings.legacy_queue_mode {
        has(CapacityMode::Absolute)
    } else {
        let of = queue.settings.partitions.get("");
        of.is_some_and(|of| of.capacity.is_absolute_vector())
    };
    if queue.parent.is_some() && absolute {
        CapacityMode::Absolute
    } else if has(CapacityMode::Weight) {
        CapacityMode::Weight
    } else {
        CapacityMode::Percent
    }
}

/// Creates a leaf, with the parents that are missing, where automatic creation allows it; nothing
/// otherwise. The path may start with the name of any queue instead of the root.
// As CapacitySchedulerQueueManager.createQueue; differs: below a name, the original creates once
// more what exists by its full path.
pub(in crate::commit) fn create(tree: &mut Tree<'_>, path: &str) -> Option<QueueSlot> {
    let mut missing = Vec::new();
    let mut above = path;
    let ancestor = loop {
        let (parent, name) = above.rsplit_once('.')?;
        if name.trim().is_empty() {
            return None;
        }
        missing.push(name);
        above = parent;
        if let Some(slot) = tree.registry.queue(above) {
            break slot;
        }
    };
    let row = &tree.state.queues[ancestor];
    // The levels count from a configured queue, which is looked for along the path as given.
    if row.stray || row.settings.dynamic && *row.settings.path != *above {
        return None;
    }
    let creation = row.settings.creation.as_ref()?;
    let allowed = match creation.scheme {
        CreationScheme::Managed => missing.len() == 1,
        CreationScheme::Flexible => {
            missing.len() <= levels_left(tree, ancestor)? && takes_weights(tree, ancestor)
        }
    };
    if row.is_leaf() || !allowed || row.children.len() >= creation.maximum_queues {
        return None;
    }
    let managed = creation.scheme == CreationScheme::Managed;
    if managed && creation.fail_on_exceeding_parent && is_given_away(tree.state, ancestor) {
        return None;
    }
    let mut parent = ancestor;
    while let Some(name) = missing.pop() {
        let path = format!("{}.{name}", tree.state.queues[parent].settings.path);
        if let Some(known) = tree.registry.queue_at(&path) {
            let row = &tree.state.queues[known];
            if !missing.is_empty() && (row.is_leaf() || !row.settings.dynamic) {
                return None;
            }
            parent = known;
            continue;
        }
        let settings = tree.make(parent, name, missing.is_empty()).ok()?;
        let created = new_queue(tree, Arc::new(settings), Some(parent)).ok()?;
        if managed {
            tree.guarantee_new(parent, created);
        }
        update_from(tree, parent);
        parent = created;
    }
    Some(parent)
}

/// Everything that follows for a parent and those below it from a child that was added.
// As AbstractParentQueue.updateClusterResource, which outside legacy mode begins one level higher.
fn update_from(tree: &mut Tree<'_>, parent: QueueSlot) {
    let mut from = parent;
    if !tree.state.settings.legacy_queue_mode {
        match tree.state.queues[parent].parent {
            Some(above) => from = above,
            None => set_root_capacity(tree.state),
        }
    }
    recompute(tree, from);
}

/// Levels that may still be created below a queue.
// As CapacitySchedulerQueueManager.determineMissingParents: levels count from the nearest queue
// that the configuration has.
fn levels_left(tree: &Tree<'_>, queue: QueueSlot) -> Option<usize> {
    let row = &tree.state.queues[queue];
    let mut used = 0;
    let mut fixed = row;
    while fixed.settings.dynamic {
        used += 1;
        fixed = &tree.state.queues[fixed.parent?];
    }
    let creation = fixed.settings.creation.as_ref();
    let creation = creation.or(row.settings.creation.as_ref())?;
    creation.maximum_depth.checked_sub(used)
}

/// Whether the children of a parent go by weights, which legacy mode asks for.
// As AbstractParentQueue.addDynamicChildQueue.
fn takes_weights(tree: &Tree<'_>, queue: QueueSlot) -> bool {
    let children = &tree.state.queues[queue].children;
    let weighs = |&child: &QueueSlot| {
        let parts = &tree.state.queues[child].parts;
        parts
            .iter()
            .any(|part| part.configured && part.weight >= 0.0)
    };
    !tree.state.settings.legacy_queue_mode || children.is_empty() || children.iter().any(weighs)
}

impl Tree<'_> {
    /// Adds a partition, or says of a known one that the cluster has it.
    pub(in crate::commit) fn add_partition(
        &mut self,
        name: &str,
        exists: bool,
        exclusive: bool,
    ) -> PartitionId {
        if let Some(id) = self.registry.partition(name) {
            if exists && !self.state.partitions[id].exists {
                self.state.partitions[id].exists = true;
                self.state.partitions[id].exclusive = exclusive;
            }
            return id;
        }
        let name: Arc<str> = name.into();
        let partition = Partition::new(Arc::clone(&name), exists, exclusive);
        let id = PartitionId::at(self.state.partitions.push(partition));
        self.registry.add_partition(name, id);
        id
    }

    /// The cluster knows a label from now on.
    pub(in crate::commit) fn add_label(&mut self, label: &PartitionSpec) {
        self.add_partition(&label.name, true, label.exclusive);
        self.state.epoch += 1;
    }

    /// Settings of a queue that a submission creates or created, by the present templates.
    pub(in crate::commit) fn make(
        &self,
        parent: QueueSlot,
        name: &str,
        leaf: bool,
    ) -> Result<QueueSettings, RefreshError> {
        let above = &self.state.queues[parent];
        let path = || format!("{}.{name}", above.settings.path);
        let settings = self.templates.dynamic(&above.settings, name, leaf);
        let settings = settings.map_err(|code| RefreshError::CreatedQueue(path(), code))?;
        for (label, of) in &settings.partitions {
            let partition = self.registry.partition(label);
            let highest = partition.map(|partition| above.part(partition).amounts.maximum());
            let (calculator, cluster) = (self.state.calculator, &self.state.cluster);
            let amounts = Amounts::of(of);
            let (_, excesses) = amounts.check(calculator, cluster, highest.unwrap_or_default());
            if let Some(excess) = excesses.into_iter().flatten().next() {
                return Err(RefreshError::Excess(path(), Box::new(excess)));
            }
        }
        Ok(settings)
    }
}

/// A draining queue stops with its last application.
// As QueueStateManager and AbstractCSQueue.appFinished.
pub(in crate::commit) fn app_left(state: &mut State, queue: QueueSlot) {
    let row = &state.queues[queue];
    if row.state != QueueState::Draining {
        return;
    }
    let empty = match &row.leaf {
        Some(leaf) => [&leaf.active, &leaf.waiting, &leaf.parked, &leaf.between]
            .iter()
            .all(|list| list.is_empty()),
        None => row
            .children
            .iter()
            .all(|&child| state.queues[child].state == QueueState::Stopped),
    };
    if empty {
        state.set_queue_state(queue, QueueState::Stopped);
    }
}

/// Stops a queue and everything below it; those with applications drain first.
pub(in crate::commit) fn stop_queue(state: &mut State, queue: QueueSlot) {
    if state.queues[queue].state != QueueState::Running {
        return;
    }
    for child in state.queues[queue].children.clone() {
        stop_queue(state, child);
    }
    state.set_queue_state(queue, QueueState::Draining);
    app_left(state, queue);
}
