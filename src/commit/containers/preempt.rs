//! Carrying out the verdicts of preemption, and what its rounds read of containers.
//!
//! Tests: `tests/preemption/rounds.rs`.

use super::container::Container;
use crate::commit::event::UnreserveReason;
use crate::commit::ledger::Ledger;
use crate::id::{ContainerId, NodeSlot};
use crate::proposer::Observation;
use crate::queue::EndCause;

/// A decision of preemption about one container or reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The container.
    pub container: ContainerId,
    /// The node that it was seen on.
    pub node: NodeSlot,
    /// Why it was chosen.
    pub reason: PreemptionReason,
    /// What is to happen.
    pub kind: VerdictKind,
}

/// What is to happen to a container or reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictKind {
    /// Its application is asked to give it back before a time in ms.
    AskBack {
        /// When it may be killed.
        deadline_ms: u64,
    },
    /// It ends now; under lazy preemption when its place is needed.
    Kill,
    /// The reservation is dropped.
    DropReservation,
    /// The reservation goes to another node.
    MoveReservation {
        /// The node.
        to: NodeSlot,
    },
}

/// Why preemption chose a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PreemptionReason {
    /// A queue of higher priority has a reservation on its node.
    QueuePriority,
    /// Its queue is above its share, and a reservation on its node needs the place.
    Reservation,
    /// Its queue is above its share and others want theirs.
    OverGuarantee,
    /// Queues above their guarantees are levelled.
    Balance,
    /// Another application of its queue is to have it.
    WithinQueue,
    /// A reservation that waited longer than reservations may.
    ReservationTimeout,
}

crate::closed_enum!(PreemptionReason {
    QueuePriority => "queue-priority",
    Reservation => "reservation",
    OverGuarantee => "over-guarantee",
    Balance => "balance",
    WithinQueue => "within-queue",
    ReservationTimeout => "reservation-timeout",
});

/// A round's verdicts, and what the round observed.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// Limits that were computed and orders that were looked up.
    pub observations: Vec<Observation>,
    /// Verdicts in the order in which they take effect.
    pub verdicts: Vec<Verdict>,
}

/// What a round of preemption decided, in the order of its verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreemptionRound {
    /// Containers asked back.
    pub marks: Vec<ContainerId>,
    /// Containers killed, or under lazy preemption free to be killed.
    pub kills: Vec<ContainerId>,
    /// Reservations dropped.
    pub dropped: Vec<ContainerId>,
    /// Reservations moved.
    pub moved: Vec<ContainerId>,
}

/// How far a round is carried out.
#[derive(Clone, Debug, Default)]
pub struct PreemptionProgress {
    /// The next verdict.
    next: usize,
    done: PreemptionRound,
}

impl PreemptionProgress {
    /// What the verdicts so far came to.
    #[must_use]
    pub fn into_round(self) -> PreemptionRound {
        self.done
    }
}

impl Ledger {
    /// Moves the clock forward.
    pub fn advance_clock(&mut self, ms: u64) {
        self.clock.advance(ms);
    }

    /// Time in ms since the start, as the ledger's clock was set.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Containers whose space on a node is taken, ended ones too, in order of placement.
    pub fn containers_of_node(&self, node: NodeSlot) -> impl Iterator<Item = &Container> {
        let placed = self.containers.placed_on(node).iter();
        placed.map(|&slot| self.container(slot))
    }

    /// The reservation on a node.
    #[must_use]
    pub fn reservation_on(&self, node: NodeSlot) -> Option<&Container> {
        let slot = self.containers.reserved_on(node)?;
        Some(self.container(slot))
    }

    /// Registered nodes in the order in which they registered.
    #[must_use]
    pub fn nodes_by_registration(&self) -> Vec<NodeSlot> {
        let nodes = self.registry.nodes_by_name().into_iter();
        let mut nodes: Vec<_> = nodes.map(|(_, node)| node).collect();
        nodes.sort_unstable_by_key(|&node| self.history.position(node));
        nodes
    }

    /// Prepares a round of preemption: it asks for the limit of every user with an active
    /// application, and a user whose record was dropped before that application ended gets one.
    // As AbstractLeafQueue.getTotalPendingResourcesConsideringUserLimit.
    pub fn know_active_users(&mut self) {
        let queues = self.state.queues.iter();
        let leaves = queues.filter_map(|queue| queue.leaf.as_ref());
        let apps = leaves.flat_map(|leaf| leaf.active.iter().copied());
        for app in apps.collect::<Vec<_>>() {
            self.leaves.user_of(&mut self.state, app);
        }
    }

    /// Carries out verdicts in order; those that no longer hold have no effect.
    pub fn preempt(&mut self, round: &Verdicts) -> PreemptionRound {
        let mut progress = PreemptionProgress::default();
        self.preempt_on(round, &mut progress, &mut { usize::MAX });
        progress.done
    }

    /// Goes on with the verdicts of a round, as many as the budget has; whether all are carried out.
    pub fn preempt_on(
        &mut self,
        round: &Verdicts,
        progress: &mut PreemptionProgress,
        budget: &mut usize,
    ) -> bool {
        if progress.next == 0 {
            self.observe(&round.observations);
        }
        let left = &round.verdicts[progress.next..];
        let now = &left[..left.len().min(*budget)];
        for verdict in now {
            self.carry_out_verdict(verdict, &mut progress.done);
        }
        progress.next += now.len();
        *budget -= now.len();
        now.len() == left.len()
    }

    fn carry_out_verdict(&mut self, verdict: &Verdict, done: &mut PreemptionRound) {
        let id = verdict.container;
        match verdict.kind {
            VerdictKind::AskBack { .. } => {
                done.marks.push(id);
                self.ask_back(id);
            }
            VerdictKind::Kill if self.state.settings.lazy_preemption => {
                done.kills.push(id);
                self.containers
                    .make_killable(&mut self.state, verdict.node, id);
            }
            VerdictKind::Kill => {
                done.kills.push(id);
                self.end_by_verdict(verdict);
            }
            VerdictKind::DropReservation => {
                done.dropped.push(id);
                self.end_by_verdict(verdict);
            }
            VerdictKind::MoveReservation { to } => {
                done.moved.push(id);
                let (state, outbox) = (&mut self.state, &mut self.outbox);
                self.containers.move_reservation(state, outbox, verdict, to);
            }
        }
    }

    /// The next answer to the application lists a live container once.
    pub(in crate::commit) fn ask_back(&mut self, id: ContainerId) {
        let Some(slot) = self.live_container(id) else {
            return;
        };
        let app = self.container(slot).app;
        self.containers.ask_back(app, id.number);
    }

    fn end_by_verdict(&mut self, verdict: &Verdict) {
        let slot = self.live_container(verdict.container);
        if let Some(slot) =
            slot.or_else(|| self.containers.reservation(verdict.node, verdict.container))
        {
            let reason = match verdict.reason {
                PreemptionReason::ReservationTimeout => UnreserveReason::Timeout,
                _ => UnreserveReason::Kill,
            };
            self.end_as(slot, EndCause::Preempted, reason);
        }
    }
}
