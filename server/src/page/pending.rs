//! What waits and why: by application, and summed by queue and reason.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use capsched::api::{ApplicationId, Finding, Reason, Timeline, Waiting};
use capsched::explain::WaitExplainer;
use capsched::id::{AppSlot, QueuePath};
use capsched::snapshot::{Snapshot, State};
use capsched::sync::{Mutex, MutexGuard};

use super::timelines::Timelines;
use crate::rm::ResourceManager;

/// Shortest time between two looks, in ms.
const BETWEEN_MS: u64 = 1000;

/// A look is taken again after so many times what it took.
const SHARE: u64 = 10;

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

/// Looks from time to time. Readers share a look, so that many of them cost no more than one.
#[derive(Debug)]
pub struct PendingWatch {
    rm: Arc<ResourceManager>,
    last: Mutex<Look>,
    timelines: Mutex<Timelines>,
    /// Held while a look is taken; when the next one is due that nobody asks for.
    looking: Mutex<u64>,
}

#[derive(Debug, Default)]
struct Look {
    seen: Option<Arc<Pending>>,
    again_ms: u64,
}

impl PendingWatch {
    /// A watch over a resource manager.
    #[must_use]
    pub fn new(rm: Arc<ResourceManager>) -> Self {
        Self {
            rm,
            last: Mutex::default(),
            timelines: Mutex::default(),
            looking: Mutex::default(),
        }
    }

    fn last(&self, now_ms: u64) -> Option<Arc<Pending>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.seen.clone().filter(|_| now_ms < last.again_ms)
    }

    fn timelines(&self) -> MutexGuard<'_, Timelines> {
        self.timelines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What an application waited for, from look to look, and the present time, up to which the last reason holds. The
    /// first spans of a long history are forgotten.
    ///
    /// Cost: as [`Self::now`].
    #[must_use]
    pub fn timeline(&self, app: ApplicationId) -> (Timeline, u64) {
        drop(self.now());
        let timelines = self.timelines();
        // Within the lock, so that no look is later.
        let now_ms = self.rm.now_ms();
        (timelines.of(app, now_ms), now_ms)
    }

    /// What waits, as seen a second ago at most; longer ago where a look takes more than a tenth of a second.
    ///
    /// Cost: nothing, or a look at every live application; no decision waits for it.
    #[must_use]
    pub fn now(&self) -> Arc<Pending> {
        if let Some(seen) = self.last(self.rm.now_ms()) {
            return seen;
        }
        let _one = self.looking();
        let begun = self.rm.now_ms();
        if let Some(seen) = self.last(begun) {
            return seen;
        }
        let (seen, again_ms) = self.look(begun);
        let seen = Arc::new(seen);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Look {
            seen: Some(Arc::clone(&seen)),
            again_ms,
        };
        seen
    }

    /// Takes a look for the timelines alone, where one is due: who asks the first time still gets a fresh one.
    pub(crate) fn follow(&self) {
        let mut due_ms = self.looking();
        let begun = self.rm.now_ms();
        if begun >= *due_ms {
            *due_ms = self.look(begun).1;
        }
    }

    fn looking(&self) -> MutexGuard<'_, u64> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits now, and when the next look may follow.
    fn look(&self, begun: u64) -> (Pending, u64) {
        let seen = look(&self.rm);
        self.timelines().note(begun, &seen, &self.rm);
        let ended = self.rm.now_ms();
        let pause = BETWEEN_MS.max(SHARE * ended.saturating_sub(begun));
        (seen, ended + pause)
    }
}

fn look(rm: &ResourceManager) -> Pending {
    let newest = rm.engine().snapshot();
    let mut state = State::new(Arc::clone(&newest.settings));
    let empty = Snapshot::empty(Arc::clone(&newest.settings));
    state.refresh(&empty, &newest, |_| {});
    let mut explainer = WaitExplainer::new(&state);
    let mut pending = Pending::default();
    for slot in (0..state.apps.len()).map(AppSlot::at) {
        let app = &state.apps[slot];
        if app.stage.is_over() {
            continue;
        }
        let waits = explainer.waiting(slot);
        let queue = &state.queues[app.leaf].settings.path;
        pending.add(app.id, queue, &waits);
    }
    pending
}

impl Pending {
    fn add(&mut self, app: ApplicationId, queue: &QueuePath, waits: &[Waiting]) {
        let order = |one: &&Waiting| (one.finding.reason, std::cmp::Reverse(one.containers));
        let Some(first) = waits.iter().min_by_key(order) else {
            return;
        };
        let reason = first.finding.reason;
        let one = PendingByReason {
            finding: first.finding.clone(),
            containers: waits.iter().map(|one| one.containers).sum(),
        };
        self.apps.insert(app, one);
        for one in waits {
            let key = (queue.clone(), one.finding.reason);
            self.sums.entry(key).or_default().containers += one.containers;
        }
        let key = (queue.clone(), reason);
        self.sums.entry(key).or_default().applications += 1;
    }
}
