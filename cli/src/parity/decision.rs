//! Decisions of the engine in the form of the recordings.

use capsched::api::{Ending, Event, Locality, ProposalKind, UnreserveReason};
use capsched::id::{ContainerId, NodeName, PartitionId, SchedulerKey};
use capsched::resource::ResourceVector;
use capsched::snapshot::State;
use serde_json::{Value, json};

/// Writes decisions with the names of a state.
pub(super) struct DecisionWriter<'a> {
    /// Number of resource types of the scenario.
    pub(super) types: usize,
    /// The state after the step.
    pub(super) state: &'a State,
}

/// What allocations and reservations have in common.
struct Served<'a> {
    key: &'a SchedulerKey,
    locality: Locality,
    requested: Option<Locality>,
    partition: PartitionId,
    borrowed: bool,
}

impl DecisionWriter<'_> {
    /// Adds a decision; equal refusals in a row are counted.
    pub(super) fn write(&self, event: &Event, decisions: &mut Vec<Value>) {
        let written = self.allocated(event).or_else(|| self.reserved(event));
        let written = written.or_else(|| self.unreserved(event));
        if let Some(decision) = written.or_else(|| self.ended(event)) {
            decisions.push(decision);
        } else if let Some(refusal) = self.refused(event) {
            count(refusal, decisions);
        }
    }

    fn basics(
        &self,
        kind: &str,
        container: &ContainerId,
        node: &NodeName,
        size: &ResourceVector,
    ) -> Value {
        json!({
            "kind": kind, "app": container.app.sequence, "container": container.number,
            "node": node.to_string(), "res": size.values(self.types),
        })
    }

    fn allocated(&self, event: &Event) -> Option<Value> {
        let Event::Allocated {
            container,
            node,
            size,
            key,
            locality,
            requested,
            partition,
            borrowed,
            from_reservation,
            ..
        } = event
        else {
            return None;
        };
        let mut decision = self.basics("allocate", container, node, size);
        let served = Served {
            key,
            locality: *locality,
            requested: *requested,
            partition: *partition,
            borrowed: *borrowed,
        };
        self.add_served(&mut decision, &served);
        if *from_reservation {
            decision["from_reservation"] = json!(true);
        }
        Some(decision)
    }

    fn reserved(&self, event: &Event) -> Option<Value> {
        let Event::Reserved {
            container,
            node,
            size,
            key,
            locality,
            requested,
            partition,
            borrowed,
            again,
        } = event
        else {
            return None;
        };
        let kind = if *again { "re_reserve" } else { "reserve" };
        let mut decision = self.basics(kind, container, node, size);
        let served = Served {
            key,
            locality: *locality,
            requested: *requested,
            partition: *partition,
            borrowed: *borrowed,
        };
        self.add_served(&mut decision, &served);
        Some(decision)
    }

    fn add_served(&self, decision: &mut Value, served: &Served<'_>) {
        decision["priority"] = json!(served.key.priority);
        decision["id"] = json!(served.key.request_id);
        if let Some(container) = served.key.increases() {
            decision["increases"] = json!(container);
        }
        decision["locality"] = json!(locality_name(served.locality));
        decision["requested"] = json!(served.requested.map(locality_name));
        let name = &self.state.partitions[served.partition].name;
        if !name.is_empty() {
            decision["partition"] = json!(name.as_ref());
        }
        if served.borrowed {
            decision["borrowed_partition"] = json!(true);
        }
    }

    fn unreserved(&self, event: &Event) -> Option<Value> {
        let Event::Unreserved {
            container,
            node,
            size,
            reason,
        } = event
        else {
            return None;
        };
        let mut decision = self.basics("unreserve", container, node, size);
        decision["reason"] = json!(match reason {
            UnreserveReason::Exchange => "exchange",
            UnreserveReason::Excess => "excess",
            UnreserveReason::Kill => "KILL",
            UnreserveReason::Timeout => "timeout",
            UnreserveReason::Finished => "FINISHED",
            UnreserveReason::Released => "RELEASED",
        });
        Some(decision)
    }

    /// Ends of containers, and moves of reservations.
    fn ended(&self, event: &Event) -> Option<Value> {
        match event {
            Event::ReservationMoved {
                container,
                from,
                to,
                size,
            } => {
                let mut decision = self.basics("move_reservation", container, to, size);
                decision["from"] = json!(from.to_string());
                Some(decision)
            }
            Event::Ended {
                container,
                node,
                size,
                ending,
                ..
            } => {
                let mut decision = self.basics("complete", container, node, size);
                decision["reason"] = json!(match ending {
                    Ending::Finished => "FINISHED",
                    Ending::Released => "RELEASED",
                    Ending::Killed => "KILL",
                });
                Some(decision)
            }
            _ => None,
        }
    }

    fn refused(&self, event: &Event) -> Option<Value> {
        let Event::Rejected {
            app,
            node,
            size,
            kind,
            again,
            ..
        } = event
        else {
            return None;
        };
        let what = match (kind, again) {
            (ProposalKind::Allocate, _) => "allocate",
            (ProposalKind::Reserve, true) => "re_reserve",
            (ProposalKind::Reserve, false) => "reserve",
        };
        Some(json!({
            "kind": "reject", "app": app.sequence, "node": node.to_string(),
            "res": size.values(self.types), "what": what,
        }))
    }
}

/// Adds a refusal, or counts it when it equals the last decision.
fn count(refusal: Value, decisions: &mut Vec<Value>) {
    if let Some(last) = decisions.last_mut() {
        let times = last.get("times").and_then(Value::as_u64).unwrap_or(1);
        let mut single = last.clone();
        if let Some(object) = single.as_object_mut() {
            object.remove("times");
        }
        if single == refusal {
            last["times"] = json!(times + 1);
            return;
        }
    }
    decisions.push(refusal);
}

fn locality_name(locality: Locality) -> &'static str {
    match locality {
        Locality::Node => "NODE_LOCAL",
        Locality::Rack => "RACK_LOCAL",
        Locality::Any => "OFF_SWITCH",
    }
}
