//! How a moment is taken of an engine.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares between 0 and 1 for a picture"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsched::api::{
    AppView, ApplicationId, NodeView, PartitionView, QueueView, Reason, ResourceVector, StateView,
    Stepped, Waiting,
};

use super::recording::Submission;
use super::{APPS, AppAt, Count, Free, Moment, NODES, NodeAt, PartAt, QueueAt, Tally};

/// Applications by the moment of their submission.
type Known = BTreeMap<ApplicationId, Submission>;

/// The state of an engine at a moment.
pub(super) fn take(at_ms: u64, engine: &Stepped, (tally, known): (Tally, &Known)) -> Moment {
    let view = StateView::of(engine.engine().ledger());
    let waits: BTreeMap<ApplicationId, Vec<Waiting>> = engine.waiting().into_iter().collect();
    let (apps, further_apps) = apps(&view.apps, &waits, known);
    Moment {
        at_ms,
        queues: view.queues.iter().map(queue).collect(),
        free: free(&view.nodes, &waits),
        nodes: view.nodes.iter().take(NODES).map(node).collect(),
        apps,
        further_apps,
        reasons: reasons(&waits),
        tally,
        phases: Vec::new(),
    }
}

/// The first reason of an application in the order of tiers, the one with more containers first.
fn dominant(waits: &[Waiting]) -> Option<Reason> {
    let rank = |wait: &&Waiting| (wait.finding.reason, std::cmp::Reverse(wait.containers));
    waits
        .iter()
        .min_by_key(rank)
        .map(|wait| wait.finding.reason)
}

fn containers(waits: &[Waiting]) -> u64 {
    waits.iter().map(|wait| wait.containers).sum()
}

fn reasons(waits: &BTreeMap<ApplicationId, Vec<Waiting>>) -> BTreeMap<Reason, Count> {
    let mut reasons: BTreeMap<Reason, Count> = BTreeMap::new();
    for waits in waits.values() {
        let Some(reason) = dominant(waits) else {
            continue;
        };
        let count = reasons.entry(reason).or_default();
        count.apps += 1;
        count.containers += containers(waits);
    }
    reasons
}

/// Those that wait first; how many are left out.
fn apps(
    all: &[AppView],
    waits: &BTreeMap<ApplicationId, Vec<Waiting>>,
    known: &Known,
) -> (Vec<AppAt>, usize) {
    let nothing = Vec::new();
    let shown = |app: &AppView| {
        let id = ApplicationId::new(app.app);
        let waits = waits.get(&id).unwrap_or(&nothing);
        let about = known.get(&id);
        AppAt {
            id,
            queue: app.queue.as_str().into(),
            user: about.map_or_else(|| "".into(), |about| Arc::clone(&about.user)),
            submitted_ms: about.map_or(0, |about| about.at_ms),
            running: u64::try_from(app.live.len()).unwrap_or(u64::MAX),
            waiting: containers(waits),
            reason: dominant(waits),
        }
    };
    let mut apps: Vec<AppAt> = all.iter().map(shown).collect();
    apps.sort_by_key(|app| (app.reason.is_none(), app.id));
    let further = apps.len().saturating_sub(APPS);
    apps.truncate(APPS);
    (apps, further)
}

fn queue(of: &QueueView) -> QueueAt {
    let leaf = of.leaf.as_ref();
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    QueueAt {
        path: of.path.as_str().into(),
        is_leaf: leaf.is_some(),
        running: leaf.map_or(0, |leaf| count(leaf.active_apps)),
        pending: leaf.map_or(0, |leaf| count(leaf.pending_apps + leaf.non_runnable_apps)),
        parts: of.labels.iter().map(part).collect(),
    }
}

fn part((name, of): (&String, &PartitionView)) -> PartAt {
    let memory = |amounts: Option<&Vec<i64>>| amounts.and_then(|all| all.first()).copied();
    PartAt {
        partition: name.as_str().into(),
        used_permille: permille(of.abs_used_cap.0),
        guaranteed_permille: permille(of.abs_cap.0),
        maximum_permille: permille(of.abs_max_cap.0),
        used_mib: memory(of.used.as_ref()).unwrap_or(0),
        guaranteed_mib: memory(Some(&of.eff_min)).unwrap_or(0),
        maximum_mib: memory(Some(&of.eff_max)).unwrap_or(0),
    }
}

/// Thousandths of a share; 0 for NaN.
pub(crate) fn permille(share: f32) -> u32 {
    (share.clamp(0.0, 1_000.0) * 1000.0).round() as u32
}

fn node(of: &NodeView) -> NodeAt {
    let [used_permille, memory_permille] = NodeAt::shares(&of.total, &of.allocated);
    NodeAt {
        name: of.node.as_str().into(),
        partition: of.partition.as_deref().unwrap_or("").into(),
        used_permille,
        memory_permille,
        containers: of.containers,
        reserved: of.reserved.is_some(),
    }
}

/// Free memory, and the part of it on nodes where no container that waits fits.
fn free(nodes: &[NodeView], waits: &BTreeMap<ApplicationId, Vec<Waiting>>) -> Option<Free> {
    let sizes: BTreeSet<ResourceVector> = waits.values().flatten().map(|wait| wait.size).collect();
    if sizes.is_empty() {
        return None;
    }
    let mut free = Free {
        all: 0,
        unusable: 0,
    };
    for node in nodes {
        let available = ResourceVector::of(&node.available);
        let memory = available.memory().max(0);
        free.all += memory;
        if !sizes.iter().any(|size| size.fits_in(&available)) {
            free.unusable += memory;
        }
    }
    Some(free)
}
