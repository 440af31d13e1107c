//! Applications that wait for room for their master, in classes of which one stands for all.
//!
//! The limits for masters look at partition, size and user of an application, and at nothing else of it. Within one
//! activation what masters use only grows: once one application of a class gets no room, no other of it does.
//! A refusal shows the limit of the user, but not for an application whose master runs already: one that was moved.
//!
//! # Invariants
//!
//! * A leaf's classes hold the applications of its waiting list, each by its priority and number.
//!
//! Tests: `tests/simulation/fast_paths.rs`, `tests/commit/active_users.rs`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{AppSlot, ApplicationId, Map, PartitionId, QueueSlot};
use crate::queue::App;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// Where an application stands among those that wait: priority, then number.
// Must equal [`compare_waiting`](crate::policy::compare_waiting).
type WaitingOrder = (Reverse<i32>, ApplicationId);

/// What the limits for masters look at, and whether a refusal is explained.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MasterClass {
    partition: PartitionId,
    size: ResourceVector,
    user: Arc<str>,
    unmanaged: bool,
}

/// The waiting applications of each leaf by class.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingClasses {
    leaves: Map<QueueSlot, LeafClasses>,
}

#[derive(Clone, Debug, Default)]
struct LeafClasses {
    /// The classes in which anyone waits.
    numbers: BTreeMap<MasterClass, usize>,
    /// By number, with the applications that wait, first in order first.
    classes: Vec<(MasterClass, BTreeSet<(WaitingOrder, AppSlot)>)>,
    /// Numbers that are not in use.
    free: Vec<usize>,
    places: Map<AppSlot, (usize, WaitingOrder)>,
    /// Whether an application was listed here when it left: it may be listed though it waits no more.
    strays: bool,
}

/// The first application of each class that is still looked at in one activation.
#[derive(Debug)]
pub(super) struct ClassHeads {
    heads: BinaryHeap<Reverse<(WaitingOrder, AppSlot, usize)>>,
}

impl ClassHeads {
    /// The next application in order, with the number of its class.
    pub(super) fn next(&mut self) -> Option<(AppSlot, usize)> {
        let Reverse((_, app, class)) = self.heads.pop()?;
        Some((app, class))
    }
}

impl LeafClasses {
    /// The number of a class, which has one from now on.
    fn number(&mut self, class: MasterClass) -> usize {
        if let Some(&number) = self.numbers.get(&class) {
            return number;
        }
        let number = self.free.pop().unwrap_or(self.classes.len());
        let entry = (class.clone(), BTreeSet::new());
        match self.classes.get_mut(number) {
            Some(free) => *free = entry,
            None => self.classes.push(entry),
        }
        self.numbers.insert(class, number);
        number
    }
}

impl WaitingClasses {
    /// An application waits in a leaf from now on, or waits there with another priority.
    pub(super) fn add(&mut self, leaf: QueueSlot, app: AppSlot, row: &App) {
        self.remove(leaf, app);
        let leaf = self.leaves.entry(leaf).or_default();
        let class = MasterClass {
            partition: row.master_partition,
            size: row.master_use(),
            user: Arc::clone(&row.submission.user_name),
            unmanaged: row.unmanaged,
        };
        let order = (Reverse(row.priority), row.id);
        let number = leaf.number(class);
        leaf.classes[number].1.insert((order, app));
        leaf.places.insert(app, (number, order));
    }

    /// An application waits in a leaf no more.
    pub(super) fn remove(&mut self, leaf: QueueSlot, app: AppSlot) {
        let Some(known) = self.leaves.get_mut(&leaf) else {
            return;
        };
        if let Some((number, order)) = known.places.remove(&app) {
            let (class, apps) = &mut known.classes[number];
            apps.remove(&(order, app));
            if apps.is_empty() {
                known.numbers.remove(class);
                known.free.push(number);
            }
        }
        if known.places.is_empty() {
            self.leaves.remove(&leaf);
        }
    }

    /// An application leaves a leaf, whose waiting list keeps it if it is there.
    pub(super) fn leave(&mut self, leaf: QueueSlot, app: AppSlot) {
        if let Some(leaf) = self.leaves.get_mut(&leaf) {
            leaf.strays |= leaf.places.contains_key(&app);
        }
    }

    /// The first application of each class of a leaf; nothing where an application is listed that waits no more.
    pub(super) fn heads(&self, leaf: QueueSlot) -> Option<ClassHeads> {
        let Some(leaf) = self.leaves.get(&leaf) else {
            return Some(ClassHeads {
                heads: BinaryHeap::new(),
            });
        };
        if leaf.strays {
            return None;
        }
        let first = leaf.numbers.values().filter_map(|&number| {
            let &(order, app) = leaf.classes[number].1.first()?;
            Some(Reverse((order, app, number)))
        });
        Some(ClassHeads {
            heads: first.collect(),
        })
    }

    /// Goes on with the next application of a class whose last one was activated.
    pub(super) fn go_on(&self, leaf: QueueSlot, class: usize, heads: &mut ClassHeads) {
        if is_planted(PlantedFlaw::WaitingClassesStopAtFirst) {
            return;
        }
        let known = self.leaves.get(&leaf);
        let first = known.and_then(|leaf| leaf.classes[class].1.first());
        heads
            .heads
            .extend(first.map(|&(order, app)| Reverse((order, app, class))));
    }

    /// The first application of a class whose master does not run yet.
    ///
    /// Cost: one look, and one more for each moved application that waits in front of it.
    pub(super) fn first_without_master(
        &self,
        leaf: QueueSlot,
        class: usize,
        state: &State,
    ) -> Option<AppSlot> {
        let apps = &self.leaves.get(&leaf)?.classes[class].1;
        let mut apps = apps.iter().map(|&(_, app)| app);
        apps.find(|&app| state.apps[app].master.is_none())
    }

    /// How many applications wait in a leaf.
    pub(super) fn len(&self, leaf: QueueSlot) -> usize {
        self.leaves.get(&leaf).map_or(0, |leaf| leaf.places.len())
    }
}
