//! Everything that an explanation says about one application.

use std::sync::Arc;

use super::finding::Finding;
use super::key::KeyExplanation;
use super::order::Position;
use super::waiting::WaitExplainer;
use crate::id::{AppSlot, ApplicationId, QueuePath};
use crate::queue::AppStage;
use crate::rescheduler::AppVerdict;

/// Why one application waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The application.
    pub app: ApplicationId,
    /// Its user.
    pub user: Arc<str>,
    /// Full path of its leaf.
    pub queue: QueuePath,
    /// Its priority.
    pub priority: i32,
    /// Where it stands.
    pub stage: AppStage,
    /// What it waits for, by key; for an application that is not active, one entry.
    pub keys: Vec<KeyExplanation>,
    /// Its position in the order of its queue.
    pub position: Option<Position>,
    /// What preemption does for it; nothing where preemption is not known.
    pub preemption: Option<AppVerdict>,
}

impl Explanation {
    /// The dominant reason: of the lowest tier among the keys, and of most containers there.
    #[must_use]
    pub fn dominant(&self) -> Option<&Finding> {
        let first = |key: &'_ KeyExplanation| key.findings.first().map(|found| found.reason);
        let keys = self.keys.iter().filter(|key| !key.findings.is_empty());
        let lowest = keys.min_by_key(|key| (first(key), std::cmp::Reverse(key.containers)));
        lowest.and_then(|key| key.findings.first())
    }

    /// The other reasons, each token once.
    #[must_use]
    pub fn secondary(&self) -> Vec<&Finding> {
        let dominant = self.dominant().map(|found| found.reason);
        let mut others: Vec<&Finding> = Vec::new();
        for found in self.keys.iter().flat_map(|key| &key.findings) {
            let known = others.iter().any(|other| other.reason == found.reason);
            if Some(found.reason) != dominant && !known {
                others.push(found);
            }
        }
        others.sort_by_key(|found| found.reason);
        others
    }

    /// Containers that wait.
    #[must_use]
    pub fn containers(&self) -> u64 {
        self.keys.iter().map(|key| key.containers).sum()
    }
}

/// Explains one application; nothing when it is over or waits for nothing.
///
/// Cost: a look at every node for each outstanding size, at the applications for the holders, and
/// at those of the leaf for the position.
pub fn explain(explainer: &mut WaitExplainer<'_>, app: AppSlot) -> Option<Explanation> {
    let keys = explainer.keys(app, true);
    if keys.is_empty() {
        return None;
    }
    let state = explainer.state();
    let row = &state.apps[app];
    Some(Explanation {
        app: row.id,
        user: Arc::clone(&row.submission.user_name),
        queue: state.queues[row.leaf].settings.path.clone(),
        priority: row.priority,
        stage: row.stage,
        keys,
        position: explainer.position(app),
        preemption: explainer.verdict(row.id).cloned(),
    })
}
