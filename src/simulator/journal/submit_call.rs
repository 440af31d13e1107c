//! A submission as it is kept in a journal.

use serde::{Deserialize, Serialize};

use super::ask_lines::{amounts_of, vector};
use crate::api::{AppSpec, ApplicationId, Restarts};
use crate::queue::PriorityRefusal;

/// What an application is submitted with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmitCall {
    /// Its number.
    pub app: u32,
    /// Submitting user.
    pub user: String,
    /// Queue.
    pub queue: String,
    /// Parent of placement rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Wished priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Why the user may not have the priority of its workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_priority: Option<PriorityRefusal>,
    /// Size of its master.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<Vec<i64>>,
    /// Label of its master.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_label: Option<String>,
    /// Label of asks that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Application tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What it keeps when its attempt ends.
    #[serde(default, skip_serializing_if = "is_never")]
    pub restarts: Restarts,
}

impl SubmitCall {
    /// The submission of an application.
    pub(super) fn of(spec: &AppSpec) -> Self {
        Self {
            app: spec.id.sequence,
            user: spec.user.clone(),
            queue: spec.queue.clone(),
            parent: spec.placement_parent.clone(),
            priority: spec.priority,
            refused_priority: spec.refused_priority,
            master: spec.master.as_ref().map(amounts_of),
            master_label: spec.master_partition.clone(),
            label: spec.partition.clone(),
            tags: spec.tags.clone(),
            restarts: spec.restarts,
        }
    }

    /// The submission as the scheduler takes it.
    #[must_use]
    pub fn spec(&self) -> AppSpec {
        AppSpec {
            id: ApplicationId::new(self.app),
            user: self.user.clone(),
            queue: self.queue.clone(),
            placement_parent: self.parent.clone(),
            priority: self.priority,
            refused_priority: self.refused_priority,
            master: self.master.as_deref().map(vector),
            master_partition: self.master_label.clone(),
            partition: self.label.clone(),
            tags: self.tags.clone(),
            restarts: self.restarts,
        }
    }
}

fn is_never(restarts: &Restarts) -> bool {
    *restarts == Restarts::Never
}
