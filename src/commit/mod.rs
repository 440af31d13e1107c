//! The committer: validates proposals against the live state, applies or rejects them, and
//! carries out every other change, one at a time.
//!
//! # Owners
//!
//! The [`Ledger`] owns the live state and everything that only its writer keeps. Each part has private fields:
//!
//! | part | keeps |
//! | --- | --- |
//! | `State` | what decisions read; figures in it are moved by [`crate::accounting`] |
//! | `Containers` | records of containers, and the lists of applications and nodes that name them |
//! | `Registry` | slots of hosts, partitions, queues, applications and nodes by name; free slots |
//! | `Outbox` | events for the outside, and follow-up events |
//! | `Leaves` | records of users, skippable heads, removed users that still ask, counts of running applications |
//! | `NodeHistory` | order of registrations, nodes that left with tags, the largest node |
//! | `PlacementTags` | tags on nodes and placement constraints |
//! | `AttemptNumbers` | last attempts of ended applications |
//! | `Recovery` | containers of applications that are not recovered yet |
//! | `Gangs` | gangs that wait, hold nodes or are placed |
//! | `Opportunistic` | asks for opportunistic containers, queues of nodes and their order |
//! | `LedgerClock` | time, lifetimes, order of starts |
//! | `Fetches` | fetches that wait, and when visits paused for them |
//!
//! Parts that are always used together have a view, which the ledger makes of them:
//!
//! | view | parts | for |
//! | --- | --- | --- |
//! | `NodeQueues`, `NodeRooms` | `Opportunistic`, `Containers`, `State`; to write also `Outbox` and the clock | opportunistic containers |
//! | `GangNodes` | `Gangs`, `State`, `Outbox` | gangs that watch or hold nodes |
//! | `Labels` | `Registry`, `State` | labels of the cluster, checks of nodes |
//! | `NodeWatch`, `DueReports` | `Containers`, `State`; to read also `Outbox` | which nodes are to be looked at |
//!
//! # Life of a proposal
//!
//! 1. Observations of its pass are applied (`proposals::observe`).
//! 2. A simple allocation takes the fast path (`proposals::simple_allocation`).
//! 3. Everything else is validated in the reference's order (`proposals::validate`), on its alternate where
//!    the first node does not take it.
//! 4. What holds is applied as a whole (`proposals::apply`), and the event is added.
//! 5. Calls on the resource manager follow after the step (`follow_up_events`).
//!
//! # Invariants
//!
//! * Only the owner of the [`Ledger`] changes the live state; everything else reads.
//! * A proposal is applied as a whole or leaves no trace but its observations.
//! * Used of a queue is the sum of its children's, and of its containers and reservations; between a
//!   [`CommitBatch`] and settling, with what it was not charged with yet ([`UnsettledQueue::used`]).
//! * A [`Ledger`] that can be changed is settled. Only a [`CommitBatch`] defers anything, and only [`Unsettled`] hands
//!   one out. While something waits, [`UnsettledView`] is all that can be read, by audits and tests; it shows no
//!   figure that waits.

mod apps;
mod containers;
mod event;
mod event_counts;
mod event_text;
mod fetches;
mod follow_up_events;
mod gangs;
mod leaves;
mod ledger;
mod nodes;
mod opportunistic;
mod outbox;
mod place_names;
mod proposals;
mod registry;
mod tree;

pub use apps::ask_error::{AskError, OutOfRange};
pub use apps::ask_order::AskOrder;
pub use apps::ask_steps::AskProgress;
pub use apps::clock::effective_lifetime;
pub use apps::lifecycle::{AppError, SubmitError, Submitted};
pub use apps::move_preparation::MovePreparation;
pub use apps::operations::{LeafApps, MovedApps};
pub use containers::container::{Container, ContainerState};
pub use containers::hand_out::HandOut;
pub use containers::in_passes::{BothCopies, CopiedRows, InPasses};
pub use containers::live_numbers::LiveNumbers;
pub use containers::placed_copy::{PlacedCopy, SeenContainer};
pub use containers::preempt::{
    PreemptionProgress, PreemptionReason, PreemptionRound, Verdict, VerdictKind, Verdicts,
};
pub use containers::running_copy::{LiveContainer, RunningCopy};
pub use containers::slot::ContainerSlot;
pub use event::{
    AppEnd, AuxiliaryContainer, Ending, Event, GangEvent, GangStep, OpportunisticEvent,
    OpportunisticStep, UnreserveReason,
};
pub use event_counts::EventCounts;
pub(crate) use fetches::{Fetch, Fetches};
pub use gangs::WaitingGang;
pub use gangs::preparation::GangPreparation;
pub use ledger::Ledger;
pub use nodes::known_labels::{Labels, PartitionSpec};
pub use nodes::label_removal::LabelRemoval;
pub use nodes::node_error::NodeError;
pub use nodes::recovered::{AppRecovery, NodeContents, Recovered, Unclaimed};
pub use nodes::registration::HeartbeatReply;
pub use nodes::watch::{DueReports, NodeWatch};
pub use opportunistic::copied_figures::AllNodeQueues;
pub use opportunistic::rooms::NodeRooms;
pub use opportunistic::{NodeQueue, NodeQueueFigures};
pub(crate) use proposals::batch::LedgerOwner;
pub use proposals::batch::{CommitBatch, Unsettled};
pub use proposals::conflict::Conflict;
pub use proposals::outcome::CommitOutcome;
pub use proposals::reclaimed_slots::Freed;
pub use proposals::unsettled_view::{UnsettledQueue, UnsettledUser, UnsettledView};
pub use tree::prepared::{PreparedRefresh, TreeCopy};
pub use tree::refresh_error::RefreshError;
