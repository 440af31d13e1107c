//! Waves: containers that are placed together where single passes would place the same ones.
#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "common/trees.rs"]
mod trees;

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec, PartitionSpec};
use capsched::commit::{
    CommitOutcome, Followed, Ledger, apply_to_copy, observe_on_copy, place_wave,
};
use capsched::id::{NodeSlot, PartitionId};
use capsched::proposer::{Candidates, FitIndex, Outcome, propose, wave_length};
use capsched::queue::Exclusivity;
use capsched::resource::ResourceVector;
use capsched::snapshot::State;

fn of(memory: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[memory, cores])
}

/// Ten nodes for ten containers each, and two leaves that may use everything.
fn ledger() -> Ledger {
    ledger_of("1", "100", 0)
}

/// The same with a weight for ann in `root.p.a`, the least share of a user there in percent, and `x`
/// nodes of partition `x` besides, as large as the others.
fn ledger_of(weight: &str, percent: &str, x: usize) -> Ledger {
    let dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let pairs = [
        ("root.queues", "p,q"),
        ("resource-calculator", dominant),
        ("maximum-am-resource-percent", "1"),
        ("root.p.queues", "a"),
        ("root.p.capacity", "50"),
        ("root.q.capacity", "50"),
        ("root.p.a.capacity", "100"),
        ("root.p.a.user-limit-factor", "10"),
        ("root.q.user-limit-factor", "10"),
        ("root.p.a.user-settings.ann.weight", weight),
        ("root.p.a.minimum-user-limit-percent", percent),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.p.accessible-node-labels", "x"),
        ("root.p.accessible-node-labels.x.capacity", "50"),
        ("root.p.a.accessible-node-labels", "x"),
        ("root.p.a.accessible-node-labels.x.capacity", "100"),
        ("root.q.accessible-node-labels", "x"),
        ("root.q.accessible-node-labels.x.capacity", "50"),
    ];
    let partition = PartitionSpec {
        name: "x".to_owned(),
        exclusive: true,
    };
    let mut ledger = Ledger::new(trees::settings(pairs), &[partition]).unwrap();
    for i in 0..10 + x {
        let name = NodeName::new(&format!("h{i}"), 1).unwrap();
        let mut node = NodeSpec::new(name, of(10_240, 10));
        if i >= 10 {
            "x".clone_into(&mut node.partition);
        }
        ledger.add_node(&node).unwrap();
    }
    ledger.settle();
    ledger.track(true);
    ledger
}

fn ask(ledger: &mut Ledger, number: u32, queue: &str, count: i32) {
    ask_on(ledger, number, queue, "", count);
}

fn ask_on(ledger: &mut Ledger, number: u32, queue: &str, partition: &str, count: i32) {
    let id = ApplicationId::new(number);
    let spec = AppSpec::new(id, queue, "ann");
    let app = ledger.submit(&spec).unwrap();
    ledger.settle();
    let ask = Ask {
        partition: Some(partition.to_owned()),
        ..Ask::anywhere(of(1024, 1), count)
    };
    let call = AskCall::asking(vec![ask]);
    ledger.ask(app, &call).unwrap();
    ledger.settle();
}

/// A working copy, and the nodes of a partition in order.
fn copy(ledger: &Ledger, partition: PartitionId) -> (State, FitIndex) {
    let mut state = ledger.state().clone();
    state.copied = true;
    let nodes = (0..state.nodes.len()).map(NodeSlot::at);
    let order: Vec<_> = nodes
        .filter(|&node| state.nodes[node].partition == partition)
        .collect();
    let mut lane = FitIndex::new(order.clone(), 2);
    for node in order {
        lane.note_total(&state.nodes[node].total.get());
        lane.set(node, Some(&state.nodes[node].free.get()));
    }
    (state, lane)
}

/// Decides by one pass, and then for as long as nothing else can come, at most `most` more; the
/// application, and how many more containers of it.
fn decide(state: &mut State, lane: &mut FitIndex, most: usize) -> Option<(ApplicationId, usize)> {
    let mut seen = Vec::new();
    let partition = lane.open().next().map(|node| state.nodes[node].partition)?;
    let candidates = Candidates::indexed(lane, partition);
    let outcome = propose(state, &candidates, Exclusivity::Respect, &mut seen);
    observe_on_copy(state, &seen);
    let Outcome::Proposed(first) = outcome else {
        return None;
    };
    assert_ne!(apply_to_copy(state, &first), Followed::No);
    lane.lessen(first.node, &state.nodes[first.node].free);
    let most = wave_length(state, &first, most);
    let mut placed = Vec::new();
    let length = place_wave(state, lane, &first, most, |next| placed.push(next));
    assert_eq!(placed.len(), length);
    assert!(
        placed
            .iter()
            .all(|next| (next.app, next.key) == (first.app, first.key))
    );
    Some((state.apps[first.app].id, length))
}

/// All decisions with waves of a batch's length; the same nodes are filled as without any.
fn waves(ledger: &Ledger) -> Vec<(ApplicationId, usize)> {
    waves_on(ledger, PartitionId::DEFAULT)
}

fn waves_on(ledger: &Ledger, partition: PartitionId) -> Vec<(ApplicationId, usize)> {
    let filled = |most: usize| {
        let (mut state, mut lane) = copy(ledger, partition);
        let decided: Vec<_> = std::iter::from_fn(|| decide(&mut state, &mut lane, most)).collect();
        let free: Vec<_> = state.nodes.iter().map(|node| node.free.get()).collect();
        (decided, free)
    };
    let ((together, free), (singly, free_singly)) = (filled(63), filled(0));
    assert_eq!(free, free_singly);
    let spread = together
        .iter()
        .flat_map(|&(app, more)| vec![(app, 0); more + 1]);
    assert_eq!(spread.collect::<Vec<_>>(), singly);
    together
}

#[test]
fn a_lone_leaf_is_served_at_once_but_for_the_last_container_of_a_key() {
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 20);
    ask(&mut ledger, 2, "root.p.a", 5);
    let [one, two] = [1, 2].map(ApplicationId::new);
    let waves = waves(&ledger);
    assert_eq!(waves, [(one, 18), (one, 0), (two, 3), (two, 0)]);
}

#[test]
fn leaves_that_are_equally_hungry_take_turns() {
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 4);
    ask(&mut ledger, 2, "root.q", 4);
    let [one, two] = [1, 2].map(ApplicationId::new);
    let turns = [one, two].repeat(4);
    let alone: Vec<_> = turns.into_iter().map(|app| (app, 0)).collect();
    assert_eq!(waves(&ledger), alone);
}

#[test]
fn a_leaf_that_is_behind_comes_first_until_it_has_caught_up() {
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 41);
    for node in (0..40).map(|i| NodeSlot::at(i / 10)) {
        let (candidates, mut seen) = (Candidates::node(node), Vec::new());
        let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
        assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Committed);
        ledger.settle();
    }
    ask(&mut ledger, 2, "root.q", 60);
    let [one, two] = [1, 2].map(ApplicationId::new);
    let waves = waves(&ledger);
    let until = waves.iter().position(|&(app, _)| app == one).unwrap();
    let served: usize = waves[..until].iter().map(|(_, more)| more + 1).sum();
    assert!(waves[..until].iter().all(|&(app, _)| app == two));
    assert_eq!((served, waves[0].1 > 20), (40, true), "{waves:?}");
}

#[test]
fn a_wave_ends_where_a_queue_may_be_at_its_maximum_or_no_node_has_room() {
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 150);
    let placed: usize = waves(&ledger).iter().map(|(_, more)| more + 1).sum();
    assert_eq!(placed, 100, "as many as there is room for");
}

#[test]
fn a_user_of_more_weight_is_served_at_once_as_far_as_it_goes_and_one_of_less_is_not() {
    let longest = |weight: &str, percent: &str| {
        let mut ledger = ledger_of(weight, percent, 0);
        ask(&mut ledger, 1, "root.p.a", 40);
        let waves = waves(&ledger);
        assert_eq!(waves.iter().map(|(_, more)| more + 1).sum::<usize>(), 40);
        waves.iter().map(|&(_, more)| more).max().unwrap_or(0)
    };
    // A quarter of the 50 containers that the leaf is guaranteed, rounded and with a margin, or thrice
    // as much.
    assert!((9..=13).contains(&longest("1", "25")));
    assert!((20..=37).contains(&longest("3", "25")));
    assert_eq!(longest("0.5", "25"), 0);
}

#[test]
fn a_partition_of_the_same_nodes_as_the_cluster_has_waves() {
    let mut ledger = ledger_of("1", "100", 10);
    ask_on(&mut ledger, 1, "root.p.a", "x", 40);
    ask(&mut ledger, 2, "root.p.a", 30);
    let (one, two) = (ApplicationId::new(1), ApplicationId::new(2));
    let x = ledger.partition("x").unwrap();
    assert_eq!(waves_on(&ledger, x), [(one, 38), (one, 0)]);
    let alone: Vec<_> = waves(&ledger);
    assert_eq!(
        alone,
        [(two, 0)].repeat(30),
        "behind one that asks elsewhere"
    );
}
