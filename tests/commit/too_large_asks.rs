//! An application in the skippable head whose ask is too large for every node of one partition.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec, PartitionSpec};
use capsched::commit::{CommitOutcome, Ledger};
use capsched::fast_path::AllFast;
use capsched::id::{AppSlot, NodeSlot, PartitionId};
use capsched::proposer::{BulkExtent, Candidates, Observation, Outcome, place_in_bulk, propose};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;

use crate::bulk_placement::{bulk_on, copy};

fn of(memory: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[memory, cores])
}

/// One leaf, three nodes of 6 GiB and a larger one in partition `x`.
fn ledger() -> Ledger {
    let settings = crate::trees::settings([
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
        ("maximum-am-resource-percent", "1"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "100"),
    ]);
    let label = PartitionSpec {
        name: "x".to_owned(),
        exclusive: true,
    };
    let mut ledger = Ledger::new(settings, &[label]).unwrap();
    for (i, memory, partition) in [
        (0, 6144, ""),
        (1, 6144, ""),
        (2, 6144, ""),
        (3, 24_576, "x"),
    ] {
        let name = NodeName::new(&format!("h{i}"), 1).unwrap();
        let mut node = NodeSpec::new(name, of(memory, 24));
        partition.clone_into(&mut node.partition);
        ledger.add_node(&node).unwrap();
    }
    ledger.drain_follow_ups();
    ledger.track(true);
    ledger
}

fn submit(ledger: &mut Ledger, number: u32) -> AppSlot {
    let spec = AppSpec::new(ApplicationId::new(number), "root.a", "ann");
    let app = ledger.submit(&spec).unwrap();
    ledger.drain_follow_ups();
    app
}

fn ask(ledger: &mut Ledger, app: AppSlot, partition: &str, memory: i64, count: i32) {
    let ask = Ask {
        partition: Some(partition.to_owned()),
        ..Ask::anywhere(of(memory, 1), count)
    };
    ledger.ask(app, &AskCall::asking(vec![ask])).unwrap();
    ledger.drain_follow_ups();
}

/// What a pass over the nodes of the default partition decides and observes.
fn pass_over_default(ledger: &Ledger) -> (Outcome, Vec<Observation>) {
    let (_, index) = copy(ledger, PartitionId::DEFAULT);
    let candidates = Candidates::indexed(&index, PartitionId::DEFAULT);
    let mut seen = Vec::new();
    let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
    (outcome, seen)
}

/// The containers that a bulk placement of at most 64 finds on a partition.
fn found_in_bulk(ledger: &Ledger, partition: PartitionId) -> usize {
    let (mut state, mut index) = copy(ledger, partition);
    let extent = BulkExtent {
        most: 64,
        second: None,
        watch: None,
    };
    place_in_bulk(&mut state, &mut index, partition, extent, &mut Vec::new())
}

/// The first application asks on a partition for what no node of the default partition can hold, and so stands in the
/// skippable head; the second one asks for ten containers, two of which it has.
fn with_too_large_an_ask(partition: &str) -> (Ledger, [AppSlot; 2]) {
    let mut ledger = ledger();
    let first = submit(&mut ledger, 1);
    ask(&mut ledger, first, partition, 8192, 1);
    let second = submit(&mut ledger, 2);
    ask(&mut ledger, second, "", 1024, 10);
    for _ in 0..2 {
        let (outcome, seen) = pass_over_default(&ledger);
        assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Committed);
        ledger.drain_follow_ups();
    }
    let leaf = ledger.queue("root.a").unwrap();
    let head = &ledger.state().queues[leaf].as_leaf().head;
    let bound = head.bound.map(|bound| (bound.partition, bound.largest));
    assert_eq!(
        (head.next, bound),
        (1, Some((PartitionId::DEFAULT, of(8192, 1))))
    );
    (ledger, [first, second])
}

#[test]
fn who_asks_too_much_for_one_partition_comes_first_on_another() {
    let _fast = AllFast::begin();
    let (mut ledger, [_, second]) = with_too_large_an_ask("x");
    ask(&mut ledger, second, "x", 1024, 5);
    let x = ledger.state().nodes[NodeSlot::at(3)].partition;
    assert_eq!(found_in_bulk(&ledger, x), 0);
    assert_eq!(bulk_on(&ledger, x).0, [1, 2, 2, 2, 2, 2]);
}

// As RegularContainerAllocator.preCheckForNodeCandidateSet: missed opportunities decide where partitions are shared.
#[test]
fn asks_that_are_too_large_are_looked_at_once_a_partition_is_shared() {
    let _fast = AllFast::begin();
    let (mut ledger, [first, _]) = with_too_large_an_ask("");
    let looks_at_first = |ledger: &Ledger| {
        let (_, seen) = pass_over_default(ledger);
        let is_look =
            |seen: &Observation| matches!(seen, Observation::Counters { app, .. } if *app == first);
        seen.iter().any(is_look)
    };
    assert!(!looks_at_first(&ledger));
    assert!(found_in_bulk(&ledger, PartitionId::DEFAULT) > 0);
    ledger.add_label(&PartitionSpec {
        name: "y".to_owned(),
        exclusive: false,
    });
    ledger.drain_follow_ups();
    let _ = ledger.state_to_publish();
    assert!(looks_at_first(&ledger));
    assert_eq!(found_in_bulk(&ledger, PartitionId::DEFAULT), 0);
}

/// What the head depended on says nothing about those who join it after its end.
#[test]
fn a_head_that_ended_depends_on_nothing() {
    let _fast = AllFast::begin();
    let (mut ledger, [first, _]) = with_too_large_an_ask("");
    ask(&mut ledger, first, "", 8192, 0);
    let leaf = ledger.queue("root.a").unwrap();
    let head = |ledger: &Ledger| {
        let head = &ledger.state().queues[leaf].as_leaf().head;
        (head.next, head.bound)
    };
    assert_eq!(head(&ledger), (0, None));
    let (outcome, seen) = pass_over_default(&ledger);
    assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Committed);
    assert_eq!(head(&ledger), (1, None));
}
