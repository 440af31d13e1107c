//! An ask for a gang as it is kept in a journal.

use serde::{Deserialize, Serialize};

use super::ask_lines::{amounts_of, vector};
use crate::api::{ApplicationId, Closeness, GangAsk};

/// An ask for a gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GangCall {
    /// Its application.
    pub app: u32,
    /// Request priority.
    pub priority: i32,
    /// Allocation request id.
    pub id: i64,
    /// Size of one member.
    pub size: Vec<i64>,
    /// Members placed together.
    pub minimum: u32,
    /// Members asked for afterwards.
    #[serde(default)]
    pub elastic: u32,
    /// How long it may wait in ms.
    pub within_ms: u64,
    /// How close together the minimum has to be.
    #[serde(default)]
    pub close: Closeness,
    /// Label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl GangCall {
    /// The call for a gang.
    pub(super) fn of(app: ApplicationId, gang: &GangAsk) -> Self {
        Self {
            app: app.sequence,
            priority: gang.priority,
            id: gang.request_id,
            size: amounts_of(&gang.size),
            minimum: gang.minimum,
            elastic: gang.elastic,
            within_ms: gang.within_ms,
            close: gang.close.clone(),
            label: gang.partition.clone(),
        }
    }

    /// The gang as the scheduler takes it.
    #[must_use]
    pub fn gang(&self) -> GangAsk {
        GangAsk {
            priority: self.priority,
            request_id: self.id,
            size: vector(&self.size),
            minimum: self.minimum,
            elastic: self.elastic,
            within_ms: self.within_ms,
            close: self.close.clone(),
            partition: self.label.clone(),
        }
    }
}
