//! Leaves of managed parents: each has the guarantee of the template, or none.
//!
//! A new leaf has it where the parent's absolute capacity reaches, by the sum of what was given
//! since the last refresh. A refresh takes all of it back and gives it again, in the order in which
//! applications were submitted: leaves without applications go without.
//!
//! Tests: `tests/commit/creation.rs`.
// As ManagedParentQueue with GuaranteedOrZeroCapacityOverTimePolicy, whose decisions between
// refreshes need a monitor.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use super::Tree;
use super::refresh_error::RefreshError;
use crate::accounting::update_used;
use crate::id::{AppSlot, Map, PartitionId, QueueSlot, java_order};
use crate::queue::{
    CapacityMode, ConfiguredAmounts, LegacyCapacity, PartitionSettings, Queue, QueueKind,
    QueueSettings, TemplatePart, VectorEntry,
};
use crate::resource::{ResourceVector, share, with_width};
use crate::snapshot::State;

/// The template in the settings of a managed parent; nothing for other queues.
fn template_of(settings: &QueueSettings) -> Option<&BTreeMap<Arc<str>, PartitionSettings>> {
    let managed = settings.kind == QueueKind::ManagedParent;
    let creation = settings.creation.as_ref().filter(|_| managed);
    creation.map(|creation| &creation.template)
}

/// The amount of an absolute capacity.
fn amount_of(capacity: &LegacyCapacity) -> ResourceVector {
    match capacity {
        LegacyCapacity::Absolute(amount) => *amount,
        _ => ResourceVector::NONE,
    }
}

/// A percentage as a fraction; the other kinds are not read as such.
fn fraction_of(capacity: &LegacyCapacity, otherwise: f32) -> f32 {
    match capacity {
        LegacyCapacity::Percent(percent) => share::quotient(*percent, 100.0),
        _ => otherwise,
    }
}

impl Tree<'_> {
    /// Reads the template of a managed parent, while the parent itself is as it was.
    // As ManagedParentQueue.initializeLeafQueueConfigs.
    pub(in crate::commit) fn read_template(&mut self, parent: QueueSlot, settings: &QueueSettings) {
        let Some(configured) = template_of(settings) else {
            return;
        };
        self.state.epoch += 1;
        let reading = self.state.epoch;
        let mut template = BTreeMap::new();
        for (name, of) in configured {
            let part = TemplatePart {
                capacity: fraction_of(&of.capacity.legacy, 0.0),
                maximum_capacity: fraction_of(&of.maximum.legacy, 1.0),
                reading,
                ..TemplatePart::default()
            };
            template.insert(self.add_partition(name, false, false), part);
        }
        self.state.queues[parent].template = template;
        self.derive_template(parent, settings);
    }

    /// The template's fractions from amounts, below a parent of absolute capacity.
    // As ManagedParentQueue.updateQueueCapacities.
    fn derive_template(&mut self, parent: QueueSlot, settings: &QueueSettings) {
        let configured = template_of(settings).filter(|_| {
            let row = &self.state.queues[parent];
            row.mode == CapacityMode::Absolute
        });
        for (name, of) in configured.into_iter().flatten() {
            let partition = self.add_partition(name, false, false);
            let (calculator, cluster) = (self.state.calculator, self.state.cluster);
            let highest = self.state.queues[parent].part(partition).amounts.maximum();
            let own = amount_of(&of.maximum.legacy);
            let limit = if own.is_none() { highest } else { own };
            let limit = calculator.min(&cluster, &limit, &highest);
            let Queue {
                template, parts, ..
            } = &mut self.state.queues[parent];
            let above = &parts[partition];
            let wanted = amount_of(&of.capacity.legacy);
            if let Some(part) = template.get_mut(&partition) {
                part.capacity = calculator.divide(&cluster, &wanted, &above.amounts.minimum());
                part.maximum_capacity = calculator.divide(&cluster, &limit, &highest);
                part.absolute_capacity = share::product(part.capacity, above.absolute_capacity);
            }
        }
    }

    /// Sets up a leaf that was created just now.
    // As ManagedParentQueue.addChildQueue.
    pub(in crate::commit) fn guarantee_new(&mut self, parent: QueueSlot, leaf: QueueSlot) {
        update_template(self.state, parent);
        take_back(self.state, parent, leaf);
        let settings = Arc::clone(&self.state.queues[parent].settings);
        self.derive_template(parent, &settings);
        take_vectors(self.state, parent, leaf);
        for (partition, template) in self.state.queues[parent].template.clone() {
            let above = self.state.queues[parent].part(partition).absolute_capacity;
            if share::guarantee_fits(above, template.given, template.absolute_capacity) {
                give(self.state, parent, leaf, partition);
            } else {
                let part = self.state.queues[leaf].part_mut(partition);
                (part.absolute_capacity, part.absolute_maximum) = (0.0, 0.0);
                part.maximum_capacity = template.maximum_capacity;
                part.amounts = ConfiguredAmounts::of(ResourceVector::NONE, part.amounts.maximum());
                part.shares_guarantee = None;
            }
        }
    }

    /// Reinitialises a leaf by the template of its parent, and takes its guarantee back.
    fn merge_created(&mut self, parent: QueueSlot, leaf: QueueSlot) -> Result<(), RefreshError> {
        let old = Arc::clone(&self.state.queues[leaf].settings);
        let own = match self.make(parent, old.name(), true) {
            Ok(own) => own,
            Err(error) => {
                self.load_template_capacity(parent, leaf);
                return Err(error);
            }
        };
        self.reconfigure(leaf, &Arc::new(own));
        take_back(self.state, parent, leaf);
        Ok(())
    }

    /// What a leaf has taken over of its template when another setting of it is refused.
    // As AbstractCSQueue.setupQueueConfigs, which reads capacities before all else.
    fn load_template_capacity(&mut self, parent: QueueSlot, leaf: QueueSlot) {
        let settings = Arc::clone(&self.state.queues[parent].settings);
        for (name, of) in template_of(&settings).into_iter().flatten() {
            let partition = self.add_partition(name, false, false);
            let part = self.state.queues[leaf].part_mut(partition);
            part.capacity = fraction_of(&of.capacity.legacy, 0.0);
        }
    }

    /// Reinitialises a managed parent and its leaves; their order stays as it is.
    // As ManagedParentQueue.reinitialize.
    pub(in crate::commit) fn merge_managed(
        &mut self,
        parent: QueueSlot,
        settings: &Arc<QueueSettings>,
        below: &Map<&str, Vec<&Arc<QueueSettings>>>,
    ) -> Result<(), RefreshError> {
        check_managed_parent(self.state, parent, settings)?;
        self.read_template(parent, settings);
        self.reconfigure(parent, settings);
        let listed = below.get(&*settings.path).map_or(&[][..], Vec::as_slice);
        for child in self.state.queues[parent].children.clone() {
            let old = Arc::clone(&self.state.queues[child].settings);
            let same = |new: &&&Arc<QueueSettings>| new.path == old.path && new.kind == old.kind;
            if old.dynamic {
                self.merge_created(parent, child)?;
            } else if let Some(new) = listed.iter().find(same) {
                self.merge(child, new, below)?;
            }
        }
        for new in listed {
            if self.registry.queue_at(&new.path).is_none() {
                self.add_stray(parent, new, below)?;
            }
        }
        update_template(self.state, parent);
        check_created(self.state, parent)?;
        let leaves = leaves_by_submission(self.state, parent);
        for (partition, template) in self.state.queues[parent].template.clone() {
            let above = self.state.queues[parent].part(partition).absolute_capacity;
            let count = share::guarantees_within(above, template.absolute_capacity);
            for &leaf in leaves.iter().take(count) {
                take_vectors(self.state, parent, leaf);
                give(self.state, parent, leaf, partition);
            }
        }
        Ok(())
    }
}

/// Whether a managed parent takes over new settings.
pub(in crate::commit) fn check_managed_refresh(
    state: &State,
    parent: QueueSlot,
    new: &QueueSettings,
) -> Result<(), RefreshError> {
    if template_of(new).is_none() {
        return Ok(());
    }
    check_managed_parent(state, parent, new)?;
    check_created(state, parent)
}

/// Guarantees are given only below a parent whose children were all created.
// As GuaranteedOrZeroCapacityOverTimePolicy.computeQueueManagementChanges.
fn check_created(state: &State, parent: QueueSlot) -> Result<(), RefreshError> {
    let children = state.queues[parent].children.iter();
    let mut children = children.map(|&child| &state.queues[child].settings);
    match children.find(|child| !child.dynamic) {
        Some(child) => Err(RefreshError::NotCreated(child.path.to_string())),
        None => Ok(()),
    }
}

// As ManagedParentQueue.reinitialize.
fn check_managed_parent(
    state: &State,
    parent: QueueSlot,
    new: &QueueSettings,
) -> Result<(), RefreshError> {
    let old = &state.queues[parent];
    let Some(template) = template_of(new).filter(|_| template_of(&old.settings).is_some()) else {
        return Ok(());
    };
    let creation = new.creation.as_ref();
    if creation.is_some_and(|creation| creation.fail_on_exceeding_parent) {
        let capacity = |row: &Queue| row.part(PartitionId::DEFAULT).capacity;
        let children = old.children.iter();
        let given = children.map(|&child| capacity(&state.queues[child]));
        if capacity(old) < given.fold(0.0, share::sum) {
            return Err(RefreshError::GivenAway(new.path.to_string()));
        }
    }
    let mut parts = template.values();
    let absolute = |part: &PartitionSettings| !amount_of(&part.capacity.legacy).is_none();
    if old.mode != CapacityMode::Absolute && parts.any(absolute) {
        return Err(RefreshError::AbsoluteTemplate(new.path.to_string()));
    }
    Ok(())
}

/// Whether a managed parent has too little left for one more guarantee.
// As ManagedParentQueue.addChildQueue, by the template as it last was.
pub(in crate::commit) fn is_given_away(state: &State, parent: QueueSlot) -> bool {
    let row = &state.queues[parent];
    let capacity = |&child: &QueueSlot| {
        let row = &state.queues[child];
        row.part(PartitionId::DEFAULT).absolute_capacity
    };
    let given = row.children.iter().map(capacity).fold(0.0, share::sum);
    let template = row.template.get(&PartitionId::DEFAULT);
    let wanted = template.map_or(0.0, |template| template.absolute_capacity);
    share::sum(wanted, given) > row.part(PartitionId::DEFAULT).absolute_capacity
}

/// The template's absolute capacities, by what the parent has now.
// As GuaranteedOrZeroCapacityOverTimePolicy.updateTemplateAbsoluteCapacities.
fn update_template(state: &mut State, parent: QueueSlot) {
    state.epoch += 1;
    let legacy = state.settings.legacy_queue_mode;
    let Queue {
        template, parts, ..
    } = &mut state.queues[parent];
    for (partition, part) in template {
        if !legacy || part.capacity > 0.0 {
            let above = parts[*partition].absolute_capacity;
            part.absolute_capacity = share::product(part.capacity, above);
        }
    }
}

/// The leaves of a parent that have active or waiting applications, in the order in which the
/// first of these was submitted.
fn leaves_by_submission(state: &State, parent: QueueSlot) -> Vec<QueueSlot> {
    let children = &state.queues[parent].children;
    let lists = children.iter().flat_map(|&child| {
        let leaf = state.queues[child].as_leaf();
        leaf.active.iter().chain(&leaf.waiting).copied()
    });
    let mut apps: Vec<AppSlot> = lists.collect();
    apps.sort_by_key(|&app| state.apps[app].start);
    let mut leaves = Vec::new();
    for app in apps {
        let leaf = state.apps[app].leaf;
        if children.contains(&leaf) && !leaves.contains(&leaf) {
            leaves.push(leaf);
        }
    }
    leaves
}

/// Takes the guarantee of a leaf back on every partition of its parent. Its maximum on the
/// default partition becomes that of whichever partition is visited last.
// As AutoCreatedLeafQueue.updateCapacitiesToZero and AbstractCSQueue.internalSetMaximumCapacity.
fn take_back(state: &mut State, parent: QueueSlot, leaf: QueueSlot) {
    state.epoch += 1;
    let partitions = state.partition_ids();
    let known = |&partition: &PartitionId| state.queues[parent].part(partition).known;
    let mut partitions: Vec<PartitionId> = partitions.filter(known).collect();
    let name = |partition: PartitionId| Arc::clone(&state.partitions[partition].name);
    java_order::sort(&mut partitions, 0, |&partition| {
        java_order::string_hash(&name(partition))
    });
    let names: Vec<Arc<str>> = partitions.iter().copied().map(name).collect();
    for (partition, name) in partitions.into_iter().zip(names) {
        let above = &state.queues[parent];
        let template = above.template.get(&partition);
        let maximum = template.map_or(0.0, |template| template.maximum_capacity);
        let nothing = share::product(above.part(partition).absolute_capacity, 0.0);
        let highest = above.part(PartitionId::DEFAULT).absolute_maximum;
        let row = &mut state.queues[leaf];
        let part = row.part_mut(partition);
        (part.known, part.capacity, part.absolute_capacity) = (true, 0.0, nothing);
        let part = row.part_mut(PartitionId::DEFAULT);
        (part.known, part.maximum_capacity) = (true, maximum);
        part.absolute_maximum = share::product(maximum, highest);
        let shown = row.part(partition).maximum_capacity;
        let settings = &mut Arc::make_mut(&mut row.settings).partitions;
        let percent = |fraction| VectorEntry::Percent(f64::from(share::product(fraction, 100.0)));
        if let Some(of) = settings.get_mut("") {
            of.maximum.vector.fill(percent(maximum));
        }
        if let Some(of) = settings.get_mut(&name) {
            of.capacity.vector.fill(percent(0.0));
            of.maximum.vector.fill(percent(shown));
        }
        with_width!(state.calculator, N => update_used::<N>(state, leaf, partition));
    }
}

/// Takes over the vectors of the template, whoever has its guarantee.
// As ManagedParentQueue.setLeafQueuesCapacityVector.
fn take_vectors(state: &mut State, parent: QueueSlot, leaf: QueueSlot) {
    let settings = Arc::clone(&state.queues[parent].settings);
    let row = &mut state.queues[leaf];
    let own = &mut Arc::make_mut(&mut row.settings).partitions;
    for (name, of) in template_of(&settings).into_iter().flatten() {
        let Some(own) = own.get_mut(name) else {
            continue;
        };
        let or = |vector: &[VectorEntry], otherwise: f64| {
            let unset = vector.iter().all(|entry| *entry == VectorEntry::Unset);
            if unset {
                vec![VectorEntry::Percent(otherwise); vector.len()]
            } else {
                vector.to_vec()
            }
        };
        own.capacity.vector = or(&of.capacity.vector, 0.0);
        own.maximum.vector = or(&of.maximum.vector, 100.0);
    }
}

/// Gives a leaf the guarantee of the template on one partition.
// As AutoCreatedLeafQueue.mergeCapacities.
fn give(state: &mut State, parent: QueueSlot, leaf: QueueSlot, partition: PartitionId) {
    let Some(template) = state.queues[parent].template.get_mut(&partition) else {
        return;
    };
    template.given = share::sum(template.given, template.absolute_capacity);
    let template = *template;
    let highest = state.queues[parent].part(partition).absolute_maximum;
    let row = &mut state.queues[leaf];
    let part = row.part_mut(partition);
    part.capacity = template.capacity;
    part.absolute_capacity = template.absolute_capacity;
    part.maximum_capacity = template.maximum_capacity;
    part.absolute_maximum = share::product(template.maximum_capacity, highest);
    let shares = row.mode == CapacityMode::Absolute && template.absolute_capacity > 0.0;
    // Readings are epochs, which count from one.
    row.part_mut(partition).shares_guarantee =
        shares.then_some(template.reading).and_then(NonZeroU64::new);
}
