//! Why a tree of queues is refused.
//!
//! Tests: `tests/inputs/queues.rs`.

use std::fmt;

use crate::queue::Excess;

/// Why a tree of queues was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefreshError {
    /// The engine has shut down.
    Closed,
    /// The call came from inside a closure that looks at the ledger.
    Reentrant,
    /// The resource types differ from those that the engine was built with, which never change.
    ResourceTypes {
        /// Names of the present ones, in their order.
        present: String,
        /// Names of those of the new settings.
        new: String,
    },
    /// The labels of the cluster cannot be those that were named.
    Label {
        /// The label that is wrong.
        label: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A queue stands before its parent, or without one.
    UnknownParent(String),
    /// A queue is to run below one that does not.
    RunningBelowStopped(String),
    /// A queue is missing from the new tree and not stopped.
    NotStopped(String),
    /// A leaf that is not stopped is to become a parent.
    LeafNotStopped(String),
    /// A parent is to change how it creates queues.
    KindChange(String),
    /// A parent with an absolute capacity is to go without configured children.
    AbsoluteAboveWeights(String),
    /// The maximum allocation of a leaf is to shrink.
    AllocationDecreased(String),
    /// The children of a parent mix percentages, weights and absolute values.
    MixedModes(String),
    /// The templates make no valid settings for a queue that a submission created; the code of what
    /// is wrong with them.
    CreatedQueue(String, &'static str),
    /// The percentages below a parent, those of created queues among them, do not sum to 100.
    CapacitySum(String),
    /// A managed parent has a child that no submission created.
    NotCreated(String),
    /// The leaves that a managed parent created have more of it than it has of its own parent.
    GivenAway(String),
    /// The template of a managed parent without an absolute capacity has one.
    AbsoluteTemplate(String),
    /// An absolute amount of a queue is above another, by their shares of the present cluster.
    Excess(String, Box<Excess>),
}

impl RefreshError {
    /// A stable word for the reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reentrant => "reentrant",
            Self::ResourceTypes { .. } => "resource_types",
            Self::Label { .. } => "label",
            Self::UnknownParent(_) => "unknown_parent",
            Self::RunningBelowStopped(_) => "state_of_parent",
            Self::NotStopped(_) | Self::LeafNotStopped(_) => "queue_not_stopped",
            Self::KindChange(_) => "queue_kind_change",
            Self::AbsoluteAboveWeights(_) => "absolute_below_relative_parent",
            Self::AllocationDecreased(_) => "maximum_allocation_decreased",
            Self::MixedModes(_) => "mixed_capacity_modes",
            Self::AbsoluteTemplate(_) => "absolute_template",
            Self::CreatedQueue(_, code) => code,
            Self::CapacitySum(_) => "capacity_sum",
            Self::NotCreated(_) => "managed_parent_with_children",
            Self::GivenAway(_) => "guarantees_above_parent",
            Self::Excess(_, excess) => excess.code(),
        }
    }
}

impl fmt::Display for RefreshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the engine has shut down"),
            Self::Reentrant => f.write_str("a call from inside a closure that looks at the ledger"),
            Self::ResourceTypes { present, new } => write!(
                f,
                "the resource types are {present} and never change, the settings have {new}; start \
                 anew to change them"
            ),
            Self::Label { label, reason } => {
                write!(f, "the label `{}` {reason}", label.escape_debug())
            }
            Self::UnknownParent(queue) => write!(f, "`{queue}` has no parent in the tree"),
            Self::RunningBelowStopped(queue) => {
                write!(f, "`{queue}` cannot run while its parent does not")
            }
            Self::NotStopped(queue) => {
                write!(f, "`{queue}` is missing and was not stopped; stop it first")
            }
            Self::LeafNotStopped(queue) => {
                write!(f, "`{queue}` cannot become a parent before it is stopped")
            }
            Self::KindChange(queue) => {
                write!(f, "`{queue}` cannot change how it creates queues")
            }
            Self::AbsoluteAboveWeights(queue) => {
                write!(
                    f,
                    "`{queue}` has an absolute capacity, but no children in the list"
                )
            }
            Self::AllocationDecreased(queue) => {
                write!(f, "the maximum allocation of `{queue}` cannot shrink")
            }
            Self::MixedModes(queue) => write!(
                f,
                "the children of `{queue}` mix percentages, weights and absolute values"
            ),
            of_created => of_created.fmt_of_created(f),
        }
    }
}

impl RefreshError {
    /// The text of a refusal that is about queues that submissions created, or about amounts.
    fn fmt_of_created(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreatedQueue(queue, code) => {
                write!(
                    f,
                    "the templates make no valid settings for `{queue}`: {code}"
                )
            }
            Self::CapacitySum(queue) => write!(
                f,
                "the capacities of the children of `{queue}`, with those that submissions created, \
                 do not sum to 100 %"
            ),
            Self::NotCreated(queue) => write!(
                f,
                "the parent of `{queue}` creates its leaves, so it cannot be refreshed with it"
            ),
            Self::GivenAway(queue) => write!(
                f,
                "the leaves that `{queue}` created are guaranteed more than it may give them"
            ),
            Self::AbsoluteTemplate(queue) => write!(
                f,
                "the template of `{queue}` has an absolute capacity, `{queue}` has none"
            ),
            Self::Excess(queue, excess) => write!(
                f,
                "{}, by their shares of the present cluster",
                excess.describe(queue)
            ),
            _ => f.write_str(self.code()),
        }
    }
}

impl std::error::Error for RefreshError {}
