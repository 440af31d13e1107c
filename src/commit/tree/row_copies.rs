//! Rows of queues between a ledger and a copy of it: what a configuration decides, and what use does.
//!
//! Tests: `tests/runtime/refresh_turns.rs`.

use std::mem::swap;

use crate::commit::ledger::Ledger;
use crate::queue::{Divisors, Leaf, PerPartition, Queue, QueuePart, Ranks, UserBounds};

/// A copy of a queue without its applications and users.
pub(super) fn without_apps(row: &Queue) -> Queue {
    Queue {
        parent: row.parent,
        place: row.place,
        leaf: row.leaf.as_deref().map(leaf_without_apps).map(Box::new),
        parts: row.parts.clone(),
        settings: row.settings.clone(),
        children: row.children.clone(),
        apps: row.apps,
        runnable: row.runnable,
        most_children: row.most_children,
        state: row.state,
        mode: row.mode,
        reserved_by_present: row.reserved_by_present.clone(),
        template: row.template.clone(),
        removed: row.removed,
        stray: row.stray,
    }
}

fn leaf_without_apps(leaf: &Leaf) -> Leaf {
    Leaf {
        fair: leaf.fair,
        maximum_applications: leaf.maximum_applications,
        maximum_applications_per_user: leaf.maximum_applications_per_user,
        parts: PerPartition::new(leaf.parts.iter().count()),
        ..Leaf::default()
    }
}

/// Forgets what follows from use in a new leaf: the ledger computes it.
pub(super) fn forget_use(row: &mut Queue) {
    let Some(leaf) = &mut row.leaf else {
        return;
    };
    **leaf = leaf_without_apps(leaf);
    for part in row.parts.iter_mut() {
        part.counted = false;
    }
}

/// Has a queue take over what a configuration decides. What it was before is left in the other row.
pub(super) fn take_configuration(row: &mut Queue, new: &mut Queue) {
    swap(&mut row.settings, &mut new.settings);
    swap(&mut row.children, &mut new.children);
    swap(&mut row.template, &mut new.template);
    (row.most_children, row.mode) = (new.most_children, new.mode);
    (row.removed, row.stray) = (new.removed, new.stray);
    // Otherwise it is the place by the present ranks.
    if new.place == Queue::NOWHERE {
        row.place = Queue::NOWHERE;
    }
    for (part, new) in row.parts.iter_mut().zip(new.parts.iter_mut()) {
        take_part(part, new);
    }
    if let (Some(leaf), Some(new)) = (&mut row.leaf, &new.leaf) {
        leaf.fair = new.fair;
        leaf.maximum_applications = new.maximum_applications;
        leaf.maximum_applications_per_user = new.maximum_applications_per_user;
    }
}

/// Whether [`take_configuration`] changes nothing of a queue: its copies before and after the refresh.
pub(super) fn are_configured_alike(before: &Queue, after: &Queue) -> bool {
    let mut parts = before.parts.iter().zip(&after.parts);
    before.settings == after.settings
        && before.children == after.children
        && before.template == after.template
        && before.most_children == after.most_children
        && before.mode == after.mode
        && (before.removed, before.stray) == (after.removed, after.stray)
        && (before.place == Queue::NOWHERE) == (after.place == Queue::NOWHERE)
        && before.parts.iter().count() == after.parts.iter().count()
        && parts.all(|(before, after)| is_part_alike(before, after))
        && are_leaves_alike(before.leaf.as_deref(), after.leaf.as_deref())
}

fn are_leaves_alike(before: Option<&Leaf>, after: Option<&Leaf>) -> bool {
    let figures = |leaf: &Leaf| {
        let of_all = leaf.maximum_applications;
        (leaf.fair, of_all, leaf.maximum_applications_per_user)
    };
    before.map(figures) == after.map(figures)
}

fn is_part_alike(before: &QueuePart, after: &QueuePart) -> bool {
    fractions(before) == fractions(after) && configured(before) == configured(after)
}

/// The fractions that a configuration decides, by their bits.
fn fractions(part: &QueuePart) -> [u32; 7] {
    let fractions = [
        part.absolute_capacity,
        part.capacity,
        part.maximum_capacity,
        part.absolute_maximum,
        part.weight,
        part.normalized_weight,
        part.master_share,
    ];
    fractions.map(f32::to_bits)
}

/// What else it decides.
// Every field is named: a new one is use, as in `take_part`, one of `fractions`, or compared here.
fn configured(part: &QueuePart) -> impl PartialEq + '_ {
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
        absolute_capacity: _,
        capacity: _,
        maximum_capacity: _,
        absolute_maximum: _,
        weight: _,
        normalized_weight: _,
        master_share: _,
        limit,
        guaranteed,
        accessible,
        configured,
        known,
        mode,
        amounts,
        minimum_ratio,
        shares_guarantee,
    } = part;
    let flags = (accessible, configured, known, mode);
    let resources = (limit, guaranteed, amounts, minimum_ratio);
    (flags, resources, shares_guarantee)
}

/// The same on a partition: all figures but those that use moves.
fn take_part(part: &mut QueuePart, new: &mut QueuePart) {
    swap(part, new);
    swap(&mut part.used, &mut new.used);
    swap(&mut part.pending, &mut new.pending);
    swap(&mut part.reserved, &mut new.reserved);
    swap(&mut part.master_used, &mut new.master_used);
    swap(&mut part.ranks, &mut new.ranks);
    part.used_capacity = new.used_capacity;
    part.absolute_used = new.absolute_used;
    part.counted = new.counted;
    part.behind = new.behind;
    part.divisors = new.divisors;
}

/// Whether two ledgers are in the same state, but for caches that hold in one epoch alone.
///
/// Cost: the text of every row.
pub(super) fn are_alike(one: &Ledger, other: &Ledger) -> bool {
    let (a, b) = (&one.state, &other.state);
    let rows = |ledger: &Ledger| {
        let state = &ledger.state;
        let (users, apps) = (state.users.iter(), state.apps.iter());
        format!(
            "{:?} {:?}",
            users.collect::<Vec<_>>(),
            apps.collect::<Vec<_>>()
        )
    };
    let queues = |ledger: &Ledger| {
        let rows = ledger.state.queues.iter().map(without_caches);
        format!("{:?}", rows.collect::<Vec<_>>())
    };
    (a.epoch, a.minimum, a.cluster) == (b.epoch, b.minimum, b.cluster)
        && queues(one) == queues(other)
        && rows(one) == rows(other)
        && format!("{:?} {:?}", one.leaves, one.registry)
            == format!("{:?} {:?}", other.leaves, other.registry)
}

fn without_caches(row: &Queue) -> Queue {
    let mut row = row.clone();
    if row.place != Queue::NOWHERE {
        row.place = 0;
    }
    for part in row.parts.iter_mut() {
        (part.divisors, part.ranks) = (Divisors::default(), Ranks::default());
    }
    for leaf in row.leaf.iter_mut() {
        for part in leaf.parts.iter_mut() {
            part.bounds = UserBounds::default();
        }
    }
    row
}
