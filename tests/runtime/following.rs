//! When the working copy of a sole proposer follows the published snapshot.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, CommitOutcome, CommittedDecision, Mode, NodeName,
    NodeSpec, Pipeline,
};
use capsched::config;
use capsched::id::PartitionId;
use capsched::resource::ResourceVector;
use capsched::time::ManualClock;

/// A sole global proposer over one large node, and an application each of two users, without asks.
fn sole() -> Pipeline {
    sole_with([])
}

/// The same with a leaf of some settings besides.
fn sole_with<const N: usize>(leaf: [(&str, &str); N]) -> Pipeline {
    sole_in(Mode::Global { threads: 1 }, &[8_388_608, 8192], leaf)
}

/// The same in some mode over a node of some size.
fn sole_in<const N: usize>(mode: Mode, node: &[i64], leaf: [(&str, &str); N]) -> Pipeline {
    let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                 ResourceUsageMultiNodeLookupPolicy";
    let pairs = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy.names", "usage"),
        ("multi-node-sorting.policy", "usage"),
        ("multi-node-sorting.policy.usage.class", class),
    ]
    .map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned()));
    let leaf = leaf.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.root.a.{key}");
        (key, value.to_owned())
    });
    let pairs = pairs.into_iter().chain(leaf).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    let settings = loaded.unwrap().settings;
    let mut pipeline = Pipeline::new(settings, &[], mode, 8, ManualClock::at(0)).unwrap();
    let size = ResourceVector::of(node);
    let node = NodeSpec::new("n0:1".parse().unwrap(), size);
    pipeline.call(|engine| engine.add_node(&node)).unwrap();
    for (number, user) in [(1, "ann"), (2, "bob")] {
        let app = AppSpec::new(ApplicationId::new(number), "root.a", user);
        pipeline.call(|engine| engine.submit(&app)).unwrap();
    }
    pipeline
}

fn ask(pipeline: &mut Pipeline, app: u32, containers: i32) {
    ask_for(pipeline, app, containers, 1024);
}

fn ask_for(pipeline: &mut Pipeline, app: u32, containers: i32, mib: i64) {
    let size = ResourceVector::of(&[mib, 1]);
    let call = AskCall::asking(vec![Ask::anywhere(size, containers)]);
    let replied = pipeline.call(|engine| engine.ask(ApplicationId::new(app), &call));
    replied.unwrap();
    pipeline.publish();
    pipeline.sort_nodes();
}

/// Lets the proposer decide once, and its batches land and be published.
fn decide(pipeline: &mut Pipeline) -> usize {
    assert!(pipeline.turn(0).proposed);
    pipeline.hand_over(0);
    let mut steps = 0;
    while let Some(committed) = pipeline.commit(0) {
        let taken = |step: &&CommittedDecision| step.outcome == CommitOutcome::Committed;
        steps += committed.iter().filter(taken).count();
    }
    pipeline.publish();
    steps
}

#[test]
fn a_sole_view_stays_behind_its_own_decisions_and_follows_what_others_did() {
    let mut pipeline = sole();
    ask(&mut pipeline, 1, 500);
    assert!(pipeline.catch_up(0, false), "a call is from outside");
    assert!(decide(&mut pipeline) > 0);
    assert!(!pipeline.catch_up(0, false), "only its own decisions");
    assert!(decide(&mut pipeline) > 0, "it goes on with its own copy");
    assert!(!pipeline.catch_up(0, false));
    ask(&mut pipeline, 2, 1);
    assert!(pipeline.catch_up(0, false));
}

/// That a user asks for nothing more changes the limits of others, which the view follows, too: with ann,
/// bob may have half of the node.
#[test]
fn a_sole_view_goes_on_by_itself_when_a_user_asks_for_nothing_more() {
    let mut pipeline = sole_with([("minimum-user-limit-percent", "50")]);
    ask(&mut pipeline, 1, 1);
    ask(&mut pipeline, 2, 6000);
    assert!(pipeline.catch_up(0, false));
    let mut decided = 0;
    while decided < 5000 {
        decided += decide(&mut pipeline);
        assert!(!pipeline.catch_up(0, false), "{decided} decisions");
    }
}

/// Each container moves its application in a fair order, which the view follows by itself.
#[test]
fn applications_of_a_fair_leaf_take_turns_though_the_view_is_old() {
    let mut pipeline = sole_with([("ordering-policy", "fair")]);
    ask(&mut pipeline, 1, 2000);
    ask(&mut pipeline, 2, 2000);
    assert!(pipeline.catch_up(0, false));
    let mut decided = 0;
    while decided < 3000 {
        decided += decide(&mut pipeline);
        assert!(!pipeline.catch_up(0, false), "{decided} decisions");
        let snapshot = pipeline.snapshot();
        let used = snapshot.apps.iter().map(|app| {
            let part = app.part(PartitionId::DEFAULT);
            part.used.get().memory() / 1024
        });
        let used: Vec<_> = used.collect();
        assert!(used[0].abs_diff(used[1]) <= 1, "{used:?}");
    }
}

/// Proposers that are refused look again when something changed. Would a kept reservation count, one
/// that is refused beside it would try for ever, and the engine never come to rest.
#[test]
fn a_reservation_that_is_kept_is_no_change() {
    let mut pipeline = sole_in(Mode::Asynchronous { threads: 1 }, &[10_240, 16], []);
    let second = NodeSpec::new("n1:1".parse().unwrap(), ResourceVector::of(&[10_240, 16]));
    pipeline.call(|engine| engine.add_node(&second)).unwrap();
    // Each node has room for one; the third fits in the cluster, but on no node.
    ask_for(&mut pipeline, 1, 3, 6144);
    let mut kept = Vec::new();
    for _ in 0..12 {
        pipeline.catch_up(0, true);
        let _ = pipeline.turn(0);
        pipeline.hand_over(0);
        let before = pipeline.snapshot();
        let held = before.nodes.iter().any(|node| node.reserved.is_some());
        let mut committed = 0;
        while let Some(steps) = pipeline.commit(0) {
            let taken = |step: &&CommittedDecision| step.outcome == CommitOutcome::Committed;
            committed += steps.iter().filter(taken).count();
        }
        pipeline.publish();
        if held && committed > 0 {
            kept.push(pipeline.snapshot().changes - before.changes);
        }
    }
    assert!(kept.len() > 2, "the reservation is kept: {kept:?}");
    assert!(kept.iter().all(|&changes| changes == 0), "{kept:?}");
}

/// A reservation ends a walk over the nodes, for no copy follows it. The next walk goes on behind it; were
/// it to begin before it, the nodes behind would wait for those before them to be full.
#[test]
fn a_walk_that_had_to_end_goes_on_behind() {
    for shift in 0..6 {
        let mut pipeline = sole_in(Mode::Asynchronous { threads: 1 }, &[10_240, 16], []);
        for i in 1..6 {
            let size = ResourceVector::of(&[10_240, 16]);
            let node = NodeSpec::new(format!("n{i}:1").parse().unwrap(), size);
            pipeline.call(|engine| engine.add_node(&node)).unwrap();
        }
        // One on each node; then three nodes are full, and the others have no room for more of those.
        for (app, containers, mib) in [(1, 6, 6144), (2, 3, 4096)] {
            ask_for(&mut pipeline, app, containers, mib);
            while !step(&mut pipeline).is_empty() {}
        }
        for _ in 0..shift {
            assert!(step(&mut pipeline).is_empty());
        }
        ask_for(&mut pipeline, 1, 1, 6144);
        ask_for(&mut pipeline, 2, 1, 6144);
        let nodes = [step(&mut pipeline), step(&mut pipeline)].map(|steps| steps[0].clone());
        assert_ne!(nodes[0], nodes[1], "{shift} walks later");
    }
}

/// Lets the proposer follow and decide once; the nodes of what it proposed, when that was committed.
fn step(pipeline: &mut Pipeline) -> Vec<NodeName> {
    pipeline.catch_up(0, true);
    let _ = pipeline.turn(0);
    pipeline.hand_over(0);
    let mut nodes = Vec::new();
    while let Some(steps) = pipeline.commit(0) {
        nodes.extend(steps.into_iter().filter_map(|step| Some(step.intent?.node)));
    }
    pipeline.publish();
    nodes
}
