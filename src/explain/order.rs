//! The position of an application among those of its queue.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::id::{AppSlot, ApplicationId, Map, QueuePath, QueueSlot};
use crate::policy::{compare_waiting, resorted};
use crate::queue::{AppOrder, AppStage};
use crate::snapshot::State;

/// Applications ahead that a position names.
const AHEAD: usize = 5;

/// Which list of its queue an application stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderList {
    /// Applications that may be served.
    Active,
    /// Applications that wait for room for their master.
    Waiting,
    /// Applications that the limit of parallel ones parks.
    Parked,
}

impl OrderList {
    /// The list of the applications in a stage; nothing for those that wait for nothing.
    pub(super) const fn of(stage: AppStage) -> Option<Self> {
        match stage {
            AppStage::Active => Some(Self::Active),
            AppStage::Waiting => Some(Self::Waiting),
            AppStage::Parked => Some(Self::Parked),
            AppStage::Between | AppStage::Done | AppStage::Gone => None,
        }
    }

    /// The name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Waiting => "waiting",
            Self::Parked => "parked",
        }
    }
}

/// Where an application stands among those of its queue that want something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The list.
    pub list: OrderList,
    /// Whether the list is ordered by use (`fair`) rather than by priority and age (`fifo`).
    pub fair: bool,
    /// Place from 1.
    pub place: usize,
    /// Number of applications in the list that want something.
    pub of: usize,
    /// Applications ahead whose priority is higher.
    pub higher: usize,
    /// The first applications ahead, at most five.
    pub ahead: Vec<ApplicationId>,
    /// Full path of the queue.
    pub queue: QueuePath,
}

/// One list of a leaf in its order: the applications that want something.
#[derive(Debug)]
pub(super) struct ListOrder {
    list: OrderList,
    fair: bool,
    queue: QueuePath,
    among: Vec<AppSlot>,
    places: Map<AppSlot, usize>,
    /// Places of the applications of each priority, in order.
    by_priority: BTreeMap<i32, Vec<usize>>,
}

impl ListOrder {
    /// Cost: a look at the applications of the leaf, sorted anew unless the leaf keeps them sorted.
    pub(super) fn of(state: &State, leaf: QueueSlot, list: OrderList) -> Self {
        let queue = &state.queues[leaf];
        let lists = queue.as_leaf();
        let among: Vec<AppSlot> = match list {
            OrderList::Active => {
                let order = resorted(state, leaf).unwrap_or_else(|| lists.active.clone());
                let asks = |app: &AppSlot| state.apps[*app].asking;
                order.into_iter().filter(asks).collect()
            }
            OrderList::Waiting => by_priority(state, &lists.waiting),
            OrderList::Parked => {
                let mut parked = lists.parked.clone();
                parked.sort_by_key(|&app| state.apps[app].start);
                parked
            }
        };
        let mut by_priority: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (at, &app) in among.iter().enumerate() {
            let of_priority = by_priority.entry(state.apps[app].priority);
            of_priority.or_default().push(at);
        }
        let fair = matches!(queue.settings.leaf.app_order, AppOrder::Fair { .. });
        Self {
            list,
            fair: fair && list == OrderList::Active,
            queue: queue.settings.path.clone(),
            places: among
                .iter()
                .enumerate()
                .map(|(at, &app)| (app, at))
                .collect(),
            among,
            by_priority,
        }
    }

    /// The position of an application; nothing when it is not in the list.
    ///
    /// Cost: a search among the applications of each higher priority.
    pub(super) fn position(&self, state: &State, app: AppSlot) -> Option<Position> {
        let at = *self.places.get(&app)?;
        let above = (Bound::Excluded(state.apps[app].priority), Bound::Unbounded);
        let higher = self.by_priority.range(above);
        let higher = higher.map(|(_, places)| places.partition_point(|&place| place < at));
        let ahead = self.among[..at].iter().take(AHEAD);
        Some(Position {
            list: self.list,
            fair: self.fair,
            place: at + 1,
            of: self.among.len(),
            higher: higher.sum(),
            ahead: ahead.map(|&other| state.apps[other].id).collect(),
            queue: self.queue.clone(),
        })
    }
}

fn by_priority(state: &State, apps: &[AppSlot]) -> Vec<AppSlot> {
    let mut apps = apps.to_vec();
    apps.sort_by(|&a, &b| compare_waiting(&state.apps[a], &state.apps[b]));
    apps
}
