//! What happened before a step that a difference in it may follow from, by the codes of `docs/DIFFERENCES.md`.

use capsched::api::Sequential;
use capsched::id::{ApplicationId, PartitionId};
use serde_json::Value;

use super::super::compare::Difference;
use super::super::verdict::Verdict;

/// The code of what a refused refresh leaves behind when the way back is refused as well.
const HALF_APPLIED: &str = "REFRESH_HALF_APPLIED";

/// The code of nodes that multi-node placement of the reference still finds in passes over the partition
/// that they left.
const STALE_LISTS: &str = "STALE_PARTITION_LISTS";

/// The code of where applications stand once another one left a leaf of fair order.
const HIDDEN: &str = "HIDDEN_IN_FAIR_ORDER";

/// What says where an application stands.
const STANDS: [&str; 8] = [
    ".state",
    ".apps.state",
    ".activated",
    ".made_runnable",
    ".queues.active_apps",
    ".queues.pending_apps",
    ".queues.non_runnable_apps",
    ".queues.users.active_apps",
];

/// What follows the path of a queue that a refresh must not drop.
const KEPT: &str = " cannot be deleted from the capacity scheduler configuration";

/// What happened so far.
#[derive(Debug, Default)]
pub(super) struct Meant {
    /// Whether the way back of a refused refresh was refused as well.
    pub(super) half_applied: bool,
    /// Whether a node got a label while multi-node placement had it in the list of the default partition.
    stale_lists: bool,
    /// Whether an application left a leaf of fair order for another queue.
    left_fair: bool,
}

impl Meant {
    /// The verdict on a step that differs: what a half-applied refresh or a change of labels left
    /// behind explains it.
    pub(super) fn explained(&self, verdict: Verdict) -> Verdict {
        let rules = [
            (self.half_applied, HALF_APPLIED),
            (self.stale_lists, STALE_LISTS),
        ];
        let stands = |found: &Difference| STANDS.contains(&&*found.kind());
        let hidden = match &verdict {
            Verdict::Failed { differences, .. } => differences.iter().all(stands),
            _ => false,
        };
        let rules = rules
            .into_iter()
            .chain([(self.left_fair && hidden, HIDDEN)]);
        match rules.into_iter().find(|(holds, _)| *holds) {
            Some((_, code)) => Verdict::Deliberate(code.to_owned()),
            None => verdict,
        }
    }

    /// Looks at the leaf that an application is about to leave.
    // As FairOrderingPolicy.removeSchedulableEntity, which looks an entry up by its present size.
    pub(super) fn note_move(&mut self, engine: &Sequential, app: ApplicationId) {
        let ledger = engine.ledger();
        let leaf = ledger.app(app).map(|slot| ledger.state().apps[slot].leaf);
        self.left_fair |= leaf.is_some_and(|leaf| ledger.state().queues[leaf].as_leaf().fair);
    }

    /// Looks for a node that the reference keeps in the list of the default partition though it has a label.
    // As CapacityScheduler.refreshLabelToNodeCache, which renews the lists of labels alone.
    pub(super) fn note_lists(&mut self, engine: &Sequential) {
        let state = engine.ledger().state();
        let mut nodes = state.nodes.iter();
        self.stale_lists |= state.settings.multi_node.enabled
            && nodes.any(|node| node.default_listed && node.partition != PartitionId::DEFAULT);
    }

    /// Looks at a recorded refusal of a refresh. One that names a queue that only the refused
    /// configuration has is that of the way back: the reference kept the queue.
    // As CapacityScheduler.reinitialize with CapacitySchedulerConfigValidator.
    pub(super) fn note_refusal(&mut self, engine: &Sequential, recorded: &Value) {
        let message = recorded["error"]["message"].as_str().unwrap_or_default();
        let queue = message.split_once(KEPT).map(|(path, _)| path);
        self.half_applied |= queue.is_some_and(|path| {
            let mut queues = engine.ledger().state().queues.iter();
            !queues.any(|row| &*row.settings.path == path)
        });
    }
}
