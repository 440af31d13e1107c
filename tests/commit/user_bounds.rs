//! What is certain of user limits without computing them.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeSpec, PartitionSpec, TreeSettings,
};
use capsched::commit::{CommitOutcome, Ledger};
use capsched::fast_path::AllFast;
use capsched::id::{NodeSlot, PartitionId, QueueSlot, UserSlot};
use capsched::policy::{compute_user_limit, is_granted, is_surely_over, user_value};
use capsched::proposer::{Candidates, Outcome, propose};
use capsched::queue::{Exclusivity, Floor, LimitKind};
use capsched::resource::{NARROW, ResourceVector};
use capsched::snapshot::State;

const DEFAULT: PartitionId = PartitionId::DEFAULT;

/// A leaf whose users have these weights and at least so many percent.
fn tree(factor: &str, percent: &str, [ann, bob]: [&str; 2]) -> TreeSettings {
    let dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let pairs = [
        ("root.queues", "a"),
        ("resource-calculator", dominant),
        ("maximum-am-resource-percent", "1"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", factor),
        ("root.a.minimum-user-limit-percent", percent),
        ("root.a.user-settings.ann.weight", ann),
        ("root.a.user-settings.bob.weight", bob),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "100"),
    ];
    crate::trees::settings(pairs)
}

/// Two nodes of 50 containers, and one of partition `x` with so many vcores for each of them.
fn ledger(settings: TreeSettings, cores_of_x: i64) -> Ledger {
    let partition = PartitionSpec {
        name: "x".to_owned(),
        exclusive: true,
    };
    let mut ledger = Ledger::new(settings, &[partition]).unwrap();
    for (host, partition, cores) in [("h0", "", 1), ("h1", "", 1), ("h2", "x", cores_of_x)] {
        let name = NodeName::new(host, 1).unwrap();
        let mut node = NodeSpec::new(name, ResourceVector::of(&[51_200, 50 * cores]));
        partition.clone_into(&mut node.partition);
        ledger.add_node(&node).unwrap();
    }
    ledger.drain_follow_ups();
    ledger.track(true);
    ledger
}

fn ask(ledger: &mut Ledger, number: u32, user: &str, partition: &str, count: i32) {
    let spec = AppSpec::new(ApplicationId::new(number), "root.a", user);
    let app = ledger.submit(&spec).unwrap();
    ledger.drain_follow_ups();
    let ask = Ask {
        partition: Some(partition.to_owned()),
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), count)
    };
    ledger.ask(app, &AskCall::asking(vec![ask])).unwrap();
    ledger.drain_follow_ups();
}

/// Who gets a container on a node.
fn place(ledger: &mut Ledger, node: usize) -> Option<UserSlot> {
    let (candidates, mut seen) = (Candidates::node(NodeSlot::at(node)), Vec::new());
    let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
    let committed = ledger.commit(&outcome, &seen);
    ledger.drain_follow_ups();
    let Outcome::Proposed(proposal) = outcome else {
        return None;
    };
    assert_eq!(committed, CommitOutcome::Committed);
    Some(ledger.state().apps[proposal.app].user)
}

fn leaf(state: &State) -> QueueSlot {
    state.queues[State::ROOT].children[0]
}

fn user(state: &State, name: &str) -> UserSlot {
    let users = &state.queues[leaf(state)].as_leaf().users;
    let named = |&&user: &&UserSlot| *state.users[user].name == *name;
    *users.iter().find(named).unwrap()
}

fn floor(ledger: &Ledger) -> Option<Floor> {
    let state = ledger.state();
    let bound = state.queues[leaf(state)].as_leaf().head.bound;
    bound.and_then(|bound| bound.floor)
}

#[test]
fn who_is_at_the_limit_stays_there_without_a_look_while_nothing_can_raise_it_so_far() {
    let _fast = AllFast::begin();
    let mut ledger = ledger(tree("10", "10", ["0.01", "10"]), 1);
    ask(&mut ledger, 1, "ann", "", 9);
    ask(&mut ledger, 2, "bob", "", 80);
    let [ann, bob] = ["ann", "bob"].map(|name| user(ledger.state(), name));
    assert_eq!(place(&mut ledger, 0), Some(ann), "a hundredth of nothing");
    assert_eq!(place(&mut ledger, 0), Some(bob));
    for node in [0; 40].into_iter().chain([1; 30]) {
        let (state, floor) = (ledger.state(), floor(&ledger).unwrap());
        let sure = |floor: &Floor| is_surely_over::<NARROW>(state, leaf(state), DEFAULT, floor);
        assert!(sure(&floor));
        let active = state.queues[leaf(state)].as_leaf().active_weight;
        let others = [
            Floor {
                surely_from: active + 1.0,
                ..floor
            },
            Floor {
                surely_from: f32::INFINITY,
                ..floor
            },
            Floor {
                epoch: floor.epoch - 1,
                ..floor
            },
        ];
        assert!(!others.iter().any(sure));
        assert_eq!(place(&mut ledger, node), Some(bob));
    }
    // Who has less than a hundredth of the largest limit may have more soon.
    let before = floor(&ledger).unwrap();
    let node = NodeSpec::new(
        "h3:1".parse().unwrap(),
        ResourceVector::of(&[1 << 30, 1 << 20]),
    );
    ledger.add_node(&node).unwrap();
    ledger.drain_follow_ups();
    let state = ledger.state();
    assert!(!is_surely_over::<NARROW>(
        state,
        leaf(state),
        DEFAULT,
        &before
    ));
    assert_eq!(place(&mut ledger, 1), Some(ann));
}

#[test]
fn what_is_granted_goes_by_weight_and_by_the_nodes_of_the_partition() {
    let _fast = AllFast::begin();
    // For bob 15 containers of 50, or thrice as many, rounded and with a margin; of 100 as many as he asks.
    for (cores_of_x, weight, partition, granted) in [
        (1, "3", "x", 25..=44),
        (1, "1", "x", 8..=14),
        (2, "3", "x", 0..=0),
        (1, "3", "", 45..=45),
        (1, "0.5", "", 0..=0),
    ] {
        let mut ledger = ledger(tree("10", "30", ["1", weight]), cores_of_x);
        ask(&mut ledger, 1, "ann", partition, 1);
        ask(&mut ledger, 2, "bob", partition, 45);
        let bob = user(ledger.state(), "bob");
        let node = if partition.is_empty() { 0 } else { 2 };
        let of = ledger.partition(partition).unwrap();
        let mut sure = 0;
        while place(&mut ledger, node).is_some() {
            let state = ledger.state();
            let (queue, record) = (leaf(state), &state.users[bob]);
            if is_granted::<NARROW>(state, queue, of, record) {
                sure = state.users[bob].part(of).used.get()[0] / 1024;
                let limit = compute_user_limit(state, queue, of, LimitKind::Respect);
                let limit: ResourceVector = user_value(state, &limit, Some(record));
                assert!(record.part(of).used.get().fits_in(&limit));
            }
        }
        assert!(
            granted.contains(&sure),
            "{cores_of_x} {weight} {partition}: {sure}"
        );
    }
}

#[test]
fn a_factor_below_zero_grants_nobody_anything() {
    for weight in ["1", "4"] {
        let mut ledger = ledger(tree("10", "25", ["1", weight]), 1);
        ask(&mut ledger, 1, "bob", "", 3);
        ledger.refresh(tree("-2", "25", ["1", weight])).unwrap();
        ledger.drain_follow_ups();
        assert_eq!(place(&mut ledger, 0), None);
        let state = ledger.state();
        let bob = &state.users[user(state, "bob")];
        assert!(!is_granted::<NARROW>(state, leaf(state), DEFAULT, bob));
    }
}

#[test]
fn who_uses_no_more_than_the_average_is_within_the_limit_up_to_what_the_factor_allows() {
    let _fast = AllFast::begin();
    let mut ledger = ledger(tree("0.5", "10", ["1", "1"]), 1);
    ledger
        .remove_node(&NodeName::new("h2", 1).unwrap())
        .unwrap();
    ask(&mut ledger, 1, "ann", "", 60);
    let ann = user(ledger.state(), "ann");
    let granted = |ledger: &Ledger, user: UserSlot| {
        let state = ledger.state();
        is_granted::<NARROW>(state, leaf(state), DEFAULT, &state.users[user])
    };
    for _ in 0..40 {
        assert_eq!(place(&mut ledger, 0), Some(ann));
        assert!(granted(&ledger, ann), "a lone user is the average");
    }
    ask(&mut ledger, 2, "bob", "", 60);
    let bob = user(ledger.state(), "bob");
    assert!(!granted(&ledger, ann) && granted(&ledger, bob));
    for node in [[0; 10].as_slice(), &[1; 28]].concat() {
        assert!(granted(&ledger, bob));
        assert_eq!(
            place(&mut ledger, node),
            Some(bob),
            "ann is above the average"
        );
    }
    // The average is above 39, and the limit is rounded up from it.
    assert!(!granted(&ledger, ann));
    for _ in 0..22 {
        assert!(place(&mut ledger, 1).is_some());
    }
    // Half of the hundred containers is what the factor allows, and one container beyond it.
    let used = |user: UserSlot| ledger.state().users[user].part(DEFAULT).used.vcores();
    assert_eq!(used(ann) + used(bob), 100);
    assert!(used(ann).max(used(bob)) <= 51);
}
