//! An application with many reservations: they end in parts, and it comes to the same as in one piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, Ask, AskCall, Desk, NodeName, NodeReport, NodeSpec, ResourceVector, Sequential,
    StateView,
};
use capsched::id::PartitionId;
use capsched::snapshot::State;

use super::trees::settings_at;
use super::turns::{FETCHES, LEAVES, LONG, beside_a_fetch};

/// Each has room for one container that takes more than half of it.
const NODES: i32 = 2_000;

fn of_gib(gib: i64) -> ResourceVector {
    ResourceVector::of(&[gib * 1024, 1])
}

fn node(number: i32) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).unwrap()
}

/// Nodes of which many are reserved for the first application; the other one has the containers on them.
fn engine() -> Sequential {
    let mut engine = Sequential::new(settings_at([], LEAVES), &[]).unwrap();
    for number in 0..NODES {
        let room = ResourceVector::of(&[8 * 1024, 8]);
        engine.add_node(&NodeSpec::new(node(number), room)).unwrap();
    }
    for (app, user) in [(LONG, "ann"), (FETCHES, "bob")] {
        engine.submit(&AppSpec::new(app, "root.a", user)).unwrap();
    }
    let others = AskCall::asking(vec![Ask::anywhere(of_gib(5), NODES)]);
    engine.ask(FETCHES, &others).unwrap();
    let beat = |engine: &mut Sequential| {
        for number in 0..NODES {
            let report = NodeReport::AsExpected;
            engine.heartbeat(&node(number), &report).unwrap();
        }
    };
    beat(&mut engine);
    let call = AskCall::asking(vec![Ask::anywhere(of_gib(8), NODES)]);
    engine.ask(LONG, &call).unwrap();
    beat(&mut engine);
    engine.ask(FETCHES, &AskCall::default()).unwrap();
    engine.take_events();
    engine
}

fn reservations(state: &State) -> usize {
    let nodes = state.nodes.iter();
    nodes.filter(|node| node.reserved.is_some()).count()
}

fn assert_equal(desk: &mut Desk, whole: &mut Sequential) {
    // Limits of users are shown as they were last computed.
    let mut fetch = desk.ask(vec![(FETCHES, AskCall::default())]);
    while fetch.take().is_none() {
        desk.turn();
    }
    whole.ask(FETCHES, &AskCall::default()).unwrap();
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
    let state = desk.ledger().state();
    assert_eq!(reservations(state), 0);
    let root = state.queues[State::ROOT].part(PartitionId::DEFAULT);
    assert_eq!(root.used.get().memory(), i64::from(NODES) * 5 * 1024);
    assert!(root.pending.is_none());
}

#[test]
fn an_application_that_ends() {
    let (mut whole, mut desk) = (engine(), Desk::of(engine()));
    let held = reservations(desk.ledger().state());
    assert!(held >= 700, "{held}");
    let (turns, ended) = beside_a_fetch(&mut desk, |desk| desk.finish_app(LONG));
    assert_eq!(ended, Ok(()));
    assert!(turns > held / 300, "{turns}");
    whole.ask(FETCHES, &AskCall::default()).unwrap();
    whole.finish_app(LONG).unwrap();
    assert_equal(&mut desk, &mut whole);
}

#[test]
fn an_attempt_that_ends() {
    let (mut whole, mut desk) = (engine(), Desk::of(engine()));
    let (turns, ended) = beside_a_fetch(&mut desk, |desk| desk.end_attempt(LONG));
    assert_eq!(ended, Ok(()));
    assert!(turns > 2, "{turns}");
    whole.ask(FETCHES, &AskCall::default()).unwrap();
    whole.end_attempt(LONG).unwrap();
    assert_equal(&mut desk, &mut whole);
}

/// Nodes that report meanwhile reserve nothing for it again.
#[test]
fn an_application_that_ends_while_nodes_report() {
    let mut desk = Desk::of(engine());
    let mut ended = desk.finish_app(LONG);
    let mut before = reservations(desk.ledger().state());
    let mut number = 0;
    while ended.take().is_none() {
        let reports = (number..number + 50).map(|of| (node(of % NODES), NodeReport::AsExpected));
        number += 50;
        let beat = desk.heartbeat_all(reports.collect());
        desk.turn();
        let now = reservations(desk.ledger().state());
        assert!(now <= before, "{now} after {before}");
        before = now;
        drop(beat);
    }
    assert_eq!(reservations(desk.ledger().state()), 0);
}
