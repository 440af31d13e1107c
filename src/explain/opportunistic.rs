//! Why opportunistic containers wait.

use super::evidence::Evidence;
use super::finding::{Finding, amounts};
use super::key::KeyExplanation;
use super::reason::Reason;
use crate::queue::{OpportunisticNodes, OpportunisticWait, WaitingOpportunistic};
use crate::snapshot::State;

/// The setting that lets containers wait on nodes.
const QUEUE_LENGTH: &str = "yarn.nodemanager.opportunistic-containers-max-queue-length";

/// What some opportunistic containers wait for.
pub(super) fn explained(state: &State, waiting: &WaitingOpportunistic) -> KeyExplanation {
    KeyExplanation {
        priority: Some(waiting.priority),
        containers: waiting.containers,
        size: waiting.size,
        findings: vec![finding(state, waiting)],
    }
}

fn finding(state: &State, waiting: &WaitingOpportunistic) -> Finding {
    let size = amounts(&waiting.size, &state.settings.resource_types);
    match &waiting.wait {
        OpportunisticWait::Placing(nodes) => placing(nodes, &size),
        OpportunisticWait::OnNodes {
            nodes,
            first,
            ahead,
        } => {
            let detail = format!(
                "opportunistic containers of {size} are in the queues of {nodes} nodes; the next one has {ahead} ahead \
                 on {first}"
            );
            Finding::new(Reason::OpportunisticQueued, detail)
        }
    }
}

fn placing(nodes: &OpportunisticNodes, size: &str) -> Finding {
    let wanted = format!("an opportunistic container needs {size}");
    if nodes.open > 0 {
        let open = nodes.open;
        let detail =
            format!("{wanted}; {open} nodes take it with the next call of the application");
        return Finding::new(Reason::OpportunisticWaits, detail);
    }
    let counts = [
        (nodes.full, "have neither room nor a place in their queues"),
        (nodes.small, "are smaller"),
        (nodes.closed, "take no containers"),
        (nodes.excluded, "are excluded"),
    ];
    let shown = counts.iter().filter(|(count, _)| *count > 0);
    let shown: Vec<String> = shown
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let detail = if shown.is_empty() {
        format!("{wanted}; no node is one that it asks for")
    } else {
        format!("{wanted}; of the nodes {}", shown.join(", "))
    };
    let all = counts.iter().map(|(count, _)| count).sum::<usize>();
    let found = Finding::new(Reason::OpportunisticWaits, detail).shown_by(of_nodes(nodes, all));
    if nodes.full > 0 {
        return found.by_setting(QUEUE_LENGTH);
    }
    found
}

/// The figures of nodes: how many there are, and how many have neither room nor a place.
fn of_nodes(nodes: &OpportunisticNodes, all: usize) -> Evidence {
    let number = |count: usize| i64::try_from(count).ok();
    Evidence {
        dimension: Some("nodes".into()),
        limit: number(all),
        used: number(nodes.full),
        asked: Some(1),
        ..Evidence::default()
    }
}
