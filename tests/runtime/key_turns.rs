//! Applications that ask under many keys: their keys go in parts, and it comes to the same as in one piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, Ask, AskCall, Desk, NodeName, NodeReport, NodeSpec, ResourceVector, Sequential,
    StateView,
};
use capsched::id::PartitionId;
use capsched::snapshot::State;

use super::label_turns::assert_same;
use super::trees::settings_at;
use super::turns::{FETCHES, LEAVES, LONG, beside_a_fetch, size};

/// Request ids of the application that ends.
const KEYS: i64 = 3_000;

/// Of the containers that it has.
const PLACED: i64 = 40;

fn node() -> NodeName {
    NodeName::new("n1", 1).unwrap()
}

fn ask(request_id: i64, size: ResourceVector) -> Ask {
    Ask {
        request_id,
        ..Ask::anywhere(size, 1)
    }
}

/// Some of its asks are placed, the largest one is reserved, and the others wait behind it.
fn engine() -> Sequential {
    let site = [("yarn.scheduler.maximum-allocation-mb", "2000000")];
    let further = [
        ("per-node-heartbeat.maximum-offswitch-assignments", "40"),
        ("per-node-heartbeat.maximum-container-assignments", "40"),
    ];
    let leaves = LEAVES.into_iter().chain(further);
    let mut engine = Sequential::new(settings_at(site, leaves), &[]).unwrap();
    // The second one never reports.
    for (node, gib) in [(node(), 48), (NodeName::new("n2", 1).unwrap(), 1 << 20)] {
        let room = ResourceVector::of(&[gib * 1024, gib]);
        engine.add_node(&NodeSpec::new(node, room)).unwrap();
    }
    for (app, user) in [(LONG, "ann"), (FETCHES, "bob")] {
        engine.submit(&AppSpec::new(app, "root.a", user)).unwrap();
    }
    let call = AskCall::asking((0..KEYS).map(|id| ask(id, size())).collect());
    engine.ask(LONG, &call).unwrap();
    let report = NodeReport::AsExpected;
    engine.heartbeat(&node(), &report).unwrap();
    let large = Ask {
        priority: -1,
        ..ask(KEYS, ResourceVector::of(&[20 * 1024, 1]))
    };
    engine.ask(LONG, &AskCall::asking(vec![large])).unwrap();
    engine.heartbeat(&node(), &report).unwrap();
    // Others stand before it, so that parts come by its key.
    let before = |id| Ask {
        priority: -2,
        ..ask(id, size())
    };
    let call = AskCall::asking((0..KEYS).map(before).collect());
    engine.ask(LONG, &call).unwrap();
    let app = engine.ledger().app(LONG).unwrap();
    let placed = engine.ledger().live_containers(app).count();
    assert_eq!(i64::try_from(placed), Ok(PLACED));
    let reserved = engine.ledger().state().nodes.iter();
    assert_eq!(reserved.filter(|node| node.reserved.is_some()).count(), 1);
    engine.take_events();
    engine
}

fn keys(desk: &Desk) -> usize {
    let state: &State = desk.ledger().state();
    state.apps.iter().map(|app| app.keys.len()).sum()
}

fn assert_equal(desk: &Desk, whole: Sequential) {
    let whole = Desk::of(whole);
    assert_same(desk, &whole);
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
}

#[test]
fn an_application_that_ends() {
    let (mut whole, mut desk) = (engine(), Desk::of(engine()));
    let (turns, ended) = beside_a_fetch(&mut desk, |desk| desk.finish_app(LONG));
    assert_eq!(ended, Ok(()));
    assert!(turns >= 20 && keys(&desk) == 0, "{turns}");
    whole.ask(FETCHES, &AskCall::default()).unwrap();
    whole.finish_app(LONG).unwrap();
    assert_equal(&desk, whole);
}

#[test]
fn an_attempt_that_ends() {
    let (mut whole, mut desk) = (engine(), Desk::of(engine()));
    let (turns, ended) = beside_a_fetch(&mut desk, |desk| desk.end_attempt(LONG));
    assert_eq!(ended, Ok(()));
    assert!(turns >= 20 && keys(&desk) == 0, "{turns}");
    whole.ask(FETCHES, &AskCall::default()).unwrap();
    whole.end_attempt(LONG).unwrap();
    assert_equal(&desk, whole);
}

/// What a call asks for between two parts of its end ends with it.
#[test]
fn an_application_that_asks_while_it_ends() {
    let mut desk = Desk::of(engine());
    let mut ended = desk.finish_app(LONG);
    desk.turn();
    let left = keys(&desk);
    assert!((5_000..6_000).contains(&left), "{left}");
    let call = AskCall::asking((KEYS..2 * KEYS).map(|id| ask(id, size())).collect());
    let mut asked = desk.ask(vec![(LONG, call)]);
    while ended.take().is_none() {
        desk.turn();
    }
    while asked.take().is_none() {
        desk.turn();
    }
    assert_eq!(keys(&desk), 0);
    let root = &desk.ledger().state().queues[State::ROOT];
    assert!(root.parts.iter().all(|part| part.pending.is_none()));
}

/// One that moves away after its end has begun ends all the same. In between its figures hold.
#[test]
fn an_application_that_leaves_its_queue_while_it_ends() {
    let mut desk = Desk::of(engine());
    let mut killed = desk.kill_all_apps("root.a");
    desk.turn();
    let state = desk.ledger().state();
    let app = &state.apps[desk.ledger().app(LONG).unwrap()];
    let pending = app.part(PartitionId::DEFAULT).pending.memory();
    let root = state.queues[State::ROOT].part(PartitionId::DEFAULT);
    assert_eq!(pending, root.pending.memory());
    let open = i64::try_from(app.open_keys().count()).unwrap();
    assert!(open > KEYS && open < 2 * KEYS - PLACED, "{open}");
    // One of them is the large one.
    assert_eq!(pending, (open - 1 + 20) * 1024);
    let moved = desk.move_app(LONG, "root.b");
    let mut turns = 0;
    let killed = loop {
        if let Some(killed) = killed.take() {
            break killed.unwrap();
        }
        desk.turn();
        turns += 1;
    };
    assert!(turns >= 10 && killed.contains(&LONG), "{turns} {killed:?}");
    assert_eq!(desk.ledger().app(LONG), None);
    drop(moved);
}
