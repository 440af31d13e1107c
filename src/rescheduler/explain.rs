//! Why preemption does not help an application that waits: one reason each, with what shows it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::round::{Figures, Memory, RoundPlan};
use super::settings::Settings;
use super::view::RoundInput;
use crate::commit::PreemptionReason;
use crate::id::{ApplicationId, ContainerId, QueuePath};
use crate::metrics::Closed;
use crate::resource::{ResourceVector, share};

/// Why preemption gives an application nothing, or what is under way for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WhyNot {
    /// No round ever runs.
    Off,
    /// The application waits for room for its master, so that its asks do not count as demand.
    NotActive,
    /// Its user is at the limit in its queue; what users want beyond it is no demand.
    UserAtLimit,
    /// Its queue has its guarantee. Preemption across queues never takes for more than that.
    QueueAtGuarantee,
    /// Its queue has less than its guarantee, but the queues above it have nothing to give.
    ParentAtShare,
    /// Queues above their guarantees are protected by `disable_preemption`.
    Protected,
    /// No other queue uses more than its share: what is missing is free, fragmented, or elsewhere.
    NobodyAboveShare,
    /// Queues above their shares are too little above them to be asked (`max_ignored_over_capacity`).
    DeadZone,
    /// The quota is nothing after `natural_termination_factor` and rounding.
    RoundedAway,
    /// The round's limit (`total_preemption_per_round`) has no room for a container.
    BudgetSpent,
    /// The quota cannot be taken: masters within their share, or containers too large for it.
    NoSuitableContainer,
    /// Containers were chosen, but the policy only observes.
    ObserveOnly,
    /// Containers were asked back; they may be killed once their time is over.
    AwaitingDeadline,
    /// Containers are free to be killed as soon as the scheduler needs their place.
    Killable,
}

crate::closed_enum!(WhyNot {
    Off => "PREEMPTION_OFF",
    NotActive => "APPLICATION_NOT_ACTIVE",
    UserAtLimit => "USER_AT_LIMIT",
    QueueAtGuarantee => "QUEUE_AT_GUARANTEE",
    ParentAtShare => "PARENT_AT_SHARE",
    Protected => "PROTECTED_QUEUES",
    NobodyAboveShare => "NOBODY_ABOVE_SHARE",
    DeadZone => "WITHIN_DEAD_ZONE",
    RoundedAway => "ROUNDED_AWAY",
    BudgetSpent => "ROUND_LIMIT_SPENT",
    NoSuitableContainer => "NO_SUITABLE_CONTAINER",
    ObserveOnly => "OBSERVE_ONLY",
    AwaitingDeadline => "AWAITING_DEADLINE",
    Killable => "KILLABLE",
});

impl WhyNot {
    /// What the word means, as a part of a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Off => "preemption is off",
            Self::NotActive => "an application that waits for its master is no demand",
            Self::UserAtLimit => {
                "its user is at the user limit, and what is beyond it is no demand"
            }
            Self::QueueAtGuarantee => {
                "its queue has its guarantee, and nothing is taken from other queues for more"
            }
            Self::ParentAtShare => "the queues above it have nothing to give it",
            Self::Protected => "the queues above their guarantees are protected",
            Self::NobodyAboveShare => "no other queue uses more than its share",
            Self::DeadZone => "the queues above their guarantees are too little above them",
            Self::RoundedAway => {
                "what is to be taken is nothing after the natural termination factor"
            }
            Self::BudgetSpent => "the limit of the round has no room for a container",
            Self::NoSuitableContainer => {
                "what is to be taken is less than any container that may be taken"
            }
            Self::ObserveOnly => "containers are chosen, and the policy only observes",
            Self::AwaitingDeadline => "containers are asked back",
            Self::Killable => "containers may be killed once their place is needed",
        }
    }
}

/// A container that was asked back or chosen for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AskedBack {
    /// The container.
    pub container: ContainerId,
    /// The rule that chose it; nothing for one that may be killed already.
    pub rule: Option<PreemptionReason>,
    /// The time in ms from which on it may be killed; nothing where no time runs.
    pub until_ms: Option<u64>,
}

impl AskedBack {
    /// A container with the rule that chose it and the end of its time, where there are.
    #[must_use]
    pub const fn new(
        container: ContainerId,
        rule: Option<PreemptionReason>,
        until_ms: Option<u64>,
    ) -> Self {
        Self {
            container,
            rule,
            until_ms,
        }
    }

    const fn killable(container: ContainerId) -> Self {
        Self::new(container, None, None)
    }
}

/// What preemption does, or does not do, for one application that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppVerdict {
    /// The application.
    pub app: ApplicationId,
    /// Full path of its leaf.
    pub queue: QueuePath,
    /// The first partition on which it waits; empty for the default one.
    pub partition: Arc<str>,
    /// Why.
    pub reason: WhyNot,
    /// Queues that show it: who is protected, who is in the dead zone, who gives.
    pub queues: Vec<QueuePath>,
    /// Containers that were asked back or chosen for its queue.
    pub containers: Vec<AskedBack>,
}

impl AppVerdict {
    /// A verdict on the default partition without queues and containers.
    ///
    /// ```
    /// use capsched::api::{AppVerdict, ApplicationId, WhyNot};
    ///
    /// let verdict = AppVerdict::new(ApplicationId::new(1), "root.a", WhyNot::QueueAtGuarantee);
    /// assert!(verdict.token() == "QUEUE_AT_GUARANTEE" && verdict.rules().is_empty());
    /// ```
    #[must_use]
    pub fn new(app: ApplicationId, queue: impl Into<QueuePath>, reason: WhyNot) -> Self {
        Self {
            app,
            queue: queue.into(),
            partition: Arc::from(""),
            reason,
            queues: Vec::new(),
            containers: Vec::new(),
        }
    }

    /// The stable word for the reason.
    #[must_use]
    pub fn token(&self) -> &'static str {
        self.reason.name()
    }

    /// The rules that chose the containers, each once.
    #[must_use]
    pub fn rules(&self) -> Vec<PreemptionReason> {
        let mut rules: Vec<_> = self.containers.iter().filter_map(|of| of.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

impl std::fmt::Display for AppVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {}: {}", self.app, self.queue, self.token())?;
        if !self.partition.is_empty() {
            write!(f, " on `{}`", self.partition)?;
        }
        if !self.queues.is_empty() {
            write!(f, "; {}", self.queues.join(", "))?;
        }
        if let Some(first) = self.containers.first() {
            write!(f, "; {}", first.container)?;
            if self.containers.len() > 1 {
                write!(f, " and {} more", self.containers.len() - 1)?;
            }
            for rule in self.rules() {
                write!(f, " by {}", rule.name())?;
            }
            if let Some(until_ms) = first.until_ms {
                write!(f, " until {until_ms} ms")?;
            }
        }
        Ok(())
    }
}

/// What is the same for all applications of a leaf on a partition.
type Finding = (WhyNot, Vec<QueuePath>, Vec<AskedBack>);

struct Explainer<'a> {
    view: &'a RoundInput,
    plan: &'a RoundPlan,
    settings: &'a Settings,
    memory: &'a Memory,
    /// Chosen containers by partition, with their positions.
    chosen: Vec<Vec<(usize, PreemptionReason)>>,
}

/// Explains a round: every application with asks that wait, ascending by number.
pub(super) fn explain(
    view: &RoundInput,
    plan: &RoundPlan,
    settings: &Settings,
    memory: &Memory,
    names: &[Arc<str>],
) -> Vec<AppVerdict> {
    let mut explainer = Explainer {
        view,
        plan,
        settings,
        memory,
        chosen: vec![Vec::new(); view.partitions.len()],
    };
    explainer.place_chosen();
    let mut known: BTreeMap<(usize, usize), Finding> = BTreeMap::new();
    let mut verdicts = Vec::new();
    for (at, app) in view.apps.iter().enumerate() {
        let waits = |pending: &ResourceVector| view.calculator.any_above_zero(pending);
        let Some(partition) = app.pending.iter().position(waits) else {
            continue;
        };
        let leaf = app.queue;
        let (reason, queues, containers) = match explainer.of_app(at, leaf, partition) {
            Some(reason) => (reason, Vec::new(), Vec::new()),
            None => known
                .entry((leaf, partition))
                .or_insert_with(|| explainer.of_leaf(leaf, partition))
                .clone(),
        };
        verdicts.push(AppVerdict {
            app: app.id,
            queue: view.queues[leaf].path.clone(),
            partition: Arc::clone(&names[partition]),
            reason,
            queues,
            containers,
        });
    }
    verdicts
}

impl Explainer<'_> {
    fn place_chosen(&mut self) {
        let view = self.view;
        let position: BTreeMap<_, _> = (0..view.containers.len())
            .map(|at| (view.containers[at].id, at))
            .collect();
        for (id, reason) in &self.plan.chosen {
            if let Some(&at) = position.get(id) {
                let partition = view.nodes[view.containers[at].node].partition;
                self.chosen[partition].push((at, *reason));
            }
        }
    }

    /// What concerns the application alone.
    fn of_app(&self, app: usize, leaf: usize, partition: usize) -> Option<WhyNot> {
        if !self.settings.enabled {
            return Some(WhyNot::Off);
        }
        let row = &self.view.queues[leaf];
        let active = row.leaf.as_ref().map_or(&[][..], |leaf| &leaf.active);
        if !active.contains(&app) {
            return Some(WhyNot::NotActive);
        }
        let demand = &row.parts[partition].pending;
        (!self.view.calculator.any_above_zero(demand)).then_some(WhyNot::UserAtLimit)
    }

    fn more(&self, partition: usize, a: &ResourceVector, b: &ResourceVector) -> bool {
        let total = &self.view.partitions[partition];
        self.view.calculator.compare(total, a, b).is_gt()
    }

    fn figures(&self, queue: usize, partition: usize) -> &Figures {
        &self.plan.figures[queue][partition]
    }

    fn paths(&self, queues: &[usize]) -> Vec<QueuePath> {
        let path = |&queue: &usize| self.view.queues[queue].path.clone();
        queues.iter().map(path).collect()
    }

    /// Other leaves that use more than their guarantees.
    fn above_guarantee(&self, leaf: usize, partition: usize) -> Vec<usize> {
        let above = |&queue: &usize| {
            let row = &self.view.queues[queue];
            let part = &row.parts[partition];
            queue != leaf
                && row.leaf.is_some()
                && self.more(partition, &part.used, &part.guaranteed)
        };
        (0..self.view.queues.len()).filter(above).collect()
    }

    fn of_leaf(&self, leaf: usize, partition: usize) -> Finding {
        if let Some(under_way) = self.under_way(leaf, partition) {
            return under_way;
        }
        let part = &self.view.queues[leaf].parts[partition];
        if !self.more(partition, &part.guaranteed, &part.used) {
            return (WhyNot::QueueAtGuarantee, Vec::new(), Vec::new());
        }
        let above = self.above_guarantee(leaf, partition);
        let (protected, open): (Vec<_>, Vec<_>) = above
            .into_iter()
            .partition(|&queue| self.view.queues[queue].preemption_disabled);
        if open.is_empty() && !protected.is_empty() {
            return (WhyNot::Protected, self.paths(&protected), Vec::new());
        }
        if open.is_empty() {
            return (WhyNot::NobodyAboveShare, Vec::new(), Vec::new());
        }
        if !self.grows(leaf, partition) {
            let reason = if protected.is_empty() {
                WhyNot::ParentAtShare
            } else {
                WhyNot::Protected
            };
            return (reason, self.paths(&protected), Vec::new());
        }
        self.nothing_chosen(partition, &open)
    }

    /// Whether the ideal share of a leaf exceeds what it uses in a type that it asks for. What it is given of other types
    /// is of no use to it.
    fn grows(&self, leaf: usize, partition: usize) -> bool {
        let part = &self.view.queues[leaf].parts[partition];
        let ideal = &self.figures(leaf, partition).ideal;
        (0..self.view.calculator.types())
            .any(|of_type| part.pending[of_type] > 0 && ideal[of_type] > part.used[of_type])
    }

    /// Containers on their way to a leaf below its share: marked, killable, or only observed.
    fn under_way(&self, leaf: usize, partition: usize) -> Option<Finding> {
        let view = self.view;
        let part = &view.queues[leaf].parts[partition];
        let claims = self.more(partition, &part.guaranteed, &part.used);
        let for_leaf = |&&(at, reason): &&(usize, PreemptionReason)| {
            let from = view.apps[view.containers[at].app].queue;
            match reason {
                PreemptionReason::WithinQueue => from == leaf,
                PreemptionReason::Balance => from != leaf,
                _ => from != leaf && claims,
            }
        };
        let chosen: Vec<_> = self.chosen[partition].iter().filter(for_leaf).collect();
        if !chosen.is_empty() {
            let reason = if self.settings.observe_only {
                WhyNot::ObserveOnly
            } else {
                WhyNot::AwaitingDeadline
            };
            return Some((
                reason,
                self.givers(chosen.iter().map(|c| c.0)),
                self.times(&chosen),
            ));
        }
        let killable: Vec<_> = (0..view.containers.len())
            .filter(|&at| {
                let row = &view.containers[at];
                row.killable && view.nodes[row.node].partition == partition
            })
            .collect();
        (claims && !killable.is_empty()).then(|| {
            let ids = killable.iter().map(|&at| view.containers[at].id);
            let ids = ids.map(AskedBack::killable).collect();
            (WhyNot::Killable, self.givers(killable.iter().copied()), ids)
        })
    }

    fn times(&self, chosen: &[&(usize, PreemptionReason)]) -> Vec<AskedBack> {
        let time = |&&(at, reason): &&(usize, PreemptionReason)| {
            let container = self.view.containers[at].id;
            let asked = self.memory.asked_at(container);
            let wait = self.settings.wait_ms(reason);
            AskedBack {
                container,
                rule: Some(reason),
                until_ms: asked.map(|asked| asked.saturating_add(wait)),
            }
        };
        chosen.iter().map(time).collect()
    }

    /// The leaves that containers are taken from, each once.
    fn givers(&self, containers: impl Iterator<Item = usize>) -> Vec<QueuePath> {
        let from = |at: usize| self.view.apps[self.view.containers[at].app].queue;
        let mut leaves: Vec<_> = containers.map(from).collect();
        leaves.sort_unstable();
        leaves.dedup();
        self.paths(&leaves)
    }

    /// Why nothing of the leaves above their guarantees was chosen.
    fn nothing_chosen(&self, partition: usize, open: &[usize]) -> Finding {
        let view = self.view;
        let factor = share::one_and(self.settings.max_ignored_over_capacity);
        let near = |&queue: &usize| {
            let part = &view.queues[queue].parts[partition];
            let most = share::times(&part.guaranteed, factor);
            let compare = view.calculator.compare(&view.cluster, &part.used, &most);
            compare.is_le()
        };
        let (near, far): (Vec<_>, Vec<_>) = open.iter().copied().partition(near);
        if far.is_empty() {
            return (WhyNot::DeadZone, self.paths(&near), Vec::new());
        }
        let exceeds = |&queue: &usize| {
            let used = &view.queues[queue].parts[partition].used;
            self.more(partition, used, &self.figures(queue, partition).ideal)
        };
        let far: Vec<_> = far.into_iter().filter(exceeds).collect();
        if far.is_empty() {
            return (WhyNot::NobodyAboveShare, Vec::new(), Vec::new());
        }
        let (with_quota, rest): (Vec<_>, Vec<_>) = far.into_iter().partition(|&queue| {
            let quota = &self.figures(queue, partition).quota;
            self.some(quota)
        });
        if with_quota.is_empty() {
            return (
                self.without_quota(partition, &rest),
                self.paths(&rest),
                Vec::new(),
            );
        }
        let reason = if view.calculator.fits_in(&view.minimum, &self.plan.allowed) {
            WhyNot::NoSuitableContainer
        } else {
            WhyNot::BudgetSpent
        };
        (reason, self.paths(&with_quota), Vec::new())
    }

    /// Why leaves above their shares have no quota: the limit of the round left nothing, or the factor did.
    fn without_quota(&self, partition: usize, leaves: &[usize]) -> WhyNot {
        let in_budget = |&queue: &usize| self.some(&self.figures(queue, partition).to_preempt);
        if leaves.iter().any(in_budget) {
            WhyNot::RoundedAway
        } else {
            WhyNot::BudgetSpent
        }
    }

    fn some(&self, amount: &ResourceVector) -> bool {
        let view = self.view;
        let compare = view
            .calculator
            .compare(&view.cluster, amount, &ResourceVector::NONE);
        compare.is_gt()
    }
}
