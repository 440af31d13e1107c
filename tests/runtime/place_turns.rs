//! Applications that ask at many places under one key. Calls come to the same as in one piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, Ask, AskCall, Desk, NodeName, NodeReport, NodeSpec, PartitionSpec, ResourceVector,
    Sequential, StateView,
};
use capsched::id::{NameId, PartitionId};
use capsched::queue::PlaceAsk;
use capsched::snapshot::State;

use super::label_turns::assert_same;
use super::trees::settings_at;
use super::turns::{FETCHES, LEAVES, LONG, beside_a_fetch, size};

/// Hosts that the application asks at; one of them is there.
const PLACES: i32 = 5_000;

/// Of the containers that it asks for anywhere.
const WANTED: i32 = 3;

fn node() -> NodeName {
    NodeName::new("n7", 1).unwrap()
}

/// The same ask at many hosts, for a rack, and anywhere. `label`: that of the ask for anywhere.
fn call(count: i32, label: Option<&str>) -> AskCall {
    let on = |place: String| Ask {
        place,
        ..Ask::anywhere(size(), count)
    };
    let hosts = (0..PLACES).map(|number| on(format!("n{number}")));
    let rack = on("/default-rack".to_owned());
    let anywhere = Ask {
        partition: label.map(str::to_owned),
        ..on("*".to_owned())
    };
    AskCall::asking(hosts.chain([rack, anywhere]).collect())
}

fn engine() -> Sequential {
    let labels = [
        ("root.accessible-node-labels", "gpu"),
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels", "gpu"),
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
        ("root.b.accessible-node-labels.gpu.capacity", "0"),
    ];
    let gpu = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let leaves = LEAVES.into_iter().chain(labels);
    let mut engine = Sequential::new(settings_at([], leaves), &[gpu]).unwrap();
    let room = ResourceVector::of(&[64 * 1024, 64]);
    engine.add_node(&NodeSpec::new(node(), room)).unwrap();
    for (app, user) in [(LONG, "ann"), (FETCHES, "bob")] {
        engine.submit(&AppSpec::new(app, "root.a", user)).unwrap();
    }
    engine.take_events();
    engine
}

fn places(desk: &Desk) -> Vec<PlaceAsk> {
    let state: &State = desk.ledger().state();
    let keys = state.apps.iter().flat_map(|app| app.keys.iter());
    keys.flat_map(|key| key.places.iter().cloned()).collect()
}

fn assert_equal(desk: &Desk, whole: Sequential) {
    let whole = Desk::of(whole);
    assert_same(desk, &whole);
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
    assert_eq!(places(desk), places(&whole));
}

#[test]
fn an_ask_at_many_places_and_its_end() {
    let (mut whole, mut desk) = (engine(), Desk::of(engine()));
    for (count, left) in [(WANTED, PLACES + 2), (1, PLACES + 2), (0, 0)] {
        let call = call(count, None);
        let asked = call.clone();
        let (turns, answers) = beside_a_fetch(&mut desk, |desk| desk.ask(vec![(LONG, asked)]));
        assert!(turns >= 40 && answers[0].is_ok(), "{turns}");
        whole.ask(FETCHES, &AskCall::default()).unwrap();
        whole.ask(LONG, &call).unwrap();
        assert_eq!(i32::try_from(places(&desk).len()), Ok(left));
    }
    assert_equal(&desk, whole);
}

/// The label of the ask for anywhere is that of all places, whatever they were asked with.
#[test]
fn places_follow_the_label_that_is_asked_for_anywhere() {
    let (mut whole, mut desk) = (engine(), Desk::of(engine()));
    for label in [Some("gpu"), None, Some("gpu"), Some("")] {
        let call = call(WANTED, label);
        let asked = call.clone();
        let (_, answers) = beside_a_fetch(&mut desk, |desk| desk.ask(vec![(LONG, asked)]));
        assert!(answers[0].is_ok());
        whole.ask(FETCHES, &AskCall::default()).unwrap();
        whole.ask(LONG, &call).unwrap();
        let places = places(&desk);
        assert_eq!(places[0].place, NameId::ANY);
        let wanted = u32::from(label == Some("gpu"));
        let follows =
            |ask: &PlaceAsk| ask.partition == Some(PartitionId(wanted.try_into().unwrap()));
        assert!(places.iter().all(follows), "{label:?}");
    }
    assert_equal(&desk, whole);
}

/// The labels of few places take no turn of their own.
#[test]
fn asks_at_a_host_and_anywhere_under_many_keys() {
    let mut desk = Desk::of(engine());
    let of_key = |request_id: i64| {
        ["n1", "/default-rack", "*"].map(|place| Ask {
            place: place.to_owned(),
            request_id,
            ..Ask::anywhere(size(), 1)
        })
    };
    let call = AskCall::asking((0..3_000).flat_map(of_key).collect());
    let (turns, answers) = beside_a_fetch(&mut desk, |desk| desk.ask(vec![(LONG, call)]));
    assert!(answers[0].is_ok());
    // 9,000 asks are checked, interned and taken over, and 6,000 places follow their labels.
    assert!((100..200).contains(&turns), "{turns}");
    assert_eq!(places(&desk).len(), 9_000);
}

/// What is placed while the labels of places change: nothing is asked anywhere any more, and they change all the same.
#[test]
fn containers_that_are_placed_between_two_parts() {
    let mut desk = Desk::of(engine());
    let mut asked = desk.ask(vec![(LONG, call(1, Some("")))]);
    let root = |desk: &Desk| {
        let root = &desk.ledger().state().queues[State::ROOT];
        root.part(PartitionId::DEFAULT).pending.memory()
    };
    let mut turns = 0;
    while root(&desk) == 0 {
        desk.turn();
        turns += 1;
    }
    let of_label = |desk: &Desk| {
        let places = places(desk);
        let with = places.iter().filter(|ask| ask.partition.is_some()).count();
        (with, places.len())
    };
    let (before, all) = of_label(&desk);
    assert!(before < all - 1_000, "{before} of {all}");
    let mut beat = desk.heartbeat_all(vec![(node(), NodeReport::AsExpected)]);
    while beat.take().is_none() {
        desk.turn();
    }
    assert_eq!(root(&desk), 0);
    let (between, left) = of_label(&desk);
    // The asks for anywhere, for the rack and for the host are met.
    assert!(
        between < left && left == all - 3,
        "{between} of {left} after {turns}"
    );
    while asked.take().is_none() {
        desk.turn();
    }
    assert_eq!(of_label(&desk), (left, left));
}

/// Its places are few items, as their memory is freed later.
#[test]
fn an_application_with_many_places_ends() {
    let (mut whole, mut desk) = (engine(), Desk::of(engine()));
    let call = call(WANTED, None);
    whole.ask(LONG, &call).unwrap();
    let (_, answers) = beside_a_fetch(&mut desk, |desk| desk.ask(vec![(LONG, call)]));
    assert!(answers[0].is_ok());
    let (turns, ended) = beside_a_fetch(&mut desk, |desk| desk.finish_app(LONG));
    assert_eq!((turns, ended, places(&desk).len()), (1, Ok(()), 0));
    whole.ask(FETCHES, &AskCall::default()).unwrap();
    whole.ask(FETCHES, &AskCall::default()).unwrap();
    whole.finish_app(LONG).unwrap();
    assert_equal(&desk, whole);
}
