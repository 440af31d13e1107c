//! Applications with many containers move after a preparation in parts: others are served in between, and the move comes
//! to the same as one in a single piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, Desk, DeskAnswer, NodeName, NodeReport,
    NodeSpec, PartitionSpec, ResourceVector, Sequential, StateView,
};
use capsched::snapshot::State;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::RngSeed;

use super::label_turns::assert_same;
use super::trees::settings_at;
use super::turns::{FETCHES, LEAVES, LONG, alone, beside_a_fetch, size};

/// Of the application that moves.
const CONTAINERS: i64 = 1600;

/// Two nodes in the default partition, then two with a label.
const NODES: u8 = 4;

/// Applications of the user who moves, in the leaf that is left and in the one that is come to, and of somebody else.
const OTHERS: [(u32, &str, &str); 3] = [
    (2, "root.a", "ann"),
    (3, "root.b", "ann"),
    (4, "root.a", "bob"),
];

fn name(number: u8) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).unwrap()
}

fn spec(number: u8) -> NodeSpec {
    let total = ResourceVector::of(&[1_234_577, 100_003]);
    NodeSpec {
        partition: if number < 2 { "" } else { "gpu" }.to_owned(),
        ..NodeSpec::new(name(number), total)
    }
}

fn ask(request_id: i64, size: ResourceVector, label: &str) -> Ask {
    Ask {
        request_id,
        partition: Some(label.to_owned()),
        ..Ask::anywhere(size, 1)
    }
}

/// Containers of one size or of several ones, on both partitions, beside those of others.
fn engine(sizes: i64) -> Sequential {
    let further = [
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels.gpu.capacity", "50"),
        ("root.b.accessible-node-labels.gpu.capacity", "50"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "100000"),
        ("per-node-heartbeat.maximum-container-assignments", "100000"),
    ];
    let gpu = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let site = [
        ("yarn.scheduler.minimum-allocation-mb", "1"),
        ("yarn.scheduler.maximum-allocation-mb", "2000000"),
    ];
    let mut engine =
        Sequential::new(settings_at(site, LEAVES.into_iter().chain(further)), &[gpu]).unwrap();
    for number in 0..NODES {
        engine.add_node(&spec(number)).unwrap();
    }
    engine.submit(&AppSpec::new(LONG, "root.a", "ann")).unwrap();
    for (number, leaf, user) in OTHERS {
        let app = AppSpec::new(ApplicationId::new(number), leaf, user);
        engine.submit(&app).unwrap();
        let asks = (0..5).map(|id| ask(id, ResourceVector::of(&[8191, 3]), ""));
        engine
            .ask(app.id, &AskCall::asking(asks.collect()))
            .unwrap();
    }
    let sized = |id: i64| {
        let size = ResourceVector::of(&[100 + id % sizes * 37, 1]);
        ask(id, size, if id % 3 == 0 { "gpu" } else { "" })
    };
    let call = AskCall::asking((0..CONTAINERS).map(sized).collect());
    engine.ask(LONG, &call).unwrap();
    for number in 0..NODES {
        let report = NodeReport::AsExpected;
        engine.heartbeat(&name(number), &report).unwrap();
    }
    let app = engine.ledger().app(LONG).unwrap();
    let live = engine.ledger().live_containers(app).count();
    assert_eq!(i64::try_from(live), Ok(CONTAINERS));
    // Some of the same application stay outstanding, and one is reserved.
    let large = ResourceVector::of(&[1_050_000, 1]);
    let call = AskCall::asking(vec![ask(5000, large, ""), ask(5001, size(), "")]);
    engine.ask(LONG, &call).unwrap();
    engine.schedule_node(&name(0));
    engine.take_events();
    engine
}

fn assert_moved(desk: &Desk, whole: Sequential) {
    let whole = Desk::of(whole);
    assert_same(desk, &whole);
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
}

fn reserved(state: &State) -> usize {
    let reserved = |node: &&capsched::cluster::Node| node.reserved.is_some();
    state.nodes.iter().filter(reserved).count()
}

#[test]
fn one_application_with_many_containers() {
    for (sizes, least) in [(1, 7), (59, 9)] {
        for to in ["root.b", "root.a"] {
            let mut whole = engine(sizes);
            assert_eq!(reserved(whole.ledger().state()), 1);
            let before = StateView::of(whole.ledger());
            let mut desk = Desk::of(engine(sizes));
            let (turns, moved) = beside_a_fetch(&mut desk, |desk| desk.move_app(LONG, to));
            assert_eq!(moved, Ok(()));
            assert!(turns >= least, "{turns}");
            whole.ask(FETCHES, &AskCall::default()).unwrap();
            whole.move_app(LONG, to).unwrap();
            if to == "root.b" {
                assert_ne!(StateView::of(whole.ledger()), before);
            }
            assert_moved(&desk, whole);
        }
    }
}

/// Nobody sees any of a move before its last part.
#[test]
fn a_move_that_is_refused() {
    let mut engine_before = engine(59);
    // A fetch computes the limit of a user, which the state shows.
    engine_before.ask(FETCHES, &AskCall::default()).unwrap();
    let mut desk = Desk::of(engine_before);
    let before = StateView::of(desk.ledger());
    let code = |refused: Result<(), AppError>| refused.map_err(|error| error.code());
    for queue in ["root.z", "root", ""] {
        let (turns, refused) = beside_a_fetch(&mut desk, |desk| desk.move_app(LONG, queue));
        let expected = code(engine(59).move_app(LONG, queue));
        assert!(expected.is_err() && turns < 3, "{expected:?} {turns}");
        assert_eq!(code(refused), expected);
        assert_eq!(StateView::of(desk.ledger()), before);
    }
    let unknown = ApplicationId::new(99);
    let refused = alone(&mut desk, |desk| desk.move_app(unknown, "root.b"));
    assert_eq!(refused, Err(AppError::Unknown(unknown)));
    // It ends between two parts.
    let mut ended = desk.finish_app(LONG);
    let mut moved = desk.move_app(LONG, "root.b");
    while moved.take().is_none_or(|moved| {
        assert_eq!(moved, Err(AppError::Unknown(LONG)));
        false
    }) {
        desk.turn();
    }
    assert_eq!(ended.take(), Some(Ok(())));
}

/// With a change of its containers in each turn the preparation never holds.
#[test]
fn an_application_that_changes_all_the_time_moves_as_well() {
    let (mut whole, mut desk) = (engine(59), Desk::of(engine(59)));
    let mut moved = desk.move_app(LONG, "root.b");
    let mut turns = 0;
    for number in 1.. {
        let call = AskCall {
            release: vec![number],
            ..AskCall::default()
        };
        let released = desk.ask(vec![(LONG, call.clone())]);
        desk.turn();
        let moved = moved.take();
        if moved.is_some() {
            whole.move_app(LONG, "root.b").unwrap();
        }
        assert!(answered(released).iter().all(Result::is_ok));
        whole.ask(LONG, &call).unwrap();
        if let Some(moved) = moved {
            assert_eq!(moved, Ok(()));
            break;
        }
        turns += 1;
    }
    assert!((4..10).contains(&turns), "{turns}");
    assert_moved(&desk, whole);
}

fn answered<T>(mut answer: DeskAnswer<T>) -> T {
    answer.take().expect("it is served in one turn")
}

/// What others do between two parts.
#[derive(Clone, Debug)]
enum Call {
    Nothing,
    Ask(u32, i64, i32),
    Release(u32),
    Beat(u8),
    AddNode(u8),
    Finish(u32),
    Move(u32, bool),
}

fn calls() -> impl Strategy<Value = Call> {
    prop_oneof![
        8 => Just(Call::Nothing),
        1 => (1u32..5, 1i64..2000, 0i32..4).prop_map(|(app, mib, count)| Call::Ask(app, mib, count)),
        1 => (1u32..1600).prop_map(Call::Release),
        2 => (0..NODES).prop_map(Call::Beat),
        1 => (NODES..7).prop_map(Call::AddNode),
        1 => (2u32..5).prop_map(Call::Finish),
        1 => (2u32..5, any::<bool>()).prop_map(|(app, back)| Call::Move(app, back)),
    ]
}

impl Call {
    fn ask(app: u32, mib: i64, count: i32) -> (ApplicationId, AskCall) {
        // Of the application that moves, one of its keys in most cases.
        let ask = Ask {
            request_id: mib,
            ..Ask::anywhere(ResourceVector::of(&[mib, 1]), count)
        };
        (ApplicationId::new(app), AskCall::asking(vec![ask]))
    }

    fn release(number: u32) -> AskCall {
        AskCall {
            release: vec![number],
            ..AskCall::default()
        }
    }

    const fn leaf(back: bool) -> &'static str {
        if back { "root.a" } else { "root.b" }
    }

    /// On an engine whose calls have one piece; refusals are as good as other answers.
    fn whole(&self, engine: &mut Sequential) {
        match *self {
            Self::Nothing => {}
            Self::Ask(app, mib, count) => {
                let (app, call) = Self::ask(app, mib, count);
                drop(engine.ask(app, &call));
            }
            Self::Release(number) => drop(engine.ask(LONG, &Self::release(number))),
            Self::Beat(node) => drop(engine.heartbeat(&name(node), &NodeReport::AsExpected)),
            Self::AddNode(node) => drop(engine.add_node(&spec(node))),
            Self::Finish(app) => drop(engine.finish_app(ApplicationId::new(app))),
            Self::Move(app, back) => {
                drop(engine.move_app(ApplicationId::new(app), Self::leaf(back)));
            }
        }
    }

    /// The same, and a turn in which it is carried out behind a part of the move.
    fn in_turn(&self, desk: &mut Desk) {
        fn send<T>(desk: &mut Desk, call: impl FnOnce(&Desk) -> DeskAnswer<T>) {
            let answer = call(desk);
            desk.turn();
            drop(answered(answer));
        }
        match *self {
            Self::Nothing => desk.turn(),
            Self::Ask(app, mib, count) => {
                send(desk, |desk| desk.ask(vec![Self::ask(app, mib, count)]));
            }
            Self::Release(number) => {
                send(desk, |desk| desk.ask(vec![(LONG, Self::release(number))]))
            }
            Self::Beat(node) => {
                let report = vec![(name(node), NodeReport::AsExpected)];
                send(desk, |desk| desk.heartbeat_all(report));
            }
            Self::AddNode(node) => send(desk, |desk| desk.add_node(spec(node))),
            Self::Finish(app) => send(desk, |desk| desk.finish_app(ApplicationId::new(app))),
            Self::Move(app, back) => {
                send(desk, |desk| {
                    desk.move_app(ApplicationId::new(app), Self::leaf(back))
                });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        rng_seed: RngSeed::Fixed(37),
        ..ProptestConfig::default()
    })]

    /// The move counts where its last part was.
    #[test]
    fn it_comes_to_the_same_whatever_others_do_meanwhile(sizes in 1i64..4, calls in vec(calls(), 8..40)) {
        let (mut whole, mut desk) = (engine(sizes), Desk::of(engine(sizes)));
        let mut answer = desk.move_app(LONG, "root.b");
        let mut moved = None;
        let mut calls = calls.iter();
        while moved.is_none() || calls.len() > 0 {
            let call = calls.next().unwrap_or(&Call::Nothing);
            call.in_turn(&mut desk);
            if let Some(came_to) = answer.take() {
                assert_eq!(whole.move_app(LONG, "root.b"), came_to);
                moved = Some(came_to);
            }
            call.whole(&mut whole);
        }
        assert_eq!(moved, Some(Ok(())));
        assert_moved(&desk, whole);
    }
}
