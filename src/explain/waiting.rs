//! Why an application waits: admission first, then each key by limits, order and nodes.

use std::sync::Arc;

use super::evidence::Evidence;
use super::finding::{Finding, Waiting, amounts, amounts_beside};
use super::gang::{self, GangOfApp};
use super::holders::{HolderScope, Holders};
use super::key::KeyExplanation;
use super::nodes::{Offer, is_particular, offer};
use super::opportunistic;
use super::order::{ListOrder, OrderList, Position};
use super::quota::{never_within, of_master, of_parallel, of_queues, of_root, of_user};
use super::reason::Reason;
use crate::id::{AppSlot, ApplicationId, Map, NameId, PartitionId, QueueSlot, UserSlot};
use crate::queue::{AppStage, KeyAsks, SchedulerSettings, WaitingOpportunistic};
use crate::rescheduler::AppVerdict;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// What is under way for applications and stands in no state.
#[derive(Clone, Debug, Default)]
pub struct UnderWay {
    /// What preemption does for those that wait.
    pub preemption: Vec<AppVerdict>,
    /// How often the commit refused what was proposed for an application since it last got something.
    pub refused: Map<ApplicationId, u64>,
    /// Gangs that wait, in the order in which they were asked.
    pub gangs: Vec<GangOfApp>,
    /// Opportunistic containers that wait.
    pub opportunistic: Vec<WaitingOpportunistic>,
}

/// Explains the applications of one state. What all nodes offer to a size is looked up once; so are the largest holders
/// of each limit, the order of each list of applications, and what stops masters of one user and size.
#[derive(Debug)]
pub struct WaitExplainer<'a> {
    state: &'a State,
    offers: Map<(PartitionId, ResourceVector), Offer>,
    holders: Holders<'a>,
    orders: Map<(QueueSlot, OrderList), ListOrder>,
    masters: Map<MasterKey, Finding>,
    under_way: UnderWay,
    /// Where each application stands in the lists of what is under way.
    places: UnderWayPlaces,
}

/// What decides why a master waits: its user in a leaf, its partition and its size.
type MasterKey = (QueueSlot, UserSlot, PartitionId, ResourceVector);

/// Indices into the lists of [`UnderWay`], by application.
#[derive(Debug, Default)]
struct UnderWayPlaces {
    verdicts: Map<ApplicationId, usize>,
    gangs: Map<AppSlot, Vec<usize>>,
    opportunistic: Map<AppSlot, Vec<usize>>,
}

impl UnderWayPlaces {
    fn of(under_way: &UnderWay) -> Self {
        let mut places = Self::default();
        for (at, verdict) in under_way.preemption.iter().enumerate() {
            places.verdicts.entry(verdict.app).or_insert(at);
        }
        for (at, gang) in under_way.gangs.iter().enumerate() {
            places.gangs.entry(gang.app).or_default().push(at);
        }
        for (at, waiting) in under_way.opportunistic.iter().enumerate() {
            places
                .opportunistic
                .entry(waiting.app)
                .or_default()
                .push(at);
        }
        places
    }
}

impl<'a> WaitExplainer<'a> {
    /// An explainer of a state.
    #[must_use]
    pub fn new(state: &'a State) -> Self {
        Self {
            state,
            offers: Map::default(),
            holders: Holders::new(state),
            orders: Map::default(),
            masters: Map::default(),
            under_way: UnderWay::default(),
            places: UnderWayPlaces::default(),
        }
    }

    /// The same with what is under way.
    #[must_use]
    pub fn with(mut self, under_way: UnderWay) -> Self {
        self.places = UnderWayPlaces::of(&under_way);
        self.under_way = under_way;
        self
    }

    /// The state.
    pub(super) const fn state(&self) -> &'a State {
        self.state
    }

    /// What preemption does for an application, where that is known.
    pub(super) fn verdict(&self, app: ApplicationId) -> Option<&AppVerdict> {
        let at = self.places.verdicts.get(&app)?;
        self.under_way.preemption.get(*at)
    }

    /// What explanations of the state share about holders.
    pub(super) const fn holders(&mut self) -> &mut Holders<'a> {
        &mut self.holders
    }

    /// The place of an application in its list; nothing when it is over or wants nothing.
    ///
    /// Cost: a look at the applications of the leaf the first time, then at the priorities among them.
    pub(super) fn position(&mut self, app: AppSlot) -> Option<Position> {
        let state = self.state;
        let row = &state.apps[app];
        let list = OrderList::of(row.stage)?;
        let order = self.orders.entry((row.leaf, list));
        let order = order.or_insert_with(|| ListOrder::of(state, row.leaf, list));
        order.position(state, app)
    }

    /// What an application waits for and why, by key; empty when it waits for nothing.
    ///
    /// Cost: a walk up the tree for each key, and a look at every node for each new size.
    pub fn waiting(&mut self, app: AppSlot) -> Vec<Waiting> {
        let keys = self.keys(app, false).into_iter();
        keys.filter_map(|key| {
            Some(Waiting {
                containers: key.containers,
                size: key.size,
                finding: key.findings.into_iter().next()?,
            })
        })
        .collect()
    }

    /// The same with what applies once the reason is gone; the reason alone unless `all`.
    pub(super) fn keys(&mut self, app: AppSlot, all: bool) -> Vec<KeyExplanation> {
        let mut keys = match self.state.apps[app].stage {
            AppStage::Between | AppStage::Done | AppStage::Gone => return Vec::new(),
            AppStage::Parked | AppStage::Waiting => vec![self.not_active(app)],
            AppStage::Active => self.active(app, all),
        };
        for &at in self.places.opportunistic.get(&app).into_iter().flatten() {
            let waiting = &self.under_way.opportunistic[at];
            keys.push(opportunistic::explained(self.state, waiting));
        }
        keys
    }

    /// Why an application may not be served yet.
    fn not_active(&mut self, app: AppSlot) -> KeyExplanation {
        let state = self.state;
        let row = &state.apps[app];
        let finding = match row.stage {
            AppStage::Parked => of_parallel(&mut self.holders, row),
            _ => self.pending(app),
        };
        let mut containers: u64 = row.keys.iter().map(outstanding).sum();
        if row.waits_for_master() {
            containers = containers.max(1);
        }
        KeyExplanation {
            priority: None,
            containers,
            size: row.submission.master_size,
            findings: vec![finding],
        }
    }

    fn types(&self) -> &'a [Arc<str>] {
        &self.state.settings.resource_types
    }

    fn pending(&mut self, app: AppSlot) -> Finding {
        let state = self.state;
        let row = &state.apps[app];
        let size = row.submission.master_size;
        let asks = row.keys.first().filter(|_| row.waits_for_master());
        let never = asks.and_then(|asks| self.never(app, asks, row.master_partition, &size));
        if let Some(never) = never {
            return never;
        }
        let key = (row.leaf, row.user, row.master_partition, row.master_use());
        let known = self.masters.entry(key);
        known
            .or_insert_with(|| of_master(&mut self.holders, row))
            .clone()
    }

    fn active(&mut self, app: AppSlot, all: bool) -> Vec<KeyExplanation> {
        let state = self.state;
        let keys = state.apps[app].keys.iter();
        let open = keys.filter(|asks| asks.is_outstanding());
        let mut keys: Vec<_> = open
            .filter_map(|asks| {
                let size = asks.at(NameId::ANY)?.size.get();
                Some(KeyExplanation {
                    priority: Some(asks.key.priority),
                    containers: outstanding(asks),
                    size,
                    findings: self.key(app, asks, &size, all),
                })
            })
            .collect();
        for &at in self.places.gangs.get(&app).into_iter().flatten() {
            keys.push(gang::explained(state, &self.under_way.gangs[at]));
        }
        keys
    }

    /// The reasons of a key, lowest tier first.
    fn key(
        &mut self,
        app: AppSlot,
        asks: &KeyAsks,
        size: &ResourceVector,
        all: bool,
    ) -> Vec<Finding> {
        let (state, partition) = (self.state, asks.partition);
        if let Some(never) = self.never(app, asks, partition, size) {
            return vec![never];
        }
        let row = &state.apps[app];
        let of_queues = of_queues(&mut self.holders, row, partition, size);
        let mut found: Vec<Finding> = of_queues.into_iter().collect();
        if all || found.is_empty() {
            found.extend(of_user(&mut self.holders, app, partition, size));
        }
        if all || found.is_empty() {
            let bound = !found.is_empty();
            let placement = self.placement(app, asks, size);
            // That it would fit is no reason while a limit binds.
            let fits = matches!(
                placement.first().map(|found| found.reason),
                Some(Reason::NotYetEvaluated)
            );
            if !(bound && fits) {
                found.extend(placement);
            }
        }
        found
    }

    /// What can never be placed as things are.
    fn never(
        &mut self,
        app: AppSlot,
        asks: &KeyAsks,
        partition: PartitionId,
        size: &ResourceVector,
    ) -> Option<Finding> {
        let (state, types) = (self.state, self.types());
        let leaf = state.apps[app].leaf;
        let queue = &state.queues[leaf];
        let label = &state.partitions[partition].name;
        if !queue.can_access(partition) {
            let path = &queue.settings.path;
            let detail = format!("{path} may not use label {label}");
            let found = Finding::new(Reason::LabelNotAccessible, detail)
                .shown_by(Evidence::default().binding(state, leaf));
            return Some(found.by_queue_setting(path, "accessible-node-labels"));
        }
        let offer = self.offer(app, asks, partition, size);
        if offer.nodes == 0 {
            let detail = if label.is_empty() {
                "no node without a label takes containers".to_owned()
            } else {
                format!("no node with label {label} takes containers")
            };
            let found = Finding::new(Reason::NoNodeWithLabel, detail);
            return Some(found.shown_by(Evidence::of_number("nodes", 0)));
        }
        if offer.large == 0 {
            let detail = format!(
                "one container needs {}; the largest node offers {}",
                amounts(size, types),
                amounts_beside(&offer.largest, size, types)
            );
            let shown = (&offer.largest, &ResourceVector::NONE, size);
            let found = Finding::new(Reason::LargerThanAnyNode, detail);
            return Some(found.shown_by(Evidence::of_limit(state, shown)));
        }
        never_within(state, leaf, partition, size)
    }

    fn offer(
        &mut self,
        app: AppSlot,
        asks: &KeyAsks,
        partition: PartitionId,
        size: &ResourceVector,
    ) -> Offer {
        let state = self.state;
        if is_particular(state, app, asks) {
            return offer(state, app, asks, partition, size);
        }
        let known = self.offers.entry((partition, *size));
        *known.or_insert_with(|| offer(state, app, asks, partition, size))
    }

    /// Why a container within all limits has no node: what is under way for it comes first.
    fn placement(&mut self, app: AppSlot, asks: &KeyAsks, size: &ResourceVector) -> Vec<Finding> {
        let offer = self.offer(app, asks, asks.partition, size);
        if offer.open > 0 && asks.reserved.is_empty() {
            let row = &self.state.apps[app];
            let full = of_root(&mut self.holders, row, asks.partition, size);
            return vec![full.unwrap_or_else(|| self.fits(app, &offer))];
        }
        let stopped = self.stopped(app, asks.partition, &offer, size);
        let mut found: Vec<Finding> = self.on_its_way(app, asks, size).into_iter().collect();
        if offer.open == 0 {
            found.push(stopped);
        }
        found
    }

    /// Why no node takes a container.
    fn stopped(
        &mut self,
        app: AppSlot,
        partition: PartitionId,
        offer: &Offer,
        size: &ResourceVector,
    ) -> Finding {
        let rules = [
            (
                offer.reserved,
                Reason::NodesReserved,
                "other applications reserved",
            ),
            (
                offer.constrained,
                Reason::ConstraintUnsatisfied,
                "its constraint rules out",
            ),
            (offer.elsewhere, Reason::LocalityWait, "it does not ask for"),
            (offer.excluded, Reason::ExcludedNodes, "it excludes"),
        ];
        if let Some((n, reason, what)) = rules.into_iter().find(|(n, ..)| *n > 0) {
            let found = Finding::new(reason, format!("{n} nodes have room, which {what}"));
            let found = found.shown_by(Evidence {
                short: self.short_of(offer).short,
                ..Evidence::of_number("nodes with room", n)
            });
            return match reason {
                Reason::NodesReserved => found.by_setting(SKIP_RESERVED),
                _ => found,
            };
        }
        self.no_room(app, partition, offer, size)
    }

    /// Nodes by what they lack.
    fn short_of(&self, offer: &Offer) -> Evidence {
        let short = self.types().iter().zip(offer.short);
        let short = short.filter(|(_, n)| *n > 0);
        Evidence {
            short: short.map(|(name, n)| (Arc::clone(name), n)).collect(),
            ..Evidence::default()
        }
    }

    fn no_room(
        &mut self,
        app: AppSlot,
        partition: PartitionId,
        offer: &Offer,
        size: &ResourceVector,
    ) -> Finding {
        let (state, types) = (self.state, self.types());
        let fits = state.calculator.fits_in(size, &offer.free);
        let reason = if fits {
            Reason::Fragmented
        } else {
            Reason::NoNodeFitsNow
        };
        let detail = room(offer, size, fits, types);
        let total = state.total(partition);
        let shown = Evidence::of_limit(state, (&total, &(total - offer.free), size));
        let short = self.short_of(offer).short;
        let others = (HolderScope::All, partition);
        Finding::new(reason, detail).shown_by(Evidence {
            short,
            ..shown.held_without(&mut self.holders, others, Some(app))
        })
    }

    /// Why a container that fits on an open node within all limits was not placed.
    fn fits(&mut self, app: AppSlot, offer: &Offer) -> Finding {
        let settings = &self.state.settings;
        let open = offer.open;
        if offer.any_reserved > 0
            && settings.multi_node.enabled
            && let Some((setting, comes)) = proposes_reserved(settings)
        {
            let detail = format!(
                "{open} nodes have room, but a reserved node that {comes} is proposed and refused; {} reserved",
                offer.any_reserved
            );
            return Finding::new(Reason::NodesReserved, detail).by_setting(setting);
        }
        let row = &self.state.apps[app];
        if let Some(found) = self.position(app).and_then(|position| behind(&position)) {
            return found;
        }
        if let Some(&times) = self.under_way.refused.get(&row.id) {
            return proposed_again(open, times);
        }
        let detail = format!("{open} nodes have room within all limits");
        let shown = Evidence::of_number("nodes with room", open);
        Finding::new(Reason::NotYetEvaluated, detail).shown_by(shown)
    }
}

/// What a container needs and what nodes have free.
fn room(offer: &Offer, size: &ResourceVector, fits: bool, types: &[Arc<str>]) -> String {
    let asked = amounts(size, types);
    if offer.free.is_none() {
        return format!("one container needs {asked}; no node has anything free");
    }
    let only = if fits { "" } else { " only" };
    let most_free = offer.most_free.component_max(&ResourceVector::NONE);
    format!(
        "one container needs {asked}; all nodes together have{only} {} free, one node at most {}",
        amounts_beside(&offer.free, size, types),
        amounts_beside(&most_free, size, types)
    )
}

/// That the commit refused what was proposed.
fn proposed_again(open: usize, times: u64) -> Finding {
    let detail = format!("{open} nodes have room; the commit refused {times} proposals for it");
    Finding::new(Reason::ConflictRetry, detail)
        .shown_by(Evidence::of_number("refused proposals", times))
}

/// That others of the queue come first.
fn behind(position: &Position) -> Option<Finding> {
    let (ahead, queue) = (position.place - 1, &position.queue);
    if ahead == 0 {
        return None;
    }
    let (reason, count, of) = if position.higher > 0 {
        (
            Reason::LowerPriority,
            position.higher,
            " of higher priority",
        )
    } else {
        (Reason::BehindInOrder, ahead, "")
    };
    let detail = if count == 1 {
        format!("1 application{of} that asks comes first in {queue}")
    } else {
        format!("{count} applications{of} that ask come first in {queue}")
    };
    let evidence = Evidence {
        used: i64::try_from(position.place).ok(),
        limit: i64::try_from(position.of).ok(),
        binding: Some(queue.clone()),
        ..Evidence::default()
    };
    Some(Finding::new(reason, detail).shown_by(evidence))
}

/// The setting by which decisions over all nodes leave out reserved ones.
const SKIP_RESERVED: &str =
    "yarn.scheduler.capacity.skip-allocate-on-nodes-with-reserved-containers";

/// The setting that lets decisions over all nodes propose reserved ones, and which of them.
fn proposes_reserved(settings: &SchedulerSettings) -> Option<(&'static str, &'static str)> {
    match (
        settings.skip_reserved_nodes,
        settings.mends.reserved_last_node,
    ) {
        (false, _) => Some((SKIP_RESERVED, "comes first")),
        (true, false) => Some((SKIP_LAST, "is last in the order")),
        (true, true) => None,
    }
}

/// The setting by which they leave out the last node of an order, too.
const SKIP_LAST: &str = "capsched.mend.reserved-last-node";

/// Containers that a key asks for.
fn outstanding(asks: &KeyAsks) -> u64 {
    u64::try_from(asks.count(NameId::ANY)).unwrap_or(0)
}
