//! Admission: what a leaf and the queues above it check of a new application.
//!
//! Tests: `tests/inputs/requests.rs`.

use super::Leaves;
use crate::accounting::creator_of;
use crate::commit::apps::lifecycle::SubmitError;
use crate::id::QueueSlot;
use crate::queue::{Queue, QueueState};
use crate::snapshot::State;

impl Leaves {
    /// The checks that a leaf and its ancestors make; they create the user's record.
    // As AbstractLeafQueue.validateSubmitApplication.
    pub(in crate::commit) fn check_submission(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        user: &str,
    ) -> Result<(), SubmitError> {
        let queue = &state.queues[leaf];
        let path = || queue.settings.path.to_string();
        let Some(users) = &queue.leaf else {
            return Err(SubmitError::NotALeaf(path()));
        };
        check_takes(queue)?;
        let apps = users.active.len() + users.waiting.len() + users.parked.len();
        // Leaves that a managed parent created have no limits of applications.
        let unlimited = creator_of(state, leaf).map(|_| i32::MAX);
        let limit = unlimited.unwrap_or(users.maximum_applications);
        if i64::try_from(apps).unwrap_or(i64::MAX) >= i64::from(limit) {
            return Err(SubmitError::TooManyInQueue {
                queue: path(),
                limit,
            });
        }
        let limit = unlimited.unwrap_or(users.maximum_applications_per_user);
        let path = path();
        let record = self.user(state, leaf, user);
        let record = &state.users[record];
        if record.waiting_apps + record.active_apps >= limit {
            return Err(SubmitError::TooManyOfUser { queue: path, limit });
        }
        for above in state.chain(leaf).skip(1) {
            let above = &state.queues[above];
            if above.state != QueueState::Running {
                return Err(SubmitError::QueueStopped(above.settings.path.to_string()));
            }
        }
        Ok(())
    }
}

/// Whether a leaf takes applications at all: it runs, and has a place in the tree.
fn check_takes(leaf: &Queue) -> Result<(), SubmitError> {
    let queue = leaf.settings.path.to_string();
    if leaf.state != QueueState::Running {
        return Err(SubmitError::QueueStopped(queue));
    }
    if leaf.stray {
        return Err(SubmitError::TooManyInQueue { queue, limit: 0 });
    }
    Ok(())
}
