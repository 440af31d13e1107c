//! One look at what waits and why: by application, and summed by queue and reason.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use capsched::api::{ApplicationId, Finding, Reason, Waiting};
use capsched::explain::WaitExplainer;
use capsched::id::{AppSlot, QueuePath};
use capsched::snapshot::{Snapshot, State};

/// What one application waits for most, and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingByReason {
    /// The reason of the lowest tier, and of most containers there.
    pub finding: Finding,
    /// All containers that wait.
    pub containers: u64,
}

/// What waits in one queue for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingSum {
    /// Applications that wait for it first of all.
    pub applications: u64,
    /// Containers that wait for it.
    pub containers: u64,
}

/// What waited at one moment.
#[derive(Debug, Default)]
pub struct Pending {
    /// By application; those that wait for nothing are left out.
    pub apps: BTreeMap<ApplicationId, PendingByReason>,
    /// By leaf queue and reason.
    pub sums: BTreeMap<(QueuePath, Reason), PendingSum>,
}

impl Pending {
    fn add(&mut self, app: ApplicationId, queue: &QueuePath, waits: Vec<Waiting>) {
        let mut all = 0;
        for one in &waits {
            all += one.containers;
            let key = (queue.clone(), one.finding.reason);
            self.sums.entry(key).or_default().containers += one.containers;
        }
        let order = |one: &Waiting| (one.finding.reason, Reverse(one.containers));
        let Some(first) = waits.into_iter().min_by_key(order) else {
            return;
        };
        let key = (queue.clone(), first.finding.reason);
        self.sums.entry(key).or_default().applications += 1;
        let one = PendingByReason {
            finding: first.finding,
            containers: all,
        };
        self.apps.insert(app, one);
    }
}

/// Looks at one snapshot after the other. It keeps a working copy of the last one, so that a look copies only what
/// changed since.
#[derive(Debug)]
pub(super) struct Looker {
    /// What the copy shows.
    shown: Arc<Snapshot>,
    copy: State,
    /// What waits in the copy; nothing before the first look.
    seen: Option<Arc<Pending>>,
}

impl Looker {
    /// A looker that copies all of the first snapshot.
    pub(super) fn new(first: &Snapshot) -> Self {
        Self {
            shown: Arc::new(Snapshot::empty(Arc::clone(&first.settings))),
            copy: State::new(Arc::clone(&first.settings)),
            seen: None,
        }
    }

    /// What waits in a snapshot. One that was looked at already is not looked at again.
    ///
    /// Cost: a copy of each row that changed, then an explanation of each live application.
    pub(super) fn look(&mut self, newest: Arc<Snapshot>) -> Arc<Pending> {
        if let Some(seen) = self.seen.as_ref().filter(|_| self.shows(&newest)) {
            return Arc::clone(seen);
        }
        self.copy.refresh(&self.shown, &newest, |_| {});
        self.shown = newest;
        let seen = Arc::new(explained(&self.copy));
        self.seen = Some(Arc::clone(&seen));
        seen
    }

    fn shows(&self, newest: &Arc<Snapshot>) -> bool {
        Arc::ptr_eq(&self.shown, newest)
    }
}

fn explained(state: &State) -> Pending {
    let mut explainer = WaitExplainer::new(state);
    let mut pending = Pending::default();
    for slot in (0..state.apps.len()).map(AppSlot::at) {
        let app = &state.apps[slot];
        if app.stage.is_over() {
            continue;
        }
        let waits = explainer.waiting(slot);
        let queue = &state.queues[app.leaf].settings.path;
        pending.add(app.id, queue, waits);
    }
    pending
}
