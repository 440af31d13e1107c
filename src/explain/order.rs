//! The position of an application among those of its queue.

use std::sync::Arc;

use crate::id::{AppSlot, ApplicationId};
use crate::policy::{compare_waiting, resorted};
use crate::queue::{AppOrder, AppStage};
use crate::snapshot::State;

/// Applications ahead that a position names.
const AHEAD: usize = 5;

/// Which list of its queue an application stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderList {
    /// Applications that may be served.
    Active,
    /// Applications that wait for room for their master.
    Waiting,
    /// Applications that the limit of parallel ones parks.
    Parked,
}

impl OrderList {
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
    pub queue: Arc<str>,
}

/// The position of an application; nothing when it is over or wants nothing.
///
/// Cost: a look at the applications of the leaf, sorted anew where the leaf is fair.
pub(super) fn position(state: &State, app: AppSlot) -> Option<Position> {
    let row = &state.apps[app];
    let queue = &state.queues[row.leaf];
    let leaf = queue.as_leaf();
    let (list, among) = match row.stage {
        AppStage::Between | AppStage::Done | AppStage::Gone => return None,
        AppStage::Active => {
            let order = resorted(state, row.leaf).unwrap_or_else(|| leaf.active.clone());
            let asks = |app: &AppSlot| state.apps[*app].asking;
            (OrderList::Active, order.into_iter().filter(asks).collect())
        }
        AppStage::Waiting => (OrderList::Waiting, by_priority(state, &leaf.waiting)),
        AppStage::Parked => {
            let mut parked = leaf.parked.clone();
            parked.sort_by_key(|&app| state.apps[app].start);
            (OrderList::Parked, parked)
        }
    };
    let among: Vec<AppSlot> = among;
    let at = among.iter().position(|&other| other == app)?;
    let ahead = &among[..at];
    let higher = |other: &&AppSlot| state.apps[**other].priority > row.priority;
    let fair = matches!(queue.settings.leaf.app_order, AppOrder::Fair { .. });
    Some(Position {
        list,
        fair: fair && list == OrderList::Active,
        place: at + 1,
        of: among.len(),
        higher: ahead.iter().filter(higher).count(),
        ahead: ahead
            .iter()
            .take(AHEAD)
            .map(|&other| state.apps[other].id)
            .collect(),
        queue: Arc::clone(&queue.settings.path),
    })
}

fn by_priority(state: &State, apps: &[AppSlot]) -> Vec<AppSlot> {
    let mut apps = apps.to_vec();
    apps.sort_by(|&a, &b| compare_waiting(&state.apps[a], &state.apps[b]));
    apps
}
