//! Changes of running containers as plain data: what applications ask for, and what they are answered.

use std::fmt;

use serde::Serialize;

use crate::id::{ContainerId, NodeName};
use crate::resource::ResourceVector;

/// A change of one container of the calling application.
// As UpdateContainerRequest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUpdate {
    /// Number of the container.
    pub container: u32,
    /// The version of the container that the application knows: 0 at first, one more with each change.
    pub version: u32,
    /// What is to change.
    pub change: ContainerChange,
}

/// What is to change of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerChange {
    /// The container gets this size, once its node and its queue have room. A type with less than now stays as it
    /// is. A size that is no larger than now has no effect and no answer.
    Increase(ResourceVector),
    /// The container gets this size at once.
    Decrease(ResourceVector),
    /// An opportunistic container is guaranteed once its node and its queue have room.
    Promote,
    /// A guaranteed container is opportunistic at once: queue and node get its resources back.
    Demote,
}

impl ContainerChange {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> UpdateKind {
        match self {
            Self::Increase(_) => UpdateKind::Increase,
            Self::Decrease(_) => UpdateKind::Decrease,
            Self::Promote => UpdateKind::Promote,
            Self::Demote => UpdateKind::Demote,
        }
    }
}

/// How a container changes, in the order in which the changes of one call are taken over.
// As AbstractYarnScheduler.handleContainerUpdates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateKind {
    /// From opportunistic to guaranteed.
    Promote,
    /// To a larger size.
    Increase,
    /// From guaranteed to opportunistic.
    Demote,
    /// To a smaller size.
    Decrease,
}

impl UpdateKind {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// YARN's word for it.
    // As ContainerUpdateType.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Promote => "PROMOTE_EXECUTION_TYPE",
            Self::Increase => "INCREASE_RESOURCE",
            Self::Demote => "DEMOTE_EXECUTION_TYPE",
            Self::Decrease => "DECREASE_RESOURCE",
        }
    }
}

/// A container that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdatedContainer {
    /// The container.
    pub container: ContainerId,
    /// The node it runs on.
    pub node: NodeName,
    /// How it changed.
    pub kind: UpdateKind,
    /// Its size from now on.
    pub size: ResourceVector,
    /// Its version from now on.
    pub version: u32,
}

/// A change that was refused; the rest of its call is carried out.
// As UpdateContainerError.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateError {
    /// The change.
    pub update: ContainerUpdate,
    /// Why.
    pub refusal: UpdateRefusal,
    /// The container's version; nothing where there is no such container.
    pub version: Option<u32>,
}

/// Why a change of a container is refused, in the order of the checks.
// As RMServerUtils.validateAndSplitUpdateResourceRequests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum UpdateRefusal {
    /// The application has no live container with the number.
    InvalidContainerId,
    /// The container has another version.
    IncorrectContainerVersionError,
    /// The call changes the container twice, or the container has a change that the application has not fetched.
    UpdateOutstandingError,
    /// The size is negative, above the largest allocation, or above the size that is to decrease. A resize names a
    /// guaranteed container.
    ResourceOutsideAllowedRange,
}

impl UpdateRefusal {
    /// YARN's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidContainerId => "INVALID_CONTAINER_ID",
            Self::IncorrectContainerVersionError => "INCORRECT_CONTAINER_VERSION_ERROR",
            Self::UpdateOutstandingError => "UPDATE_OUTSTANDING_ERROR",
            Self::ResourceOutsideAllowedRange => "RESOURCE_OUTSIDE_ALLOWED_RANGE",
        }
    }
}

impl fmt::Display for UpdateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
