//! One round: the selectors in their fixed order, and what becomes of the containers they chose.

use std::collections::BTreeMap;

use super::records::{AppRecord, Filling, UserRecord};
use super::settings::Settings;
use super::view::{LimitLookup, RoundInput};
use crate::commit::{PreemptionReason, Verdict, VerdictKind};
use crate::id::{ContainerId, java_order};
use crate::resource::{MAX_TYPES, ResourceVector, share};

/// What lives from round to round: which containers were asked back, and when.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    asked_back: BTreeMap<ContainerId, u64>,
}

/// What a round came to.
#[derive(Clone, Debug, Default)]
pub struct RoundPlan {
    /// What the ledger is to carry out, in order.
    pub verdicts: Vec<Verdict>,
    /// Containers that the selectors chose, in order; those whose wait is not over are left alone.
    pub chosen: Vec<(ContainerId, PreemptionReason)>,
    /// Ideal shares by queue of the view and partition, as the last filling left them.
    pub ideal: Vec<Vec<ResourceVector>>,
    /// Figures by queue of the view and partition, as the last filling left them.
    pub(super) figures: Vec<Vec<Figures>>,
    /// What the round could have selected beyond what it chose.
    pub(super) allowed: ResourceVector,
}

/// Figures of a queue on a partition that a round computes.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) ideal: ResourceVector,
    pub(super) to_preempt: ResourceVector,
    /// What is to be taken in this round.
    pub(super) quota: ResourceVector,
    pub(super) untouchable: ResourceVector,
    pub(super) preemptable: ResourceVector,
    pub(super) share: [f64; MAX_TYPES],
    pub(super) underserved: bool,
    /// Records of preemption within the queue, most important first.
    pub(super) apps: Vec<AppRecord>,
    pub(super) users: Vec<UserRecord>,
}

/// A round under way.
pub(super) struct Round<'a> {
    pub(super) view: &'a RoundInput,
    pub(super) settings: &'a Settings,
    pub(super) limits: &'a mut dyn LimitLookup,
    pub(super) now_ms: u64,
    /// By queue and partition.
    pub(super) figures: Vec<Vec<Figures>>,
    /// Leaves in the order of a hash set of their paths.
    pub(super) leaves: Vec<usize>,
    /// Queues that wanted more than they got, by partition.
    pub(super) underserved: Vec<Vec<usize>>,
    /// What the round may still select.
    pub(super) allowed: ResourceVector,
    /// Chosen containers in order.
    pub(super) chosen: Vec<(usize, PreemptionReason)>,
    is_chosen: Vec<bool>,
    /// Reservations to drop at once.
    dropped: Vec<usize>,
    is_dropped: Vec<bool>,
    /// Node of each container; reservations may move.
    pub(super) place: Vec<usize>,
    /// Reservation of each node.
    pub(super) reserved_on: Vec<Option<usize>>,
    /// Moves of reservations: container and target.
    pub(super) moves: Vec<(usize, usize)>,
    reason: PreemptionReason,
}

/// Decides one round at a time in ms; `memory` learns what was asked back. A view that is not
/// [sound](RoundInput::is_sound) is left alone: nothing is chosen.
// As ProportionalCapacityPreemptionPolicy.containerBasedPreemptOrKill.
pub fn plan(
    view: &RoundInput,
    settings: &Settings,
    limits: &mut dyn LimitLookup,
    memory: &mut Memory,
    now_ms: u64,
) -> RoundPlan {
    if !view.is_sound() {
        return RoundPlan::default();
    }
    let mut round = Round::new(view, settings, limits, now_ms);
    if settings.enabled {
        round.select();
    }
    let mut verdicts = round.moved();
    if !settings.observe_only {
        verdicts.extend(round.emit(memory));
        verdicts.extend(round.expired());
    }
    let id = |&(container, reason): &(usize, _)| (view.containers[container].id, reason);
    let shares = |parts: &Vec<Figures>| parts.iter().map(|part| part.ideal).collect();
    RoundPlan {
        verdicts,
        chosen: round.chosen.iter().map(id).collect(),
        ideal: round.figures.iter().map(shares).collect(),
        figures: round.figures,
        allowed: round.allowed,
    }
}

impl Memory {
    /// When a container was asked back, in ms.
    pub(super) fn asked_at(&self, container: ContainerId) -> Option<u64> {
        self.asked_back.get(&container).copied()
    }
}

impl<'a> Round<'a> {
    fn new(
        view: &'a RoundInput,
        settings: &'a Settings,
        limits: &'a mut dyn LimitLookup,
        now_ms: u64,
    ) -> Self {
        let partitions = view.partitions.len();
        let mut leaves: Vec<_> = (0..view.queues.len())
            .filter(|&queue| view.queues[queue].leaf.is_some())
            .collect();
        java_order::sort(&mut leaves, 0, |&leaf| {
            java_order::string_hash(&view.queues[leaf].path)
        });
        let per_round = f64::from(settings.total_per_round);
        let mut round = Self {
            view,
            settings,
            limits,
            now_ms,
            figures: vec![vec![Figures::default(); partitions]; view.queues.len()],
            leaves,
            underserved: vec![Vec::new(); partitions],
            allowed: share::times(&view.cluster, per_round),
            chosen: Vec::new(),
            is_chosen: vec![false; view.containers.len()],
            dropped: Vec::new(),
            is_dropped: vec![false; view.containers.len()],
            place: view.containers.iter().map(|row| row.node).collect(),
            reserved_on: view.nodes.iter().map(|node| node.reserved).collect(),
            moves: Vec::new(),
            reason: PreemptionReason::OverGuarantee,
        };
        for partition in 0..partitions {
            round.set_extras(partition);
        }
        round
    }

    fn select(&mut self) {
        let settings = self.settings;
        if let Some(priority) = &settings.queue_priority {
            self.reason = PreemptionReason::QueuePriority;
            self.select_for_priority(priority);
        }
        if settings.for_reservations {
            self.reason = PreemptionReason::Reservation;
            self.select_for_reservations();
        }
        self.reason = PreemptionReason::OverGuarantee;
        self.select_fifo(&Filling {
            include_reserved: settings.reserved_counts_as_demand,
            balance: false,
        });
        if settings.balance.is_some() {
            self.reason = PreemptionReason::Balance;
            self.select_fifo(&Filling {
                include_reserved: false,
                balance: true,
            });
        }
        if let Some(intra) = &settings.intra_queue {
            self.reason = PreemptionReason::WithinQueue;
            self.select_within_queues(intra);
        }
    }

    /// Whether an amount is larger than another as a share of the cluster.
    pub(super) fn more(&self, a: &ResourceVector, b: &ResourceVector) -> bool {
        let cluster = &self.view.cluster;
        self.view.calculator.compare(cluster, a, b).is_gt()
    }

    pub(super) fn is_chosen(&self, container: usize) -> bool {
        self.is_chosen[container]
    }

    pub(super) fn choose(&mut self, container: usize) {
        if !self.is_chosen[container] {
            self.is_chosen[container] = true;
            self.chosen.push((container, self.reason));
        }
    }

    pub(super) fn drop_reservation(&mut self, container: usize) {
        if !self.is_dropped[container] {
            self.is_dropped[container] = true;
            self.dropped.push(container);
        }
    }

    pub(super) fn node_of(&self, container: usize) -> usize {
        self.place[container]
    }

    /// Nodes in the order of a hash map of their ids.
    pub(super) fn nodes(&self) -> Vec<usize> {
        let mut nodes: Vec<_> = (0..self.view.nodes.len()).collect();
        java_order::sort(&mut nodes, 0, |&node| self.view.nodes[node].java_hash);
        nodes
    }

    fn verdict(&self, container: usize, reason: PreemptionReason, kind: VerdictKind) -> Verdict {
        let node = &self.view.nodes[self.place[container]];
        Verdict {
            container: self.view.containers[container].id,
            node: node.slot,
            reason,
            kind,
        }
    }

    fn moved(&self) -> Vec<Verdict> {
        let reason = PreemptionReason::QueuePriority;
        let mut place: Vec<_> = self.view.containers.iter().map(|row| row.node).collect();
        let mut verdicts = Vec::new();
        for &(container, target) in &self.moves {
            let to = self.view.nodes[target].slot;
            let mut verdict = self.verdict(container, reason, VerdictKind::MoveReservation { to });
            verdict.node = self.view.nodes[place[container]].slot;
            place[container] = target;
            verdicts.push(verdict);
        }
        verdicts
    }

    /// Reservations that waited longer than they may, unless the round drops or moves them anyway.
    fn expired(&self) -> Vec<Verdict> {
        let Some(timeout) = self.settings.reservation_timeout_ms else {
            return Vec::new();
        };
        let held = self.view.nodes.iter().filter_map(|node| node.reserved);
        let due = held.filter(|&held| {
            let row = &self.view.containers[held];
            self.now_ms.saturating_sub(row.created_ms) >= timeout
                && self.place[held] == row.node
                && !self.is_dropped[held]
        });
        let reason = PreemptionReason::ReservationTimeout;
        let verdict = |held| self.verdict(held, reason, VerdictKind::DropReservation);
        let mut verdicts: Vec<_> = due.map(verdict).collect();
        verdicts.sort_by_key(|verdict| verdict.container);
        verdicts
    }

    /// Asks back what was chosen for the first time, kills what is chosen still after its wait,
    /// and forgets what was asked back long ago. Ascending by container.
    // As ProportionalCapacityPreemptionPolicy.preemptOrkillSelectedContainerAfterWait.
    fn emit(&self, memory: &mut Memory) -> Vec<Verdict> {
        let now = self.now_ms;
        let (mut asked, mut ended) = (Vec::new(), Vec::new());
        for &(container, reason) in &self.chosen {
            let id = self.view.containers[container].id;
            let wait = self.settings.wait_ms(reason);
            match memory.asked_back.get(&id) {
                None => {
                    memory.asked_back.insert(id, now);
                    let deadline_ms = now.saturating_add(wait);
                    let kind = VerdictKind::AskBack { deadline_ms };
                    asked.push(self.verdict(container, reason, kind));
                }
                Some(since) if since.saturating_add(wait) <= now => {
                    memory.asked_back.remove(&id);
                    ended.push(self.verdict(container, reason, VerdictKind::Kill));
                }
                Some(_) => {}
            }
        }
        let keep = self.settings.max_wait_before_kill_ms.saturating_mul(2);
        let fresh = |since: u64| since.saturating_add(keep) >= now;
        memory.asked_back.retain(|_, since| fresh(*since));
        let reason = PreemptionReason::OverGuarantee;
        for &container in &self.dropped {
            ended.push(self.verdict(container, reason, VerdictKind::DropReservation));
        }
        asked.sort_by_key(|verdict| verdict.container);
        ended.sort_by_key(|verdict| verdict.container);
        asked.extend(ended);
        asked
    }
}
