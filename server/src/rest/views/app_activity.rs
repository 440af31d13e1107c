//! What recorded passes found for one application.
// As AppActivitiesInfo, AppAllocationInfo and AppRequestAllocationInfo.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsched::api::{ApplicationId, NodeName};

use super::activity::{Grouping, KeyRows, by_key, of_request, on_nodes, state_name};
use crate::rest::time;
use crate::rest::tree::Object;
use crate::rm::{KeyLook, LookResult, NodeActivity, Obstacle, Visited};

/// What is shown of the passes that came to an application.
#[derive(Clone, Debug)]
pub(in crate::rest) struct Selection {
    /// Whether single nodes are shown.
    pub(in crate::rest) grouping: Grouping,
    /// The priorities of requests that are shown; all where none is named.
    pub(in crate::rest) priorities: BTreeSet<i32>,
    /// Their allocation request ids, by the same rule.
    pub(in crate::rest) request_ids: BTreeSet<i64>,
    /// Most passes, the newest.
    pub(in crate::rest) most: usize,
    /// One row for all passes of so many ms up to the last.
    pub(in crate::rest) summary_ms: Option<u64>,
}

/// One pass, or the summary of several.
#[derive(Clone, Debug)]
struct AppPass<'a> {
    /// Nothing in a summary.
    node: Option<&'a NodeName>,
    of: &'a NodeActivity,
    /// What the pass came to for the application.
    result: LookResult,
    looks: KeyRows<'a>,
}

impl Selection {
    fn takes(&self, look: &KeyLook) -> bool {
        let (priority, id) = (look.key.priority, look.key.request_id);
        (self.priorities.is_empty() || self.priorities.contains(&priority))
            && (self.request_ids.is_empty() || self.request_ids.contains(&id))
    }

    fn is_filtered(&self) -> bool {
        !(self.priorities.is_empty() && self.request_ids.is_empty())
    }
}

/// The passes that came to an application, the newest first; nothing before the first one was recorded.
// As ActivitiesManager.getAppActivitiesInfo.
pub(in crate::rest) fn app_allocations(
    app: ApplicationId,
    activities: &[Arc<NodeActivity>],
    selection: &Selection,
) -> Option<Vec<Object>> {
    if activities.is_empty() {
        return None;
    }
    let passes = activities.iter().flat_map(|one| passes_of(app, one));
    let mut passes: Vec<AppPass<'_>> = passes.collect();
    if selection.is_filtered() {
        for pass in &mut passes {
            pass.looks.retain(|(_, look)| selection.takes(look));
        }
        passes.retain(|pass| !pass.looks.is_empty());
    }
    if let Some(within_ms) = selection.summary_ms {
        passes = summary(&passes, within_ms).into_iter().collect();
    }
    let shown = passes.iter().take(selection.most);
    Some(
        shown
            .map(|pass| allocation(app, pass, selection.grouping))
            .collect(),
    )
}

/// The passes of a heartbeat that came to an application, the last one first. A pass ends where it places something.
fn passes_of(app: ApplicationId, of: &NodeActivity) -> Vec<AppPass<'_>> {
    let own = of.looks.iter().filter(|look| look.app == app);
    let own: Vec<(&NodeName, &KeyLook)> = own.map(|look| (&of.node, look)).collect();
    let mut passes = Vec::new();
    for looks in own.split_inclusive(|(_, look)| look.result.places()) {
        let last = looks
            .last()
            .map_or(LookResult::Skipped, |(_, look)| look.result);
        passes.push(AppPass {
            node: Some(&of.node),
            of,
            // One that only keeps a reservation, or is refused at a key, was passed by.
            result: match last {
                LookResult::Allocated | LookResult::Reserved => last,
                _ => LookResult::Skipped,
            },
            looks: looks.to_vec(),
        });
    }
    if passes.is_empty() {
        passes.push(AppPass {
            node: Some(&of.node),
            of,
            result: LookResult::Skipped,
            looks: Vec::new(),
        });
    }
    passes.reverse();
    passes
}

/// The last look at each key on each node, with what the last pass came to. Nodes stand in the order of their names.
// As ActivitiesManager.getSummarizedAppAllocation, where a hash map has the order.
fn summary<'a>(passes: &[AppPass<'a>], within_ms: u64) -> Option<AppPass<'a>> {
    let newest = passes.first()?;
    let since_ms = newest.of.at_ms.saturating_sub(within_ms);
    let mut last = BTreeMap::new();
    for pass in passes.iter().take_while(|pass| pass.of.at_ms >= since_ms) {
        for &(node, look) in &pass.looks {
            let of_request = look.obstacle.as_ref().is_some_and(Obstacle::is_of_request);
            let place = (!of_request).then_some(node);
            last.entry((look.key, place)).or_insert((node, look));
        }
    }
    Some(AppPass {
        node: None,
        looks: last.into_values().collect(),
        ..newest.clone()
    })
}

fn allocation(app: ApplicationId, pass: &AppPass<'_>, grouping: Grouping) -> Object {
    let leaf = leaf_of(&pass.of.root, app);
    let name = leaf.and_then(|leaf| leaf.path.rsplit('.').next());
    let priority = leaf.and_then(|leaf| leaf.apps.iter().find(|(id, ..)| *id == app));
    let requests = by_key(pass.looks.iter().copied());
    Object::new()
        .with_some("nodeId", pass.node.map(ToString::to_string))
        .with("timestamp", pass.of.at_ms)
        .with("dateTime", time::java_date(pass.of.at_ms))
        .with("queueName", name.unwrap_or_default())
        .with(
            "appPriority",
            priority.map_or(0, |&(_, priority, _)| priority),
        )
        .with("allocationState", state_name(pass.result))
        .with_many(
            "children",
            requests.iter().map(|rows| request(rows, grouping)),
        )
}

fn request(rows: &KeyRows<'_>, grouping: Grouping) -> Object {
    let Some((_, last)) = rows.last() else {
        return Object::new();
    };
    // A container has no id before it is committed; one that was reserved has.
    let name = |look: &KeyLook| {
        let reserved = look.container.map(|container| container.to_string());
        Some(reserved.unwrap_or_else(|| "Container-Id-Not-Assigned".to_owned()))
    };
    Object::new()
        .with("requestPriority", last.key.priority)
        .with("allocationRequestId", last.key.request_id)
        .with("allocationState", state_name(last.result))
        .with_some("diagnostic", of_request(rows))
        .with_many("children", on_nodes(rows, grouping, name))
}

fn leaf_of(queue: &Visited, app: ApplicationId) -> Option<&Visited> {
    if queue.apps.iter().any(|&(id, ..)| id == app) {
        return Some(queue);
    }
    queue.children.iter().find_map(|child| leaf_of(child, app))
}
