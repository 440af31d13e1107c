//! Shares that a working copy does not keep are computed where somebody asks for them.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::sync::Arc;

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec};
use capsched::commit::{CommitOutcome, Ledger};
use capsched::config;
use capsched::id::{NodeSlot, PartitionId};
use capsched::policy::may_kill;
use capsched::proposer::{
    Candidates, Outcome, OverlayResult, apply_to_copy, observe_on_copy, propose,
};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;
use capsched::snapshot::{Snapshot, State};

/// One node, and a leaf with a share so small that the amount that it is guaranteed rounds to nothing.
fn ledger() -> Ledger {
    let pairs = [
        ("root.queues", "small,large"),
        ("root.small.capacity", "0.01"),
        ("root.small.user-limit-factor", "100000"),
        ("root.large.capacity", "99.99"),
        (
            "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
    ];
    let prefixed =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    let pairs: BTreeMap<_, _> = pairs.into_iter().map(prefixed).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    let mut ledger = Ledger::new(loaded.settings, &[]).unwrap();
    let name = NodeName::new("h", 1).unwrap();
    let node = NodeSpec::new(name, ResourceVector::of(&[8192, 8]));
    ledger.add_node(&node).unwrap();
    let spec = AppSpec::new(ApplicationId::new(1), "root.small", "ann");
    let app = ledger.submit(&spec).unwrap();
    ledger.drain_follow_ups();
    let asks = vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 4)];
    ledger.ask(app, &AskCall::asking(asks)).unwrap();
    ledger.drain_follow_ups();
    ledger
}

#[test]
fn a_copy_tells_whether_a_leaf_that_is_guaranteed_nothing_may_kill() {
    let mut ledger = ledger();
    ledger.track(true);
    let empty = Snapshot::empty(Arc::clone(&ledger.state().settings));
    let shown = empty.next(ledger.state_to_publish());
    let mut copy = State::new(Arc::clone(&shown.settings));
    copy.refresh(&empty, &shown, |_| {});
    let leaf = ledger.queue("root.small").unwrap();
    let part = ledger.state().queues[leaf].part(PartitionId::DEFAULT);
    assert!(part.guaranteed.is_none() && part.is_guaranteed());
    let may = |state: &State| may_kill(state, leaf, PartitionId::DEFAULT);
    assert_eq!([may(&copy), may(ledger.state())], [true; 2]);

    let (candidates, mut seen) = (Candidates::node(NodeSlot(0)), Vec::new());
    let found = propose(&copy, &candidates, Exclusivity::Respect, &mut seen);
    let Outcome::Proposed(proposal) = &found else {
        panic!("there is room: {found:?}");
    };
    observe_on_copy(&mut copy, &seen);
    assert_ne!(apply_to_copy(&mut copy, proposal), OverlayResult::No);
    assert_eq!(ledger.commit(&found, &seen), CommitOutcome::Committed);
    ledger.drain_follow_ups();
    assert_eq!([may(&copy), may(ledger.state())], [false; 2]);
}
