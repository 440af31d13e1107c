//! What the scheduler did last.
// As CapacitySchedulerHealthInfo.

use capsched::queue::SchedulerSettings;
use capsched::resource::ResourceVector;

use super::resource::open;
use crate::rest::tree::Object;
use crate::rm::{LastOperation, LastRun};

/// What the health of the scheduler is formed from.
#[derive(Clone, Debug, Default)]
pub(in crate::rest) struct Health {
    pub(in crate::rest) last: [Option<LastOperation>; 4],
    pub(in crate::rest) run: LastRun,
}

/// The last operation of each kind, and what the last pass came to.
pub(super) fn health_info(settings: &SchedulerSettings, health: &Health) -> Object {
    let names = [
        "last-allocation",
        "last-release",
        "last-preemption",
        "last-reservation",
    ];
    let operation = |(name, last): (&str, &Option<LastOperation>)| {
        let or = |text: Option<String>| text.unwrap_or_else(|| "N/A".to_owned());
        let container = last.as_ref().and_then(|last| last.container);
        Object::new()
            .with("operation", name)
            .with(
                "nodeId",
                or(last.as_ref().map(|last| last.node.to_string())),
            )
            .with(
                "containerId",
                or(container.map(|container| container.to_string())),
            )
            .with("queue", or(last.as_ref().map(|last| last.queue.clone())))
    };
    let run = &health.run;
    let details = [
        ("releases", run.releases, &run.released),
        ("allocations", run.allocations, &run.allocated),
        ("reservations", run.reservations, &run.reserved),
    ];
    let detail = |(name, count, amount): (&str, u64, &ResourceVector)| {
        Object::new()
            .with("operation", name)
            .with("count", count)
            .with("resources", open(settings, amount))
    };
    Object::new()
        .with("lastrun", run.at_ms)
        .with_many(
            "operationsInfo",
            names.into_iter().zip(&health.last).map(operation),
        )
        .with_many("lastRunDetails", details.map(detail))
}
