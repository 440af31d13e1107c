//! What an application asks for as it is kept in a journal.

use serde::{Deserialize, Serialize};

use crate::api::{Ask, ContainerChange, ContainerUpdate, ResourceVector};

/// One ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskLine {
    /// Request priority.
    pub priority: i32,
    /// Allocation request id.
    pub id: i64,
    /// Host, rack or `*`.
    pub place: String,
    /// Size of one container.
    pub size: Vec<i64>,
    /// Number of containers.
    pub count: i32,
    /// Whether a less local place will do.
    pub relax: bool,
    /// Label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl AskLine {
    pub(super) fn of(ask: &Ask) -> Self {
        Self {
            priority: ask.priority,
            id: ask.request_id,
            place: ask.place.clone(),
            size: amounts_of(&ask.size),
            count: ask.count,
            relax: ask.relax_locality,
            label: ask.partition.clone(),
        }
    }

    /// The ask as the scheduler takes it.
    #[must_use]
    pub fn ask(&self) -> Ask {
        Ask {
            priority: self.priority,
            request_id: self.id,
            place: self.place.clone(),
            size: vector(&self.size),
            count: self.count,
            relax_locality: self.relax,
            partition: self.label.clone(),
        }
    }
}

/// One change of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateLine {
    /// Number of the container.
    pub container: u32,
    /// Version that the application knows.
    pub version: u32,
    /// How it is to change.
    pub change: ChangeLine,
}

/// How a container is to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeLine {
    /// To at least this size.
    Increase(Vec<i64>),
    /// To this size.
    Decrease(Vec<i64>),
    /// To guaranteed.
    Promote,
    /// To opportunistic.
    Demote,
}

impl UpdateLine {
    pub(super) fn of(update: &ContainerUpdate) -> Self {
        Self {
            container: update.container,
            version: update.version,
            change: match &update.change {
                ContainerChange::Increase(size) => ChangeLine::Increase(amounts_of(size)),
                ContainerChange::Decrease(size) => ChangeLine::Decrease(amounts_of(size)),
                ContainerChange::Promote => ChangeLine::Promote,
                ContainerChange::Demote => ChangeLine::Demote,
            },
        }
    }

    pub(super) fn update(&self) -> ContainerUpdate {
        ContainerUpdate {
            container: self.container,
            version: self.version,
            change: match &self.change {
                ChangeLine::Increase(size) => ContainerChange::Increase(vector(size)),
                ChangeLine::Decrease(size) => ContainerChange::Decrease(vector(size)),
                ChangeLine::Promote => ContainerChange::Promote,
                ChangeLine::Demote => ContainerChange::Demote,
            },
        }
    }
}

/// One scheduling request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConstrainedLine {
    /// Request priority.
    pub priority: i32,
    /// Allocation request id.
    pub id: i64,
    /// Size of one container.
    pub size: Vec<i64>,
    /// Number of containers.
    pub count: i32,
    /// Tags of the containers.
    pub tags: Vec<String>,
    /// Constraint in text form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
}

/// Amounts without the zeros at their end.
pub(super) fn amounts_of(size: &ResourceVector) -> Vec<i64> {
    let all = size.values(crate::api::MAX_TYPES);
    let used = all
        .iter()
        .rposition(|&amount| amount != 0)
        .map_or(0, |last| last + 1);
    all[..used].to_vec()
}

pub(super) fn vector(amounts: &[i64]) -> ResourceVector {
    ResourceVector::of(&amounts[..amounts.len().min(crate::api::MAX_TYPES)])
}
