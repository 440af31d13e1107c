//! Settings of the preemption policy, as the reference's keys give them.

use crate::commit::PreemptionReason;

/// Everything that the policy is configured with. Queues carry their own switches; whether
/// containers linger until their place is needed is a setting of the whole scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Whether rounds run at all (`scheduler.monitor.enable` with this policy in its list).
    pub enabled: bool,
    /// Compute, but ask for nothing back.
    pub observe_only: bool,
    /// Time between two rounds in ms.
    pub monitoring_interval_ms: u64,
    /// Time from asking back to killing in ms.
    pub max_wait_before_kill_ms: u64,
    /// Share of the whole cluster that one round may select.
    pub total_per_round: f32,
    /// How far above its guarantee, as a share of it, a queue is left alone.
    pub max_ignored_over_capacity: f64,
    /// Share of the quota of a queue that one round takes.
    pub natural_termination_factor: f64,
    /// Whether containers are chosen so that reserved ones fit on their nodes.
    pub for_reservations: bool,
    /// Whether reserved resources count as demand; then the natural termination factor does not.
    pub reserved_counts_as_demand: bool,
    /// Whether a queue gives nothing more once its quota of one resource type is nothing.
    pub conservative: bool,
    /// Balancing of queues above their guarantees, when wanted: time from asking back to killing
    /// in ms.
    pub balance: Option<u64>,
    /// Preemption within queues, when wanted.
    pub intra_queue: Option<IntraQueueSettings>,
    /// Preemption for reservations of queues of higher priority, when wanted.
    pub queue_priority: Option<QueuePrioritySettings>,
    /// Age in ms from which on a reservation is dropped, whoever holds it. A rule of our own, off
    /// unless set, and independent of the monitor.
    pub reservation_timeout_ms: Option<u64>,
}

/// `intra-queue-preemption.*`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntraQueueSettings {
    /// Used share of the guarantee from which on a queue is looked at.
    pub minimum_threshold: f32,
    /// Share of the guarantee that one round may select.
    pub max_allowable_limit: f32,
    /// What is evened out.
    pub order: IntraQueueOrder,
    /// Whether giving ends once the quota of one resource type is nothing.
    pub conservative: bool,
}

/// `intra-queue-preemption.preemption-order-policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntraQueueOrder {
    /// Users first; priority counts inside a user.
    UserLimitFirst,
    /// Applications of higher priority take from lower ones of any user.
    PriorityFirst,
}

/// `ordering-policy.priority-utilization.underutilized-preemption.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePrioritySettings {
    /// Age from which on a reservation is served, in ms.
    pub reserved_container_delay_ms: u64,
    /// Whether reservations may move to nodes where they fit sooner.
    pub may_move_reservations: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: false,
            observe_only: false,
            monitoring_interval_ms: 3000,
            max_wait_before_kill_ms: 15_000,
            total_per_round: 0.1,
            max_ignored_over_capacity: 0.1,
            natural_termination_factor: 0.2,
            for_reservations: false,
            reserved_counts_as_demand: false,
            conservative: false,
            balance: None,
            intra_queue: None,
            queue_priority: None,
            reservation_timeout_ms: None,
        }
    }
}

impl Settings {
    /// Time from asking back to killing of the balance pass in ms, unless it is set.
    pub const BALANCE_WAIT_MS: u64 = 300_000;

    /// Whether rounds have anything to do.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.enabled || self.reservation_timeout_ms.is_some()
    }

    /// Time from asking back to killing in ms.
    pub(super) fn wait_ms(&self, reason: PreemptionReason) -> u64 {
        match (reason, self.balance) {
            (PreemptionReason::Balance, Some(wait)) => wait,
            _ => self.max_wait_before_kill_ms,
        }
    }

    /// Time between rounds in ms, at least 1; nothing when they have nothing to do.
    #[must_use]
    pub fn interval_ms(&self) -> Option<u64> {
        let interval = self.monitoring_interval_ms.max(1);
        self.is_active().then_some(interval)
    }
}

impl Default for IntraQueueSettings {
    fn default() -> Self {
        Self {
            minimum_threshold: 0.5,
            max_allowable_limit: 0.2,
            order: IntraQueueOrder::UserLimitFirst,
            conservative: true,
        }
    }
}

impl Default for QueuePrioritySettings {
    fn default() -> Self {
        Self {
            reserved_container_delay_ms: 60_000,
            may_move_reservations: false,
        }
    }
}
