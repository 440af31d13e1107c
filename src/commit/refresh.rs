//! Refreshing the tree on a live scheduler: checked as a whole, then applied as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ledger::Ledger;
use super::refresh_error::RefreshError;
use super::tree;
use crate::id::{QueueSlot, java_order};
use crate::queue::{
    Amounts, ConfiguredState, LegacyCapacity, PartitionSettings, Queue, QueueKind, QueueSettings,
    QueueState, TreeSettings,
};
use crate::resource::{ResourceVector, share};
use crate::snapshot::State;

impl Ledger {
    /// Takes over a new configuration.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`]; the tree stays as it is then.
    // As CapacitySchedulerQueueManager.reinitializeQueues.
    pub fn refresh(&mut self, settings: TreeSettings) -> Result<(), RefreshError> {
        self.check_refresh(&settings)?;
        self.apply_refresh(settings);
        self.reconsider_parked();
        Ok(())
    }

    /// Applies the present configuration once more, as the reference does after a refusal; nothing
    /// if the present cluster refuses it.
    pub fn reapply(&mut self, settings: TreeSettings) {
        if self.check_amounts(&settings).is_ok() {
            self.apply_refresh(settings);
        }
    }

    /// Compares the absolute amounts of queues by their shares of the cluster.
    fn check_amounts(&self, settings: &TreeSettings) -> Result<(), RefreshError> {
        let mut maximums: BTreeMap<(&str, &str), ResourceVector> = BTreeMap::new();
        for queue in &settings.queues {
            for (label, partition) in &queue.partitions {
                let above = queue.parent_path();
                let above = above.and_then(|path| maximums.get(&(path, &**label)));
                let (maximum, excesses) = Amounts::of(partition).check(
                    self.state.calculator,
                    &self.state.cluster,
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

    /// Whether a new configuration could be taken over.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`].
    pub fn check_refresh(&self, settings: &TreeSettings) -> Result<(), RefreshError> {
        self.check_amounts(settings)?;
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
        let queues = self.state.subtree(State::ROOT);
        let pairs = queues.into_iter().map(|slot| {
            let old = &self.state.queues[slot];
            (old, new.get(old.settings.path.as_ref()).copied())
        });
        let pairs: Vec<_> = pairs.filter(|(old, _)| !old.settings.dynamic).collect();
        for &(old, new) in &pairs {
            check_queue(old, new, settings)?;
        }
        if !settings.scheduler.legacy_queue_mode {
            return Ok(());
        }
        let below = by_parent(&settings.queues);
        for (old, new) in pairs {
            let Some(new) = new.filter(|new| !old.is_leaf() && new.kind == QueueKind::Parent)
            else {
                continue;
            };
            let children = below.get(&*new.path).map_or(&[][..], Vec::as_slice);
            check_childless(new, children)?;
            let dynamic = self.dynamic_children(old, new, settings);
            let children: Vec<_> = children.iter().copied().chain(&dynamic).collect();
            check_modes(new, &self.order_after(old, &children))?;
        }
        Ok(())
    }

    /// Dynamic children of a parent as a refresh sets them up anew.
    fn dynamic_children(
        &self,
        old: &Queue,
        new: &QueueSettings,
        settings: &TreeSettings,
    ) -> Vec<QueueSettings> {
        let rows = old.children.iter().map(|&child| &self.state.queues[child]);
        let dynamic = rows.filter(|row| row.settings.dynamic);
        let anew = |row: &Queue| {
            let name = row.settings.name();
            settings.templates.dynamic(new, name, row.is_leaf())
        };
        dynamic.map(anew).collect()
    }

    /// The children of a parent in the order that a refresh leaves them in.
    fn order_after<'a>(
        &self,
        old: &Queue,
        children: &[&'a QueueSettings],
    ) -> Vec<&'a QueueSettings> {
        let hash = |queue: &&QueueSettings| java_order::string_hash(&queue.path);
        let mut new = children.to_vec();
        java_order::sort(&mut new, 0, hash);
        let slots = old.children.iter();
        let known: Vec<&str> = slots
            .map(|&child| &*self.state.queues[child].settings.path)
            .collect();
        let place = |queue: &&QueueSettings| known.iter().position(|path| *path == &*queue.path);
        // Known ones keep their places, new ones follow.
        new.sort_by_key(|queue| place(queue).unwrap_or(known.len()));
        let added = new.iter().filter(|queue| place(queue).is_none()).count();
        java_order::sort(&mut new, known.len() + added, hash);
        new
    }

    fn apply_refresh(&mut self, settings: TreeSettings) {
        for slot in self.state.subtree(State::ROOT) {
            if self.state.queues[slot].is_leaf() {
                self.cut_prefix(slot, 0);
            }
        }
        self.state.epoch += 1;
        let mut scheduler = settings.scheduler;
        // These never change on a live scheduler.
        scheduler.calculator = self.state.calculator;
        scheduler.asynchronous = self.state.settings.asynchronous;
        let leaves_legacy = self.state.settings.legacy_queue_mode && !scheduler.legacy_queue_mode;
        self.state.minimum = scheduler.minimum_allocation;
        self.state.settings = Arc::new(scheduler);
        self.templates = settings.templates;
        if let Some(root) = settings.queues.first() {
            self.merge(State::ROOT, root, &by_parent(&settings.queues));
        }
        self.update_cluster();
        if leaves_legacy {
            self.show_configured_fractions();
        }
    }

    /// The refresh that leaves legacy mode shares out resources in the new way, but shows
    /// percentages as configured until capacities are next computed.
    fn show_configured_fractions(&mut self) {
        for slot in self.state.subtree(State::ROOT).into_iter().skip(1) {
            let settings = Arc::clone(&self.state.queues[slot].settings);
            for partition in self.state.partition_ids() {
                let name = Arc::clone(&self.state.partitions[partition].name);
                let of = settings.partitions.get(&name);
                if let Some(LegacyCapacity::Percent(percent)) = of.map(|of| of.capacity.legacy) {
                    let part = self.state.queues[slot].part_mut(partition);
                    part.capacity = share::quotient(percent, 100.0);
                }
            }
            self.update_absolute(slot);
            if self.state.queues[slot].is_leaf() {
                self.update_maximum_applications(slot);
            }
        }
    }

    /// Reinitialises a queue in place, then its children; they end up in the order of a hash map
    /// of their paths.
    fn merge(
        &mut self,
        slot: QueueSlot,
        settings: &QueueSettings,
        below: &BTreeMap<&str, Vec<&QueueSettings>>,
    ) {
        self.reconfigure(slot, settings);
        if self.state.queues[slot].is_leaf() {
            return;
        }
        let path = Arc::clone(&self.state.queues[slot].settings.path);
        let mut new = below.get(path.as_ref()).cloned().unwrap_or_default();
        java_order::sort(&mut new, 0, |queue| java_order::string_hash(&queue.path));
        let old = self.state.queues[slot].children.clone();
        let known: BTreeMap<Arc<str>, QueueSlot> = old
            .iter()
            .map(|&child| (Arc::clone(&self.state.queues[child].settings.path), child))
            .collect();
        let mut order = old;
        let mut seen = known.len();
        for queue in &new {
            let kept = known.get(&queue.path).copied().filter(|&child| {
                self.state.queues[child].is_leaf() == (queue.kind == QueueKind::Leaf)
            });
            match kept {
                Some(child) => self.merge(child, queue, below),
                None => {
                    let built = self.build_below(slot, queue, below);
                    match known.get(&queue.path) {
                        Some(&replaced) => {
                            self.state.queues[replaced].removed = true;
                            let at = order.iter().position(|&child| child == replaced);
                            order[at.expect("the replaced child is in the list")] = built;
                        }
                        None => {
                            order.push(built);
                            seen += 1;
                        }
                    }
                }
            }
        }
        self.keep_children(slot, order, &new, seen);
    }

    /// Drops children that the new configuration does not list; dynamic ones stay.
    fn keep_children(
        &mut self,
        slot: QueueSlot,
        order: Vec<QueueSlot>,
        new: &[&QueueSettings],
        most: usize,
    ) {
        let mut kept = Vec::new();
        for child in order {
            let row = &self.state.queues[child];
            let listed = new.iter().any(|queue| queue.path == row.settings.path);
            if listed {
                kept.push(child);
            } else if row.settings.dynamic {
                let (name, leaf) = (row.settings.name().to_owned(), row.is_leaf());
                let above = Arc::clone(&self.state.queues[slot].settings);
                let templates = Arc::clone(&self.templates);
                let settings = templates.dynamic(&above, &name, leaf);
                self.merge(child, &settings, &BTreeMap::new());
                kept.push(child);
            } else {
                self.remove_queue(child);
            }
        }
        // As AbstractManagedParentQueue.reinitialize, which leaves the list as it is.
        if self.state.queues[slot].settings.kind != QueueKind::ManagedParent {
            java_order::sort(&mut kept, most, |&child| {
                java_order::string_hash(&self.state.queues[child].settings.path)
            });
        }
        self.state.queues[slot].children = kept;
    }

    /// Takes a queue out of the tree. What still runs in it is charged to those above it.
    fn remove_queue(&mut self, slot: QueueSlot) {
        self.state.queues[slot].place = Queue::NOWHERE;
        for queue in self.state.subtree(slot) {
            let row = &mut self.state.queues[queue];
            row.removed = true;
            let path = Arc::clone(&row.settings.path);
            if self.paths.get(&path) == Some(&queue) {
                self.paths.remove(&path);
            }
        }
    }

    /// Adds a new queue with everything below it.
    fn build_below(
        &mut self,
        parent: QueueSlot,
        settings: &QueueSettings,
        below: &BTreeMap<&str, Vec<&QueueSettings>>,
    ) -> QueueSlot {
        let slot = tree::new_queue(self, Arc::new(settings.clone()), Some(parent))
            .expect("states were checked before the refresh was applied");
        self.state.queues[parent]
            .children
            .retain(|&child| child != slot);
        for queue in below.get(settings.path.as_ref()).into_iter().flatten() {
            let child = self.build_below(slot, queue, below);
            self.state.queues[slot].children.push(child);
        }
        slot
    }

    fn reconfigure(&mut self, slot: QueueSlot, settings: &QueueSettings) {
        let before = self.state.queues[slot].state;
        for part in &mut self.state.queues[slot].parts {
            part.capacity = 0.0;
            part.maximum_capacity = 0.0;
            part.absolute_capacity = 0.0;
            part.absolute_maximum = 0.0;
            part.weight = -1.0;
        }
        self.state.queues[slot].settings = Arc::new(settings.clone());
        tree::configure(self, slot);
        match settings.state {
            Some(ConfiguredState::Stopped) if before == QueueState::Running => {
                self.stop_queue(slot);
            }
            Some(ConfiguredState::Running) if before != QueueState::Running => {
                self.state.queues[slot].state = QueueState::Running;
            }
            _ => {}
        }
        self.update_absolute(slot);
        if self.state.queues[slot].is_leaf() {
            // The ordering policy is a new object: it knows of no application to look up anew.
            self.state.queues[slot].as_leaf_mut().dirty.clear();
            self.sort_active(slot);
            self.refresh_weights(slot);
        }
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
    if !old.is_leaf()
        && new.kind != QueueKind::Leaf
        && managed(old.settings.kind) != managed(new.kind)
    {
        return Err(RefreshError::KindChange(path()));
    }
    let shrinks = !old
        .settings
        .maximum_allocation
        .fits_in(&new.maximum_allocation);
    if old.is_leaf() && new.kind == QueueKind::Leaf && shrinks {
        return Err(RefreshError::AllocationDecreased(path()));
    }
    Ok(())
}

/// Queues below each path, in the order of their list.
fn by_parent(queues: &[QueueSettings]) -> BTreeMap<&str, Vec<&QueueSettings>> {
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
fn check_childless(new: &QueueSettings, children: &[&QueueSettings]) -> Result<(), RefreshError> {
    let absolute = |part: &PartitionSettings| matches!(part.capacity.legacy, LegacyCapacity::Absolute(amount) if !amount.is_none());
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
fn check_modes(new: &QueueSettings, children: &[&QueueSettings]) -> Result<(), RefreshError> {
    let (mut percent, mut weight, mut absolute) = (false, false, false);
    for child in children {
        let parts = new.partitions.keys();
        for part in parts.filter_map(|label| child.partitions.get(label)) {
            match part.capacity.legacy {
                LegacyCapacity::Percent(share) => percent |= share > 0.0,
                LegacyCapacity::Weight(_) => weight = true,
                LegacyCapacity::Absolute(amount) if !amount.is_none() => {
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
