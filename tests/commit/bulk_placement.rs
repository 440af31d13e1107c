//! Bulk placement: containers that are placed together where single passes would place the same ones.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec, PartitionSpec};
use capsched::commit::{CommitOutcome, Ledger};
use capsched::fast_path::AllFast;
use capsched::id::{ContainerId, NodeSlot, PartitionId};
use capsched::proposer::{
    BulkExtent, Candidates, FitIndex, Outcome, OverlayResult, apply_to_copy, observe_on_copy,
    place_in_bulk, propose,
};
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
    ledger_with(weight, percent, x, "false")
}

/// The same, and whether the fair order of `root.q` weighs applications by their size.
fn ledger_with(weight: &str, percent: &str, x: usize, sized: &str) -> Ledger {
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
        ("root.q.ordering-policy", "fair"),
        (
            "root.q.ordering-policy.fair.enable-size-based-weight",
            sized,
        ),
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
    let mut ledger = Ledger::new(crate::trees::settings(pairs), &[partition]).unwrap();
    for i in 0..10 + x {
        let name = NodeName::new(&format!("h{i}"), 1).unwrap();
        let mut node = NodeSpec::new(name, of(10_240, 10));
        if i >= 10 {
            "x".clone_into(&mut node.partition);
        }
        ledger.add_node(&node).unwrap();
    }
    ledger.drain_follow_ups();
    ledger.track(true);
    ledger
}

fn ask(ledger: &mut Ledger, number: u32, queue: &str, count: i32) {
    ask_on(ledger, number, queue, "", count);
}

fn ask_on(ledger: &mut Ledger, number: u32, queue: &str, partition: &str, count: i32) {
    ask_of(ledger, (number, "ann"), queue, partition, count);
}

/// A user's new application asks.
fn ask_of(
    ledger: &mut Ledger,
    (number, user): (u32, &str),
    queue: &str,
    partition: &str,
    count: i32,
) {
    let id = ApplicationId::new(number);
    let spec = AppSpec::new(id, queue, user);
    let app = ledger.submit(&spec).unwrap();
    ledger.drain_follow_ups();
    let ask = Ask {
        partition: Some(partition.to_owned()),
        ..Ask::anywhere(of(1024, 1), count)
    };
    let call = AskCall::asking(vec![ask]);
    ledger.ask(app, &call).unwrap();
    ledger.drain_follow_ups();
}

/// A working copy, and the nodes of a partition in order.
pub(crate) fn copy(ledger: &Ledger, partition: PartitionId) -> (State, FitIndex) {
    let mut state = ledger.state().clone();
    state.copied = true;
    let nodes = (0..state.nodes.len()).map(NodeSlot::at);
    let order: Vec<_> = nodes
        .filter(|&node| state.nodes[node].partition == partition)
        .collect();
    let mut index = FitIndex::new(order.clone(), 2);
    for node in order {
        index.note_total(&state.nodes[node].total.get());
        index.set(node, Some(&state.nodes[node].free.get()));
    }
    (state, index)
}

/// All decisions: those of bulk placements of at most `most` containers, and passes where no run goes on. The
/// applications in turn, how many passes there were, and what is left on the nodes.
fn filled(
    ledger: &Ledger,
    partition: PartitionId,
    most: usize,
) -> (Vec<ApplicationId>, usize, Vec<ResourceVector>) {
    let (mut state, mut index) = copy(ledger, partition);
    let (mut served, mut passes) = (Vec::new(), 0);
    loop {
        let extent = BulkExtent {
            most,
            second: None,
            watch: None,
        };
        let mut placed = Vec::new();
        let length = place_in_bulk(&mut state, &mut index, partition, extent, &mut placed);
        assert_eq!(placed.len(), length);
        served.extend(placed.iter().map(|outcome| {
            let Outcome::Proposed(next) = outcome else {
                panic!("a run is of containers: {outcome:?}");
            };
            state.apps[next.app].id
        }));
        let mut seen = Vec::new();
        let candidates = Candidates::indexed(&index, partition);
        let outcome = propose(&state, &candidates, Exclusivity::Respect, &mut seen);
        observe_on_copy(&mut state, &seen);
        let Outcome::Proposed(single) = outcome else {
            let free = state.nodes.iter().map(|node| node.free.get());
            return (served, passes, free.collect());
        };
        passes += 1;
        assert_ne!(apply_to_copy(&mut state, &single), OverlayResult::No);
        index.lessen(single.node, &state.nodes[single.node].free);
        served.push(state.apps[single.app].id);
    }
}

/// Whom bulk placements of a batch's length serve, one container after the other, and how many passes that takes.
/// Passes alone come to the same.
fn bulk(ledger: &Ledger) -> (Vec<u32>, usize) {
    bulk_on(ledger, PartitionId::DEFAULT)
}

pub(crate) fn bulk_on(ledger: &Ledger, partition: PartitionId) -> (Vec<u32>, usize) {
    let (together, passes, free) = filled(ledger, partition, 64);
    let (singly, count, free_singly) = filled(ledger, partition, 0);
    assert_eq!((&together, free), (&singly, free_singly));
    assert_eq!(count, singly.len());
    (together.iter().map(|app| app.sequence).collect(), passes)
}

/// Whom passes over the live state serve, each committed before the next one.
fn by_the_ledger(ledger: &mut Ledger) -> Vec<u32> {
    let (_, mut index) = copy(ledger, PartitionId::DEFAULT);
    let mut served = Vec::new();
    loop {
        let mut seen = Vec::new();
        let candidates = Candidates::indexed(&index, PartitionId::DEFAULT);
        let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
        let committed = ledger.commit(&outcome, &seen);
        ledger.drain_follow_ups();
        let Outcome::Proposed(placed) = outcome else {
            return served;
        };
        assert_eq!(committed, CommitOutcome::Committed);
        let state = ledger.state();
        index.lessen(placed.node, &state.nodes[placed.node].free);
        served.push(state.apps[placed.app].id.sequence);
    }
}

#[test]
fn a_lone_leaf_takes_a_pass_for_the_first_and_the_last_container_of_a_key() {
    let _fast = AllFast::begin();
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 20);
    ask(&mut ledger, 2, "root.p.a", 5);
    let (served, passes) = bulk(&ledger);
    assert_eq!(served, [vec![1; 20], vec![2; 5]].concat());
    assert_eq!(passes, 4);
}

#[test]
fn leaves_that_are_equally_hungry_take_turns_within_a_run() {
    let _fast = AllFast::begin();
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 14);
    ask(&mut ledger, 2, "root.q", 14);
    let (served, passes) = bulk(&ledger);
    assert_eq!(served, [1, 2].repeat(14));
    assert_eq!(passes, 4, "the first and the last container of each");
}

#[test]
fn a_leaf_that_is_behind_comes_first_until_it_has_caught_up() {
    let _fast = AllFast::begin();
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 41);
    for node in (0..40).map(|i| NodeSlot::at(i / 10)) {
        let (candidates, mut seen) = (Candidates::node(node), Vec::new());
        let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
        assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Committed);
        ledger.drain_follow_ups();
    }
    ask(&mut ledger, 2, "root.q", 60);
    let (served, passes) = bulk(&ledger);
    let until = served.iter().position(|&app| app == 1);
    assert_eq!((until, served.len()), (Some(40), 60));
    assert_eq!(
        passes, 3,
        "the first container of each, and the last one of a node"
    );
}

#[test]
fn a_run_ends_where_no_node_has_room() {
    let _fast = AllFast::begin();
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 150);
    let (served, passes) = bulk(&ledger);
    assert_eq!(served.len(), 100, "as many as there is room for");
    assert!(passes < 5, "{passes}");
}

#[test]
fn users_at_their_limit_in_front_do_not_end_a_run() {
    let _fast = AllFast::begin();
    let mut ledger = ledger_of("1", "25", 0);
    for (number, user, count) in [
        (1, "ann", 40),
        (2, "bob", 10),
        (3, "cid", 10),
        (4, "dan", 10),
    ] {
        ask_of(&mut ledger, (number, user), "root.p.a", "", count);
    }
    let (served, passes) = bulk(&ledger);
    // While the others ask, ann waits at the limit of a quarter each, in front of all of them.
    let turns = [(1, 14), (2, 10), (3, 10), (4, 10), (1, 26)];
    let expected = turns.map(|(app, count)| vec![app; count]).concat();
    assert_eq!(served, expected);
    // The first and the last container of each turn, and those who come while fewer users ask, so that it
    // takes a look at ann to know that she still waits.
    assert!((10..=30).contains(&passes), "{passes}");
    assert_eq!(by_the_ledger(&mut ledger), expected);
}

#[test]
fn users_who_ask_for_nothing_more_do_not_end_the_runs_of_others() {
    let _fast = AllFast::begin();
    let mut ledger = ledger_of("1", "25", 0);
    ask_of(&mut ledger, (1, "ann"), "root.p.a", "", 16);
    for number in 2..=8 {
        let (user, count) = (format!("u{number}"), if number < 6 { 5 } else { 2 });
        ask_of(&mut ledger, (number, &user), "root.p.a", "", count);
    }
    let (served, passes) = bulk(&ledger);
    assert_eq!(by_the_ledger(&mut ledger), served);
    let behind = served.iter().position(|&app| app == 8);
    let ann = served.iter().rposition(|&app| app == 1);
    assert!(
        behind < ann,
        "ann waits at her limit until all others are served"
    );
    // A first and a last container of each application, and ann's as she goes on.
    assert_eq!(passes, 18);
}

#[test]
fn applications_of_a_fair_leaf_take_turns_by_what_they_use() {
    let _fast = AllFast::begin();
    let mut ledger = ledger();
    for (number, count) in [(1, 8), (2, 4), (3, 12)] {
        ask(&mut ledger, number, "root.q", count);
    }
    let (served, passes) = bulk(&ledger);
    let turns = [[1, 2, 3].repeat(4), [1, 3].repeat(4), vec![3; 4]].concat();
    assert_eq!(served, turns);
    // The first and the last container of each, and where one asks for nothing more but stands in front.
    assert_eq!(passes, 8);
    assert_eq!(by_the_ledger(&mut ledger), turns);
}

#[test]
fn larger_applications_of_a_fair_leaf_get_more_where_size_counts() {
    let mut ledger = ledger_with("1", "100", 0, "true");
    ask(&mut ledger, 1, "root.q", 10);
    ask(&mut ledger, 2, "root.q", 60);
    let (served, _) = bulk(&ledger);
    assert_eq!(by_the_ledger(&mut ledger), served);
    // What one uses is divided by the logarithm of what it wants in all.
    let got = |app| served[..16].iter().filter(|&&other| other == app).count();
    assert!(got(2) > got(1), "{served:?}");
}

#[test]
fn an_application_of_a_fair_leaf_that_is_behind_catches_up_first() {
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.q", 20);
    for _ in 0..6 {
        let (candidates, mut seen) = (Candidates::node(NodeSlot::at(0)), Vec::new());
        let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
        assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Committed);
        ledger.drain_follow_ups();
    }
    ask(&mut ledger, 2, "root.q", 20);
    ask(&mut ledger, 3, "root.p.a", 10);
    let (served, _) = bulk(&ledger);
    let in_turn: Vec<_> = served.iter().copied().filter(|&app| app != 3).collect();
    assert_eq!(in_turn[..6], [2; 6]);
    assert_eq!(in_turn[6..14], [1, 2].repeat(4));
    assert_eq!(by_the_ledger(&mut ledger), served);
}

#[test]
fn a_user_of_more_weight_is_served_together_as_far_as_it_goes_and_one_of_less_is_not() {
    let _fast = AllFast::begin();
    let passes = |weight: &str, percent: &str| {
        let mut ledger = ledger_of(weight, percent, 0);
        ask(&mut ledger, 1, "root.p.a", 40);
        let (served, passes) = bulk(&ledger);
        assert_eq!(served.len(), 40);
        passes
    };
    // A lone user of weight 1 is the average of all.
    assert_eq!(passes("1", "25"), 2);
    // Three quarters of the 50 containers that the leaf is guaranteed, rounded and with a margin, take
    // no pass each.
    assert!((3..=20).contains(&passes("3", "25")));
    assert_eq!(passes("0.5", "25"), 40);
}

#[test]
fn a_partition_of_the_same_nodes_as_the_cluster_has_bulk_placements() {
    let _fast = AllFast::begin();
    let mut ledger = ledger_of("1", "100", 10);
    ask_on(&mut ledger, 1, "root.p.a", "x", 40);
    ask(&mut ledger, 2, "root.p.a", 30);
    let x = ledger.partition("x").unwrap();
    assert_eq!(bulk_on(&ledger, x), (vec![1; 40], 2));
    let behind_one_that_asks_elsewhere = bulk(&ledger);
    assert_eq!(behind_one_that_asks_elsewhere, (vec![2; 30], 30));
}

#[test]
fn a_node_that_an_application_blacklists_gets_nothing_of_it() {
    let mut ledger = ledger();
    ask(&mut ledger, 1, "root.p.a", 4);
    let app = ledger.app(ApplicationId::new(1)).unwrap();
    let call = AskCall {
        blacklist_add: vec!["h0".to_owned()],
        ..AskCall::default()
    };
    ledger.ask(app, &call).unwrap();
    ledger.drain_follow_ups();
    let (served, _, free) = filled(&ledger, PartitionId::DEFAULT, 64);
    assert_eq!((served.len(), free[0]), (4, of(10_240, 10)));
    assert!(free[1] != free[0], "the next node got them");
}

/// The application that a pass over the live state serves.
fn serve(ledger: &mut Ledger) -> u32 {
    let (_, index) = copy(ledger, PartitionId::DEFAULT);
    let mut seen = Vec::new();
    let candidates = Candidates::indexed(&index, PartitionId::DEFAULT);
    let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
    let committed = ledger.commit(&outcome, &seen);
    ledger.drain_follow_ups();
    assert_eq!(committed, CommitOutcome::Committed);
    let Outcome::Proposed(placed) = outcome else {
        panic!("nothing is proposed: {outcome:?}");
    };
    ledger.state().apps[placed.app].id.sequence
}

#[test]
fn a_user_at_the_limit_is_served_again_once_containers_end() {
    let mut ledger = ledger_of("1", "25", 0);
    for (number, user) in [(1, "ann"), (2, "bob"), (3, "cid"), (4, "dan")] {
        ask_of(&mut ledger, (number, user), "root.p.a", "", 40);
    }
    let served: Vec<u32> = (0..18).map(|_| serve(&mut ledger)).collect();
    assert_eq!(served, [vec![1; 14], vec![2; 4]].concat());
    for number in 1..=4 {
        let app = ApplicationId::new(1);
        let container = ledger.live_container(ContainerId::new(app, number));
        ledger.container_exited(container.unwrap(), 0);
    }
    ledger.drain_follow_ups();
    assert_eq!(serve(&mut ledger), 1);
}
