//! Why an application waits: admission first, then each key by limits, order and nodes.

use std::sync::Arc;

use super::finding::{Finding, Waiting, amounts};
use super::nodes::{Offer, is_particular, offer};
use super::quota::{never_within, of_master, of_queues, of_user};
use super::reason::Reason;
use crate::id::{AppSlot, Map, NameId, PartitionId};
use crate::queue::{App, AppStage, KeyAsks, SchedulerSettings};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// Explains the applications of one state. What all nodes offer to a size is looked up once.
#[derive(Debug)]
pub struct WaitExplainer<'a> {
    state: &'a State,
    offers: Map<(PartitionId, ResourceVector), Offer>,
}

impl<'a> WaitExplainer<'a> {
    /// An explainer of a state.
    #[must_use]
    pub fn new(state: &'a State) -> Self {
        Self {
            state,
            offers: Map::default(),
        }
    }

    /// What an application waits for and why, by key; empty when it waits for nothing.
    ///
    /// Cost: a walk up the tree for each key, and a look at every node for each new size.
    pub fn waiting(&mut self, app: AppSlot) -> Vec<Waiting> {
        let row = &self.state.apps[app];
        let found = match row.stage {
            AppStage::Done | AppStage::Gone => return Vec::new(),
            AppStage::Parked => self.parked(row),
            AppStage::Waiting => self.pending(app),
            AppStage::Active => return self.active(app),
        };
        let mut containers: u64 = row.keys.iter().map(outstanding).sum();
        if row.waits_for_master() {
            containers = containers.max(1);
        }
        vec![Waiting {
            containers,
            finding: found,
        }]
    }

    fn types(&self) -> &'a [Arc<str>] {
        &self.state.settings.resource_types
    }

    fn parked(&self, app: &App) -> Finding {
        let path = &self.state.queues[app.leaf].settings.path;
        let running = self.state.queues[app.leaf].runnable;
        let detail = format!("{running} applications run in {path}, as many as may at once");
        Finding::new(Reason::MaxParallelApps, detail).by_queue_setting(path, "max-parallel-apps")
    }

    fn pending(&mut self, app: AppSlot) -> Finding {
        let row = &self.state.apps[app];
        let size = row.submission.master_size;
        let asks = row.keys.first().filter(|_| row.waits_for_master());
        let never = asks.and_then(|asks| self.never(app, asks, row.master_partition, &size));
        never.unwrap_or_else(|| of_master(self.state, row))
    }

    fn active(&mut self, app: AppSlot) -> Vec<Waiting> {
        let state = self.state;
        let keys = state.apps[app].keys.iter();
        let open = keys.filter(|asks| asks.outstanding);
        open.filter_map(|asks| {
            let size = asks.at(NameId::ANY)?.size.get();
            Some(Waiting {
                containers: outstanding(asks),
                finding: self.key(app, asks, &size),
            })
        })
        .collect()
    }

    fn key(&mut self, app: AppSlot, asks: &KeyAsks, size: &ResourceVector) -> Finding {
        let (state, partition) = (self.state, asks.partition);
        if let Some(never) = self.never(app, asks, partition, size) {
            return never;
        }
        let row = &state.apps[app];
        let quota = of_queues(state, row, partition, size);
        if let Some(found) = quota.or_else(|| of_user(state, app, partition)) {
            return found;
        }
        self.placement(app, asks, size)
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
            let found = Finding::new(Reason::LabelNotAccessible, detail);
            return Some(found.by_queue_setting(path, "accessible-node-labels"));
        }
        let offer = self.offer(app, asks, partition, size);
        if offer.nodes == 0 {
            let detail = if label.is_empty() {
                "no node without a label takes containers".to_owned()
            } else {
                format!("no node with label {label} takes containers")
            };
            return Some(Finding::new(Reason::NoNodeWithLabel, detail));
        }
        if offer.large == 0 {
            let detail = format!(
                "one container needs {}; the largest node offers {}",
                amounts(size, types),
                amounts(&offer.largest, types)
            );
            return Some(Finding::new(Reason::LargerThanAnyNode, detail));
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

    /// Why a container within all limits has no node.
    fn placement(&mut self, app: AppSlot, asks: &KeyAsks, size: &ResourceVector) -> Finding {
        let offer = self.offer(app, asks, asks.partition, size);
        if let Some(reservation) = asks.reserved.first() {
            let node = &self.state.nodes[reservation.node].name;
            let detail = format!("{node} is reserved for it");
            return Finding::new(Reason::ReservedOnNode, detail);
        }
        if offer.open > 0 {
            return self.fits(app, &offer);
        }
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
            return match reason {
                Reason::NodesReserved => found.by_setting(SKIP_RESERVED),
                _ => found,
            };
        }
        self.no_room(&offer, size)
    }

    fn no_room(&self, offer: &Offer, size: &ResourceVector) -> Finding {
        let (state, types) = (self.state, self.types());
        let (reason, has, free) = if state.calculator.fits_in(size, &offer.free) {
            (Reason::Fragmented, "all nodes together have", &offer.free)
        } else {
            let has = "all nodes together have only";
            (Reason::NoNodeFitsNow, has, &offer.free)
        };
        let detail = format!(
            "one container needs {}; {has} {} free, one node at most {}",
            amounts(size, types),
            amounts(free, types),
            amounts(&offer.most_free.component_max(&ResourceVector::NONE), types)
        );
        Finding::new(reason, detail)
    }

    /// Why a container that fits on an open node within all limits was not placed.
    fn fits(&self, app: AppSlot, offer: &Offer) -> Finding {
        let settings = &self.state.settings;
        let open = offer.open;
        if offer.any_reserved > 0
            && settings.multi_node.enabled
            && let Some((setting, comes)) = proposes_reserved(settings)
        {
            let detail = format!(
                "{open} nodes have room, but of {} reserved ones {comes} is refused",
                offer.any_reserved
            );
            return Finding::new(Reason::NodesReserved, detail).by_setting(setting);
        }
        let row = &self.state.apps[app];
        let queue = &self.state.queues[row.leaf];
        let order = &queue.as_leaf().active;
        let asks = |other: &&AppSlot| self.state.apps[**other].asking;
        let ahead = order.iter().take_while(|&&other| other != app);
        let ahead = ahead.filter(asks).count();
        if ahead > 0 {
            let path = &queue.settings.path;
            let detail = format!("{ahead} applications that ask come first in {path}");
            return Finding::new(Reason::BehindInOrder, detail);
        }
        let detail = format!("{open} nodes have room within all limits");
        Finding::new(Reason::NotYetEvaluated, detail)
    }
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
        (false, _) => Some((SKIP_RESERVED, "one that comes first")),
        (true, false) => Some((SKIP_LAST, "the last of the order")),
        (true, true) => None,
    }
}

/// The setting by which they leave out the last node of an order, too.
const SKIP_LAST: &str = "capsched.mend.reserved-last-node";

/// Containers that a key asks for.
fn outstanding(asks: &KeyAsks) -> u64 {
    u64::try_from(asks.count(NameId::ANY)).unwrap_or(0)
}
