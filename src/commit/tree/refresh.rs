//! Refreshing the tree on a live scheduler: checked as a whole, then applied as a whole.
//!
//! Tests: `tests/inputs/queues.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::refresh_checks::{by_parent, check_allocation, check_refresh, paths};
use super::refresh_error::RefreshError;
use super::{Tree, build};
use crate::commit::leaves::Leaves;
use crate::commit::ledger::Ledger;
use crate::commit::tree::build::stop_queue;
use crate::commit::tree::capacity::{update_cluster, update_statistics};
use crate::commit::tree::effective::update_maximum_applications;
use crate::commit::tree::fractions::update_absolute;
use crate::commit::tree::refresh_checks::{check_children, check_hierarchy};
use crate::id::{Map, PartitionId, QueuePath, QueueSlot, java_order};
use crate::queue::{
    ConfiguredState, LegacyCapacity, PartitionSettings, Queue, QueueKind, QueueSettings,
    QueueState, TreeSettings,
};
use crate::resource::with_width;
use crate::snapshot::State;

impl Ledger {
    /// Whether a new configuration could be taken over.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`].
    pub fn check_refresh(&self, settings: &TreeSettings) -> Result<(), RefreshError> {
        check_refresh(&self.state, settings)
    }

    /// Takes over a new configuration.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`]; the tree stays as it is then.
    // As CapacitySchedulerQueueManager.reinitializeQueues.
    pub fn refresh(&mut self, settings: TreeSettings) -> Result<(), RefreshError> {
        debug_assert!(
            self.prepares_alike(&settings),
            "a prepared refresh comes to the same"
        );
        self.refresh_whole(settings)
    }

    /// The same in one piece, which every other way must equal.
    pub(super) fn refresh_whole(&mut self, settings: TreeSettings) -> Result<(), RefreshError> {
        self.check_refresh(&settings)?;
        let applied = self.tree().apply_refresh(settings);
        debug_assert_eq!(applied, Ok(()), "what was checked is applied as a whole");
        applied?;
        self.leaves.reconsider_parked(&mut self.state);
        Ok(())
    }

    /// What the reference does to itself when it refuses a configuration: that one is applied as far
    /// as it goes, then the present one once more, which may be refused on the way as well.
    ///
    /// A refused configuration that could not be read, or has other queues than the present one, is
    /// passed over.
    // As CapacityScheduler.reinitialize.
    pub fn reapply(&mut self, refused: Option<TreeSettings>, present: TreeSettings) {
        let paths = |settings: &TreeSettings| -> BTreeSet<QueuePath> {
            let queues = settings.queues.iter();
            queues.map(|queue| queue.path.clone()).collect()
        };
        let refused = refused.filter(|refused| {
            paths(refused) == paths(&present) && check_hierarchy(&self.state, refused).is_ok()
        });
        if let Some(refused) = refused {
            // The division of resources begins with the modes of the children.
            let divides = !is_refused_for_created_modes(&self.state, &refused);
            if let Ok(leaves_legacy) = self.tree().merge_all(refused)
                && divides
            {
                self.tree().divide(leaves_legacy);
            }
        }
        if check_hierarchy(&self.state, &present).is_ok() {
            self.tree().apply_refresh(present).unwrap_or_default();
        }
    }
}

impl Tree<'_> {
    /// Applies settings, which fails half-way only if they were not checked before.
    pub(super) fn apply_refresh(&mut self, settings: TreeSettings) -> Result<(), RefreshError> {
        let leaves_legacy = self.merge_all(settings)?;
        self.divide(leaves_legacy);
        Ok(())
    }

    /// Sets all queues up anew; whether that leaves legacy mode.
    fn merge_all(&mut self, settings: TreeSettings) -> Result<bool, RefreshError> {
        self.end_skippable_heads();
        self.state.epoch += 1;
        let mut scheduler = settings.scheduler;
        // These never change on a live scheduler.
        scheduler.calculator = self.state.calculator;
        scheduler.asynchronous = self.state.settings.asynchronous;
        scheduler.rules = self.state.settings.rules;
        scheduler.opportunistic = self.state.settings.opportunistic;
        let leaves_legacy = self.state.settings.legacy_queue_mode && !scheduler.legacy_queue_mode;
        let calculator = self.state.calculator;
        self.state.minimum = calculator.known(&scheduler.minimum_allocation);
        self.state.settings = Arc::new(scheduler);
        *self.templates = settings.templates;
        self.drop_strays(&settings.queues);
        let queues: Vec<_> = settings.queues.into_iter().map(Arc::new).collect();
        if let Some(root) = queues.first() {
            self.merge(State::ROOT, root, &by_parent(&queues))?;
        }
        Ok(leaves_legacy)
    }

    /// Ends the skippable heads of all leaves.
    pub(super) fn end_skippable_heads(&mut self) {
        for slot in self.state.subtree(State::ROOT) {
            if self.state.queues[slot].is_leaf() {
                self.leaves.skipped_mut().cut(self.state, slot, 0);
            }
        }
    }

    /// Divides the resources of the cluster among the queues.
    fn divide(&mut self, leaves_legacy: bool) {
        let fractions = leaves_legacy.then(|| self.configured_fractions());
        update_cluster(self);
        if let Some(fractions) = fractions {
            show_fractions(self.state, fractions);
        }
    }

    /// Capacities that are configured in percent, as fractions.
    fn configured_fractions(&self) -> Vec<(QueueSlot, PartitionId, f32)> {
        let queues = self.state.subtree(State::ROOT).into_iter().skip(1);
        let fractions = |slot: QueueSlot| {
            let row = &self.state.queues[slot];
            let of_partition = move |(name, of): (&Arc<str>, &PartitionSettings)| {
                let partition = self.registry.partition(name)?;
                let percent = matches!(of.capacity.legacy, LegacyCapacity::Percent(_));
                percent.then(|| (slot, partition, row.part(partition).capacity))
            };
            row.settings.partitions.iter().filter_map(of_partition)
        };
        queues.flat_map(fractions).collect()
    }

    /// Reinitialises a queue in place, then its children; they end up in the order of a hash map
    /// of their paths.
    // As AbstractParentQueue.reinitialize.
    pub(in crate::commit) fn merge(
        &mut self,
        slot: QueueSlot,
        settings: &Arc<QueueSettings>,
        below: &Map<&str, Vec<&Arc<QueueSettings>>>,
    ) -> Result<(), RefreshError> {
        if settings.kind == QueueKind::ManagedParent {
            return self.merge_managed(slot, settings, below);
        }
        if self.state.queues[slot].is_leaf() {
            check_allocation(&self.state.queues[slot], settings)?;
            self.reconfigure(slot, settings);
            return Ok(());
        }
        self.reconfigure(slot, settings);
        let mut new = below.get(&*settings.path).cloned().unwrap_or_default();
        java_order::sort(&mut new, 0, |queue| java_order::string_hash(&queue.path));
        let old = self.state.queues[slot].children.clone();
        let known: Map<QueuePath, QueueSlot> = old
            .iter()
            .map(|&child| (self.state.queues[child].settings.path.clone(), child))
            .collect();
        let listed: Vec<&QueueSettings> = new.iter().map(|queue| &***queue).collect();
        self.merge_dynamic(slot, &listed)?;
        let mut order = old;
        let mut seen = known.len();
        for queue in &new {
            let kept = known.get(&queue.path).copied().filter(|&child| {
                self.state.queues[child].is_leaf() == (queue.kind == QueueKind::Leaf)
            });
            match kept {
                Some(child) => self.merge(child, queue, below)?,
                None => {
                    let built = self.build_below(slot, queue, below);
                    match known.get(&queue.path) {
                        Some(&replaced) => {
                            self.remove_queue(replaced);
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
        check_merged(self.state, slot, settings, &listed)?;
        self.keep_children(slot, order, &listed, seen);
        Ok(())
    }

    /// Reinitialises the children that submissions created and the new configuration does not list.
    fn merge_dynamic(
        &mut self,
        parent: QueueSlot,
        new: &[&QueueSettings],
    ) -> Result<(), RefreshError> {
        let children = self.state.queues[parent].children.iter().copied();
        let listed = paths(new);
        let dynamic = |&child: &QueueSlot| {
            let own = &self.state.queues[child].settings;
            own.dynamic && !listed.contains(&*own.path)
        };
        let mut dynamic: Vec<QueueSlot> = children.filter(dynamic).collect();
        let most = self.state.queues[parent].children.len();
        java_order::sort(&mut dynamic, most, |&child| {
            java_order::string_hash(&self.state.queues[child].settings.path)
        });
        for child in dynamic {
            let row = &self.state.queues[child];
            let (own, leaf) = (Arc::clone(&row.settings), row.is_leaf());
            let settings = Arc::new(self.make(parent, own.name(), leaf)?);
            self.merge(child, &settings, &Map::default())?;
        }
        Ok(())
    }

    /// Drops children that the new configuration does not list; dynamic ones stay.
    fn keep_children(
        &mut self,
        slot: QueueSlot,
        order: Vec<QueueSlot>,
        new: &[&QueueSettings],
        most: usize,
    ) {
        let (mut kept, listed) = (Vec::new(), paths(new));
        for child in order {
            let own = &self.state.queues[child].settings;
            if own.dynamic || listed.contains(&*own.path) {
                kept.push(child);
            } else {
                self.remove_queue(child);
            }
        }
        java_order::sort(&mut kept, most, |&child| {
            java_order::string_hash(&self.state.queues[child].settings.path)
        });
        self.state.queues[slot].children = kept;
    }

    /// Takes a queue out of the tree. What still runs in it is charged to those above it.
    fn remove_queue(&mut self, slot: QueueSlot) {
        self.state.queues[slot].place = Queue::NOWHERE;
        for queue in self.state.subtree(slot) {
            let row = &mut self.state.queues[queue];
            row.removed = true;
            let path = row.settings.path.clone();
            self.registry.remove_queue(&path, queue);
        }
    }

    /// Adds a new queue with everything below it.
    fn build_below(
        &mut self,
        parent: QueueSlot,
        settings: &Arc<QueueSettings>,
        below: &Map<&str, Vec<&Arc<QueueSettings>>>,
    ) -> QueueSlot {
        let slot = build::new_queue(self, Arc::clone(settings), Some(parent))
            .expect("states were checked before the refresh was applied");
        let added = self.state.queues[parent].children.pop();
        debug_assert_eq!(added, Some(slot), "a new queue is the last child");
        for queue in below.get(settings.path.as_ref()).into_iter().flatten() {
            let child = self.build_below(slot, queue, below);
            self.state.queues[slot].children.push(child);
        }
        slot
    }

    /// Sets up a queue anew.
    // As AbstractCSQueue.setupQueueConfigs and AbstractLeafQueue.setupQueueConfigs.
    pub(in crate::commit) fn reconfigure(
        &mut self,
        slot: QueueSlot,
        settings: &Arc<QueueSettings>,
    ) {
        let before = self.state.queues[slot].state;
        for part in self.state.queues[slot].parts.iter_mut() {
            part.capacity = 0.0;
            part.maximum_capacity = 0.0;
            part.absolute_capacity = 0.0;
            part.absolute_maximum = 0.0;
            part.weight = -1.0;
        }
        self.state.queues[slot].settings = Arc::clone(settings);
        build::configure(self, slot);
        match settings.state {
            Some(ConfiguredState::Stopped) if before == QueueState::Running => {
                stop_queue(self.state, slot);
            }
            Some(ConfiguredState::Running) if before != QueueState::Running => {
                self.state.set_queue_state(slot, QueueState::Running);
            }
            _ => {}
        }
        update_absolute(self.state, slot);
        with_width!(self.state.calculator, N => update_statistics::<N>(self.state, slot));
        if self.state.queues[slot].is_leaf() {
            let every = self.state.settings.global_queue_maximum_applications;
            let most = settings.leaf.maximum_applications.or(every).unwrap_or(-1);
            let cluster = self.state.cluster;
            let leaf = self.state.queues[slot].as_leaf_mut();
            leaf.maximum_applications = most;
            leaf.published_limit.set(cluster);
            renew_order(self.state, self.leaves, slot);
        }
    }
}

/// Puts the applications and users of a leaf in the order and under the weights of its settings.
pub(super) fn renew_order(state: &mut State, leaves: &mut Leaves, leaf: QueueSlot) {
    // The ordering policy is a new object: it knows of no application to look up anew.
    state.queues[leaf].as_leaf_mut().dirty.clear();
    leaves.sort_active(state, leaf);
    leaves.refresh_weights(state, leaf);
}

/// Whether a configuration is refused since the leaves of a managed parent would go by several modes.
fn is_refused_for_created_modes(state: &State, settings: &TreeSettings) -> bool {
    let Err(RefreshError::MixedModes(path)) = check_refresh(state, settings) else {
        return false;
    };
    let mut queues = settings.queues.iter();
    queues.any(|queue| *queue.path == *path && queue.kind == QueueKind::ManagedParent)
}

/// The refresh that leaves legacy mode shares out resources in the new way, but shows
/// percentages as configured until capacities are next computed.
fn show_fractions(state: &mut State, fractions: Vec<(QueueSlot, PartitionId, f32)>) {
    for (slot, partition, capacity) in fractions {
        state.queues[slot].part_mut(partition).capacity = capacity;
    }
    for slot in state.subtree(State::ROOT).into_iter().skip(1) {
        update_absolute(state, slot);
        if state.queues[slot].is_leaf() {
            update_maximum_applications(state, slot);
        }
    }
}

/// Whether the children of a parent, each set up anew, go together.
fn check_merged(
    state: &State,
    parent: QueueSlot,
    settings: &QueueSettings,
    new: &[&QueueSettings],
) -> Result<(), RefreshError> {
    if !state.settings.legacy_queue_mode {
        return Ok(());
    }
    let row = &state.queues[parent];
    let children = row.children.iter();
    let children = children.map(|&child| &*state.queues[child].settings);
    let listed = paths(new);
    let dynamic = children.filter(|own| own.dynamic && !listed.contains(&*own.path));
    check_children(state, row, settings, new, &dynamic.collect::<Vec<_>>())
}
