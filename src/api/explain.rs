//! Explanations: why applications wait, and the reasons of refusals in the same words.

use std::sync::Arc;

use crate::commit::{AskError, Ledger, SubmitError};
use crate::explain::{Finding, Reason, WaitExplainer, Waiting, amounts};
use crate::id::ApplicationId;

/// What each live application waits for and why, in the order of their numbers; applications that
/// wait for nothing are left out.
///
/// Cost: proportional to the outstanding keys, and to the nodes for each size among them.
///
/// ```
/// use capsched::api::*;
///
/// let engine = example::cluster(); // the second container waits for a heartbeat
/// let found = waiting(engine.engine().ledger());
/// assert_eq!(found[0].0, ApplicationId::new(1));
/// assert_eq!(found[0].1[0].containers, 1);
/// ```
#[must_use]
pub fn waiting(ledger: &Ledger) -> Vec<(ApplicationId, Vec<Waiting>)> {
    let mut explainer = WaitExplainer::new(ledger.state());
    let apps = ledger.apps_by_id().into_iter();
    let found = apps.map(|(id, slot)| (id, explainer.waiting(slot)));
    found.filter(|(_, waits)| !waits.is_empty()).collect()
}

/// Why a submission was refused; `types` names the resource types in their order.
#[must_use]
pub fn refused_submission(error: &SubmitError, types: &[Arc<str>]) -> Finding {
    let found = |reason| Finding::new(reason, error.to_string());
    match error {
        SubmitError::UnknownQueue(path) => {
            let parent = path.rsplit_once('.').map_or("root", |(parent, _)| parent);
            found(Reason::QueueNotFound).by_queue_setting(parent, "queues")
        }
        SubmitError::QueueStopped(path) => {
            found(Reason::QueueStopped).by_queue_setting(path, "state")
        }
        SubmitError::TooManyInScheduler { .. } => found(Reason::MaxApplications)
            .by_setting("yarn.scheduler.capacity.maximum-applications"),
        SubmitError::TooManyInQueue { queue, .. } => {
            found(Reason::MaxApplications).by_queue_setting(queue, "maximum-applications")
        }
        SubmitError::TooManyOfUser { queue, .. } => {
            found(Reason::MaxApplications).by_queue_setting(queue, "user-limit-factor")
        }
        SubmitError::Master(error) => {
            let of_call = refused_call(error, types);
            let detail = format!("the master: {}", of_call.detail);
            Finding { detail, ..of_call }
        }
        _ => found(Reason::PlacementRejected),
    }
}

/// Why a call of an application was refused; `types` names the resource types in their order.
#[must_use]
pub fn refused_call(error: &AskError, types: &[Arc<str>]) -> Finding {
    match error {
        AskError::OutOfRange(bounds) => {
            let (size, largest) = (bounds.size, bounds.largest);
            let above = |index: &usize| size[*index] > largest[*index];
            let Some(index) = (0..types.len()).find(above) else {
                return Finding::new(Reason::InvalidRequest, error.to_string());
            };
            let detail = format!(
                "one container of {} is above the largest allocation of {}",
                amounts(&size, types),
                amounts(&largest, types)
            );
            let found = Finding::new(Reason::LargerThanMaxAllocation, detail);
            found.by_setting(match index {
                0 => "yarn.scheduler.maximum-allocation-mb".to_owned(),
                1 => "yarn.scheduler.maximum-allocation-vcores".to_owned(),
                _ => format!("yarn.resource-types.{}.maximum-allocation", types[index]),
            })
        }
        AskError::LabelAccess(_) => Finding::new(Reason::LabelNotAccessible, error.to_string()),
        _ => Finding::new(Reason::InvalidRequest, error.to_string()),
    }
}
