//! What a configuration decides of a queue, apart from what use does.
//!
//! A refresh that is worked out on a copy hands over one such row for each queue that it configures otherwise. Rows
//! stand one after the other, and are smaller than queues. A ledger with some thousand queues waits for fewer lines of
//! memory than if it exchanged queues with the copy.
//!
//! Tests: `tests/runtime/refresh_turns.rs`.

use std::collections::BTreeMap;
use std::mem::swap;
use std::num::NonZeroU64;
use std::sync::Arc;

use crate::id::{PartitionId, QueueSlot};
use crate::queue::{
    ApplicationRule, CapacityMode, ConfiguredAmounts, Leaf, Queue, QueuePart, QueueSettings,
    TemplatePart,
};
use crate::resource::{MAX_TYPES, PackedVector};

/// What a configuration decides of a queue.
#[derive(Debug, PartialEq)]
pub(super) struct ConfiguredQueue {
    slot: QueueSlot,
    settings: Arc<QueueSettings>,
    mode: CapacityMode,
    removed: bool,
    stray: bool,
    /// Whether it is in no list. Otherwise its place is that by the present ranks.
    nowhere: bool,
    leaf: Option<ConfiguredLeaf>,
    /// Figures on the default partition.
    default: ConfiguredPart,
    /// Those on the other partitions that have a place.
    others: Vec<ConfiguredPart>,
    /// What only queues with children have.
    below: Option<Box<ConfiguredBelow>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ConfiguredLeaf {
    fair: bool,
    application_rule: ApplicationRule,
    maximum_applications: i32,
    maximum_applications_per_user: i32,
}

#[derive(Debug, Default, PartialEq)]
struct ConfiguredBelow {
    children: Vec<QueueSlot>,
    most_children: usize,
    template: BTreeMap<PartitionId, TemplatePart>,
}

#[derive(Debug, PartialEq)]
struct ConfiguredPart {
    fractions: Fractions,
    limit: PackedVector,
    guaranteed: PackedVector,
    accessible: bool,
    configured: bool,
    known: bool,
    mode: CapacityMode,
    amounts: ConfiguredAmounts,
    minimum_ratio: Option<Box<[Option<f32>; MAX_TYPES]>>,
    shares_guarantee: Option<NonZeroU64>,
}

/// Fractions by their bits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fractions([u32; 7]);

impl ConfiguredQueue {
    pub(super) fn of(slot: QueueSlot, row: &Queue) -> Self {
        let mut parts = row.parts.iter().map(ConfiguredPart::of);
        let default = parts.next().expect("the default partition has a place");
        let below = ConfiguredBelow {
            children: row.children.clone(),
            most_children: row.most_children,
            template: row.template.clone(),
        };
        Self {
            slot,
            settings: Arc::clone(&row.settings),
            mode: row.mode,
            removed: row.removed,
            stray: row.stray,
            nowhere: row.place == Queue::NOWHERE,
            leaf: row.leaf.as_deref().map(ConfiguredLeaf::of),
            default,
            others: parts.collect(),
            below: (below != ConfiguredBelow::default()).then(|| Box::new(below)),
        }
    }

    /// What a refresh configures otherwise, by the row of a queue before and after it.
    pub(super) fn changed(slot: QueueSlot, before: &Queue, after: &Queue) -> Option<Self> {
        let mut now = Self::of(slot, after);
        let mut before = Self::of(slot, before);
        let places = before.others.len().max(now.others.len());
        before.others.resize_with(places, ConfiguredPart::blank);
        now.others.resize_with(places, ConfiguredPart::blank);
        (now != before).then_some(now)
    }

    pub(super) const fn slot(&self) -> QueueSlot {
        self.slot
    }

    pub(super) const fn is_removed(&self) -> bool {
        self.removed
    }

    /// Has a queue take it over. What has memory of its own is exchanged: who drops this drops what it replaced.
    pub(super) fn install(&mut self, row: &mut Queue) {
        swap(&mut row.settings, &mut self.settings);
        (row.mode, row.removed, row.stray) = (self.mode, self.removed, self.stray);
        if self.nowhere {
            row.place = Queue::NOWHERE;
        }
        let parts = std::iter::once(&mut self.default).chain(&mut self.others);
        for (at, part) in parts.enumerate() {
            part.install(&mut row.parts[PartitionId::at(at)]);
        }
        if let (Some(leaf), Some(new)) = (&mut row.leaf, self.leaf) {
            leaf.fair = new.fair;
            leaf.application_rule = new.application_rule;
            leaf.maximum_applications = new.maximum_applications;
            leaf.maximum_applications_per_user = new.maximum_applications_per_user;
        }
        let had_any = row.most_children > 0 || !row.template.is_empty();
        if had_any || self.below.is_some() {
            let below = self.below.get_or_insert_default();
            swap(&mut row.children, &mut below.children);
            swap(&mut row.template, &mut below.template);
            row.most_children = below.most_children;
        }
    }
}

impl ConfiguredLeaf {
    fn of(leaf: &Leaf) -> Self {
        Self {
            fair: leaf.fair,
            application_rule: leaf.application_rule,
            maximum_applications: leaf.maximum_applications,
            maximum_applications_per_user: leaf.maximum_applications_per_user,
        }
    }
}

impl Fractions {
    // Every field of a part is named: a new one is use, one of these, or it is taken over with `ConfiguredPart`.
    fn of(part: &QueuePart) -> Self {
        let QueuePart {
            used: _,
            pending: _,
            reserved: _,
            master_used: _,
            ranks: _,
            used_capacity: _,
            absolute_used: _,
            counted: _,
            behind: _,
            divisors: _,
            limit: _,
            guaranteed: _,
            accessible: _,
            configured: _,
            known: _,
            mode: _,
            amounts: _,
            minimum_ratio: _,
            shares_guarantee: _,
            absolute_capacity: a,
            capacity: b,
            maximum_capacity: c,
            absolute_maximum: d,
            weight: e,
            normalized_weight: f,
            master_share: g,
        } = part;
        Self([a, b, c, d, e, f, g].map(|fraction| fraction.to_bits()))
    }

    fn install(self, part: &mut QueuePart) {
        [
            part.absolute_capacity,
            part.capacity,
            part.maximum_capacity,
            part.absolute_maximum,
            part.weight,
            part.normalized_weight,
            part.master_share,
        ] = self.0.map(f32::from_bits);
    }
}

impl ConfiguredPart {
    fn of(part: &QueuePart) -> Self {
        Self {
            fractions: Fractions::of(part),
            limit: part.limit.clone(),
            guaranteed: part.guaranteed.clone(),
            accessible: part.accessible,
            configured: part.configured,
            known: part.known,
            mode: part.mode,
            amounts: part.amounts.clone(),
            minimum_ratio: part.minimum_ratio.clone(),
            shares_guarantee: part.shares_guarantee,
        }
    }

    fn blank() -> Self {
        Self::of(&QueuePart::default())
    }

    fn install(&mut self, part: &mut QueuePart) {
        self.fractions.install(part);
        swap(&mut part.limit, &mut self.limit);
        swap(&mut part.guaranteed, &mut self.guaranteed);
        part.accessible = self.accessible;
        part.configured = self.configured;
        part.known = self.known;
        part.mode = self.mode;
        swap(&mut part.amounts, &mut self.amounts);
        swap(&mut part.minimum_ratio, &mut self.minimum_ratio);
        part.shares_guarantee = self.shares_guarantee;
    }
}
