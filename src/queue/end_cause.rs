//! Why containers end, and the exit status that YARN gives for it.

use serde::Serialize;

/// Why a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndCause {
    /// It ran to its end; its node knows the exit status.
    Exited,
    /// Its application gave it back.
    Released,
    /// More were placed than its application still asked for (YARN-11702).
    Surplus,
    /// It was killed by a call about it.
    Killed,
    /// Others needed its place.
    Preempted,
    /// Its node has less than runs there.
    Overcommitted,
    /// Its node was lost.
    NodeLost,
    /// Its node did not launch it in time after it was handed out.
    Expired,
    /// Its application ended.
    ApplicationEnded,
    /// It was opportunistic: guaranteed containers of its node needed its room, or too many waited there.
    NodeQueue,
}

impl EndCause {
    /// A stable word for the cause.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Released => "released",
            Self::Surplus => "surplus",
            Self::Killed => "killed",
            Self::Preempted => "preempted",
            Self::Overcommitted => "overcommitted",
            Self::NodeLost => "node_lost",
            Self::Expired => "expired",
            Self::ApplicationEnded => "application_ended",
            Self::NodeQueue => "node_queue",
        }
    }

    /// The exit status that YARN answers applications with; nothing for one that exited, of which the node
    /// reports its own.
    // As SchedulerUtils and ContainerExitStatus: ABORTED, PREEMPTED, KILLED_BY_RESOURCEMANAGER and
    // KILLED_BY_CONTAINER_SCHEDULER.
    #[must_use]
    pub const fn exit_status(self) -> Option<i32> {
        match self {
            Self::Exited => None,
            Self::Preempted | Self::Overcommitted => Some(-102),
            Self::Killed => Some(-106),
            Self::NodeQueue => Some(-108),
            Self::Released
            | Self::Surplus
            | Self::NodeLost
            | Self::Expired
            | Self::ApplicationEnded => Some(-100),
        }
    }
}
