//! Passes that skip the head of a leaf's order decide, count and hand out what passes do that look at each application.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Event, Mode, NodeName, NodeReport, NodeSpec,
    PartitionSpec, Pipeline, ResourceVector, Sequential, StateView, TreeSettings,
};
use capsched::fast_path::{AllFast, FastPath, PlantedFlaw, with_flaw, with_slow};
use capsched::queue::SkippableHead;
use capsched::time::ManualClock;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert_eq, prop_oneof};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::passes::pass;

/// One call. Numbers of applications are taken modulo what there is.
#[derive(Clone, Debug)]
enum Call {
    Submit {
        user: u8,
        priority: i32,
    },
    /// The last size is larger than any node; it is accepted as long as there is none.
    Ask {
        app: u32,
        size: usize,
        count: i32,
        labelled: bool,
    },
    Finish(u32, u32),
    FinishApp(u32),
    Priority(u32, i32),
    AddNode(u8),
    RemoveNode(u8),
    Pass,
}

/// A short life of a leaf: its order, the nodes at its beginning and the calls.
type Life = (usize, u8, Vec<Call>);

const ORDERS: [&str; 3] = ["fifo", "fair", "fifo-for-pending-apps"];

const SIZES: [i64; 4] = [1024, 2048, 3072, 7168];

fn lives() -> impl Strategy<Value = Life> {
    let call = prop_oneof![
        3 => (0u8..3, 0..3).prop_map(|(user, priority)| Call::Submit { user, priority }),
        6 => (0u32..12, 0usize..4, 0..5, 0u8..3).prop_map(|(app, size, count, label)| {
            Call::Ask { app, size, count, labelled: label == 0 }
        }),
        3 => (0u32..12, 1u32..5).prop_map(|(app, number)| Call::Finish(app, number)),
        1 => (0u32..12).prop_map(Call::FinishApp),
        1 => (0u32..12, 0..4).prop_map(|(app, priority)| Call::Priority(app, priority)),
        1 => (0u8..5).prop_map(Call::AddNode),
        1 => (0u8..5).prop_map(Call::RemoveNode),
        9 => proptest::strategy::Just(Call::Pass),
    ];
    let life = (0usize..3, 0u8..4, vec(call, 20..120));
    life.prop_map(|(order, nodes, mut calls)| {
        if nodes == 0 {
            calls.splice(0..0, asked_before_any_node());
        }
        (order, nodes, calls)
    })
}

/// Two applications ask for more than the nodes have that come behind.
fn asked_before_any_node() -> Vec<Call> {
    let submit = |user| Call::Submit { user, priority: 3 };
    let ask = |app| Call::Ask {
        app,
        size: SIZES.len() - 1,
        count: 2,
        labelled: false,
    };
    let mut calls = vec![submit(0), submit(1), ask(0), ask(1)];
    calls.extend((0..3).map(Call::AddNode));
    calls
}

fn settings(order: usize) -> TreeSettings {
    crate::trees::settings([
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.ordering-policy", ORDERS[order]),
        ("root.a.minimum-user-limit-percent", "30"),
        ("root.a.user-limit-factor", "0.5"),
        ("root.a.user-settings.u2.weight", "0.5"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "100"),
        ("maximum-am-resource-percent", "1"),
    ])
}

fn name(n: u8) -> NodeName {
    NodeName::new(&format!("h{n}"), 1).unwrap()
}

/// The last node that a call may add is of a partition of its own.
fn node(n: u8) -> NodeSpec {
    let mut node = NodeSpec::new(name(n), ResourceVector::of(&[6144, 8]));
    if n == 4 {
        node.partition = "x".to_owned();
    }
    node
}

/// So many nodes of the default partition. Lives with an odd number have the other node, too.
fn nodes_at_first(nodes: u8) -> impl Iterator<Item = u8> {
    (0..nodes).chain((nodes % 2 == 1).then_some(4))
}

fn partitions() -> [PartitionSpec; 1] {
    [PartitionSpec {
        name: "x".to_owned(),
        exclusive: true,
    }]
}

/// Carries out a call of an outsider; refusals are answers, too.
fn carry_out(engine: &mut Sequential, submitted: &mut u32, call: &Call) {
    let app = |back: u32| ApplicationId::new(1 + back % (*submitted).max(1));
    let _refused = match *call {
        Call::Submit { user, priority } => {
            *submitted += 1;
            let id = ApplicationId::new(*submitted);
            let spec = AppSpec {
                priority: Some(priority),
                ..AppSpec::new(id, "root.a", &format!("u{user}"))
            };
            engine.submit(&spec).is_err()
        }
        Call::Ask {
            app: of,
            size,
            count,
            labelled,
        } => {
            let size = ResourceVector::of(&[SIZES[size], 1]);
            let mut ask = Ask::anywhere(size, count);
            if labelled {
                ask.partition = Some("x".to_owned());
                ask.priority = 2;
            }
            let call = AskCall::asking(vec![ask]);
            engine.ask(app(of), &call).is_err()
        }
        Call::Finish(of, number) => !engine.container_finished(ContainerId::new(app(of), number)),
        Call::FinishApp(of) => engine.finish_app(app(of)).is_err(),
        Call::Priority(of, priority) => engine.change_priority(app(of), priority).is_err(),
        Call::AddNode(n) => engine.add_node(&node(n)).is_err(),
        Call::RemoveNode(n) => engine.remove_node(&name(n)).is_err(),
        Call::Pass => {
            let unknown = |&n: &u8| engine.heartbeat(&name(n), &NodeReport::AsExpected).is_err();
            (0..5).filter(unknown).count() > 0
        }
    };
}

/// Heads that were seen: of applications that ask for nothing, and of users at their limit.
#[derive(Default)]
struct Heads {
    idle: Cell<u32>,
    at_limit: Cell<u32>,
}

impl Heads {
    fn note(&self, head: &SkippableHead) {
        let add = |count: &Cell<u32>, more: bool| count.set(count.get() + u32::from(more));
        let bound = head.bound.filter(|_| head.next > 0);
        add(&self.idle, head.next > 0 && bound.is_none());
        add(&self.at_limit, bound.is_some());
    }

    fn note_all_of(&self, engine: &Sequential) {
        let leaves = engine.ledger().state().queues.iter();
        for leaf in leaves.filter_map(|queue| queue.leaf.as_ref()) {
            self.note(&leaf.head);
        }
    }
}

/// What a call led to.
type Step = (Vec<Event>, StateView);

/// A way to play a life.
type Play = dyn Fn(&Life, &Heads) -> Vec<Step>;

/// A life in which each heartbeat is an attempt.
fn live_by_heartbeats((order, nodes, calls): &Life, heads: &Heads) -> Vec<Step> {
    let mut engine = Sequential::new(settings(*order), &partitions()).unwrap();
    for n in nodes_at_first(*nodes) {
        engine.add_node(&node(n)).unwrap();
    }
    let mut submitted = 0;
    let steps = calls.iter().map(|call| {
        carry_out(&mut engine, &mut submitted, call);
        heads.note_all_of(&engine);
        (engine.take_events(), StateView::of(engine.ledger()))
    });
    steps.collect()
}

/// A life with a proposer over copies of the state and an index of nodes.
fn live_by_proposer((order, nodes, calls): &Life, heads: &Heads) -> Vec<Step> {
    let (mode, clock) = (Mode::Global { threads: 1 }, ManualClock::at(1_000_000));
    let mut pipeline = Pipeline::new(settings(*order), &partitions(), mode, 64, clock).unwrap();
    for n in nodes_at_first(*nodes) {
        pipeline.call(|engine| engine.add_node(&node(n))).unwrap();
    }
    let mut submitted = 0;
    let steps = calls.iter().map(|call| {
        if matches!(call, Call::Pass) {
            pass(&mut pipeline);
        } else {
            pipeline.call(|engine| carry_out(engine, &mut submitted, call));
        }
        let events = pipeline.take_events();
        let view = pipeline.call(|engine| {
            heads.note_all_of(engine);
            StateView::of(engine.ledger())
        });
        (events, view)
    });
    steps.collect()
}

/// Plays random lives with and without the fast path; the heads that were seen, or what differs.
fn differences(live: &Play, max_shrink_iters: u32) -> Result<Heads, String> {
    let _fast = AllFast::begin();
    let config = ProptestConfig {
        cases: 96,
        failure_persistence: None,
        max_shrink_iters,
        ..ProptestConfig::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let (heads, none) = (Heads::default(), Heads::default());
    let compared = runner.run(&lives(), |life| {
        // With the bits of demand, an idle application that is not looked at has no headroom yet.
        let skips = with_slow(&[FastPath::DemandBits], || live(&life, &heads));
        let both = [FastPath::SkippableHead, FastPath::DemandBits];
        let looks = with_slow(&both, || live(&life, &none));
        let takes_all = live(&life, &none);
        prop_assert_eq!(takes_all.len(), life.2.len());
        for (i, (one, other)) in skips.iter().zip(&looks).enumerate() {
            prop_assert_eq!(one, other, "call {}", i);
            prop_assert_eq!(&takes_all[i].0, &other.0, "events of call {}", i);
        }
        Ok(())
    });
    match compared {
        Ok(()) => Ok(heads),
        Err(error) => Err(error.to_string()),
    }
}

fn compare(live: &Play) -> Heads {
    let heads = differences(live, 1000).unwrap_or_else(|error| panic!("{error}"));
    let idle = heads.idle.get();
    assert!(idle > 100, "{idle} heads that ask for nothing");
    heads
}

#[test]
fn heartbeats_that_skip_the_head_decide_as_those_that_look_at_it() {
    let at_limit = compare(&live_by_heartbeats).at_limit.get();
    assert!(at_limit > 100, "{at_limit} heads of users at their limit");
}

/// Heads of users at their limit are known to the working copies alone.
#[test]
fn proposers_that_skip_the_head_decide_as_those_that_look_at_it() {
    compare(&live_by_proposer);
}

#[test]
fn every_flaw_of_the_head_is_noticed() {
    let flaws = PlantedFlaw::ALL.iter();
    let flaws = flaws.filter(|(path, _)| *path == FastPath::SkippableHead);
    let flaws: Vec<_> = flaws.map(|&(_, flaw)| flaw).collect();
    assert_eq!(flaws.len(), 2);
    for flaw in flaws {
        let is_noticed = |live: &Play| {
            let differs = || with_flaw(flaw, || differences(live, 0).is_err());
            catch_unwind(AssertUnwindSafe(differs)).unwrap_or(true)
        };
        assert!(is_noticed(&live_by_heartbeats), "{flaw:?}");
    }
}

/// A container of 7 GiB for which only the node of a shared partition is large enough: enough missed opportunities let
/// it go there.
#[test]
fn an_ask_that_is_too_large_for_its_partition_goes_where_partitions_share() {
    let settings = || {
        crate::trees::settings([
            ("root.queues", "a"),
            ("root.a.capacity", "100"),
            ("root.accessible-node-labels.x.capacity", "100"),
            ("root.a.accessible-node-labels", "x"),
            ("root.a.accessible-node-labels.x.capacity", "100"),
            ("maximum-am-resource-percent", "1"),
        ])
    };
    let places = || {
        let partition = PartitionSpec {
            name: "x".to_owned(),
            exclusive: false,
        };
        let (mode, clock) = (Mode::Global { threads: 1 }, ManualClock::at(1_000_000));
        let mut pipeline = Pipeline::new(settings(), &[partition], mode, 64, clock).unwrap();
        let mut shared = NodeSpec::new(name(9), ResourceVector::of(&[8192, 8]));
        shared.partition = "x".to_owned();
        for node in [node(0), node(1), shared] {
            pipeline.call(|engine| engine.add_node(&node)).unwrap();
        }
        let app = ApplicationId::new(1);
        let spec = AppSpec::new(app, "root.a", "ann");
        pipeline.call(|engine| engine.submit(&spec)).unwrap();
        let call = AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[7168, 1]), 1)]);
        pipeline.call(|engine| engine.ask(app, &call)).unwrap();
        for _ in 0..20 {
            pass(&mut pipeline);
        }
        let state = |engine: &mut Sequential| StateView::of(engine.ledger());
        pipeline.call(state).nodes[2].containers
    };
    let _fast = AllFast::begin();
    assert_eq!(with_slow(&[FastPath::SkippableHead], places), 1);
    assert_eq!(places(), 1);
}
