//! Nodes without room for a container that may be anywhere are counted as a closer look counts them.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec};
use capsched::commit::{CommitOutcome, Ledger};
use capsched::id::{AppSlot, NodeSlot};
use capsched::proposer::{Candidates, FitIndex, Observation, policies_of, propose};
use capsched::queue::{Exclusivity, Reference};
use capsched::resource::ResourceVector;

const FULL: u32 = 4;

fn of(memory: i64) -> ResourceVector {
    ResourceVector::of(&[memory, 1])
}

fn ask(ledger: &mut Ledger, number: u32, memory: i64, count: i32) -> AppSlot {
    let spec = AppSpec::new(ApplicationId::new(number), "root.a", "ann");
    let app = ledger.submit(&spec).unwrap();
    ledger.drain_follow_ups();
    let call = AskCall::asking(vec![Ask::anywhere(of(memory), count)]);
    ledger.ask(app, &call).unwrap();
    ledger.drain_follow_ups();
    app
}

/// Four nodes of 10 GiB that hold a container of 6 GiB each, and a last one with so much memory.
fn ledger(reference: Reference, last: i64) -> Ledger {
    let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                 ResourceUsageMultiNodeLookupPolicy";
    let mut settings = crate::trees::settings([
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
        ("maximum-am-resource-percent", "1"),
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy.names", "usage"),
        ("multi-node-sorting.policy", "usage"),
        ("multi-node-sorting.policy.usage.class", class),
    ]);
    settings.scheduler.rules = reference.rules();
    let mut ledger = Ledger::new(settings, &[]).unwrap();
    for i in 0..=FULL {
        let memory = if i < FULL { 10_240 } else { last };
        let name = NodeName::new(&format!("h{i}"), 1).unwrap();
        let node = NodeSpec::new(name, ResourceVector::of(&[memory, 10]));
        ledger.add_node(&node).unwrap();
    }
    ledger.drain_follow_ups();
    ledger.track(true);
    ask(&mut ledger, 1, 6144, 4);
    for i in 0..4 {
        let (candidates, mut seen) = (Candidates::node(NodeSlot::at(i)), Vec::new());
        let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
        assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Committed);
        ledger.drain_follow_ups();
    }
    ledger
}

/// What a pass over all nodes observes, in the order of their names and with what is free on them.
fn pass(ledger: &Ledger) -> Vec<Observation> {
    let (state, mut seen) = (ledger.state(), Vec::new());
    let nodes: Vec<_> = (0..state.nodes.len()).map(NodeSlot::at).collect();
    let mut room = FitIndex::new(nodes.clone(), 2);
    for &node in &nodes {
        room.note_total(&state.nodes[node].total.get());
        room.set(node, Some(&state.nodes[node].free.get()));
    }
    let orders = policies_of(state)
        .into_iter()
        .map(|policy| (policy, nodes.as_slice()));
    let candidates = Candidates::ordered_beforehand(&nodes, orders, (&room, 0));
    let _ = propose(state, &candidates, Exclusivity::Respect, &mut seen);
    seen
}

/// Opportunities of an application, and missed ones.
fn counted(app: AppSlot, seen: &[Observation]) -> (i32, i32) {
    let counts = seen.iter().filter_map(|seen| match *seen {
        Observation::Counters {
            app: of,
            opportunities,
            missed,
            ..
        } if of == app => Some((opportunities, missed)),
        _ => None,
    });
    let [counts] = counts.collect::<Vec<_>>()[..] else {
        panic!("the counters move once: {seen:?}");
    };
    counts
}

/// The last node has room or is too small. What is missed counts anew once something is found.
#[test]
fn nodes_without_room_count_as_nodes_that_are_looked_at() {
    for reference in [Reference::Hadoop34, Reference::Hadoop35] {
        // Until 3.5 each node counts as missed; then all of them do together.
        let missed = if reference == Reference::Hadoop34 {
            5
        } else {
            1
        };
        for (last, expected) in [(10_240, (5, 0)), (4096, (5, missed))] {
            let mut ledger = ledger(reference, last);
            let app = ask(&mut ledger, 2, 5120, 2);
            assert_eq!(counted(app, &pass(&ledger)), expected, "{reference} {last}");
            // Who excludes a node has each one looked at, though no node has that name.
            let exclude = AskCall {
                blacklist_add: vec!["nowhere".to_owned()],
                ..AskCall::default()
            };
            ledger.ask(app, &exclude).unwrap();
            ledger.drain_follow_ups();
            assert_eq!(counted(app, &pass(&ledger)), expected, "{reference} {last}");
        }
    }
}
