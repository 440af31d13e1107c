//! Rows of queues between a ledger and a copy of it: copies without use, and what makes two ledgers alike.
//!
//! Tests: `tests/runtime/refresh_turns.rs`.

use crate::commit::ledger::Ledger;
use crate::queue::{Divisors, Leaf, Queue, Ranks, UserBounds};

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
        application_rule: leaf.application_rule,
        maximum_applications: leaf.maximum_applications,
        maximum_applications_per_user: leaf.maximum_applications_per_user,
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
