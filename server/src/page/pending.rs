//! What waits and why: by application, and summed by queue and reason.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use capsched::api::{ApplicationId, Reason, Waiting};
use capsched::explain::WaitExplainer;
use capsched::id::AppSlot;
use capsched::snapshot::{Snapshot, State};
use capsched::sync::Mutex;

use crate::rm::ResourceManager;

/// Shortest time between two looks, in ms.
const BETWEEN_MS: u64 = 1000;

/// A look is taken again after so many times what it took.
const SHARE: u64 = 10;

/// What one application waits for most, and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingByReason {
    /// The reason of the lowest tier, and of most containers there.
    pub reason: Reason,
    /// What is asked, used and allowed, as a sentence.
    pub detail: Arc<str>,
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
    pub sums: BTreeMap<(Arc<str>, Reason), PendingSum>,
}

/// Looks from time to time. Readers share a look, so that many of them cost no more than one.
#[derive(Debug)]
pub struct PendingWatch {
    rm: Arc<ResourceManager>,
    last: Mutex<Look>,
    /// Held while a look is taken.
    looking: Mutex<()>,
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
            looking: Mutex::default(),
        }
    }

    fn last(&self, now_ms: u64) -> Option<Arc<Pending>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.seen.clone().filter(|_| now_ms < last.again_ms)
    }

    /// What waits, as seen a second ago at most; longer ago where a look takes more than a tenth of a second.
    ///
    /// Cost: nothing, or a look at every live application; no decision waits for it.
    #[must_use]
    pub fn now(&self) -> Arc<Pending> {
        if let Some(seen) = self.last(self.rm.now_ms()) {
            return seen;
        }
        let _one = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = self.rm.now_ms();
        if let Some(seen) = self.last(begun) {
            return seen;
        }
        let seen = Arc::new(look(&self.rm));
        let ended = self.rm.now_ms();
        let pause = BETWEEN_MS.max(SHARE * ended.saturating_sub(begun));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Look {
            seen: Some(Arc::clone(&seen)),
            again_ms: ended + pause,
        };
        seen
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
    fn add(&mut self, app: ApplicationId, queue: &Arc<str>, waits: &[Waiting]) {
        let order = |one: &&Waiting| (one.finding.reason, std::cmp::Reverse(one.containers));
        let Some(first) = waits.iter().min_by_key(order) else {
            return;
        };
        let reason = first.finding.reason;
        let one = PendingByReason {
            reason,
            detail: first.finding.detail.as_str().into(),
            containers: waits.iter().map(|one| one.containers).sum(),
        };
        self.apps.insert(app, one);
        for one in waits {
            let key = (Arc::clone(queue), one.finding.reason);
            self.sums.entry(key).or_default().containers += one.containers;
        }
        let key = (Arc::clone(queue), reason);
        self.sums.entry(key).or_default().applications += 1;
    }
}
