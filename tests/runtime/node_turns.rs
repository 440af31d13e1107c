//! Nodes that change in parts beside a caller that only fetches: each part computes all queues anew, and what they come
//! to equals that of one piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Desk, DeskAnswer, HeartbeatReply, Mode, NodeError,
    NodeName, NodeReport, NodeSpec, PartitionSpec, ResourceVector, Running, Sequential, StateView,
    Threaded,
};
use capsched::commit::Ledger;
use capsched::config;
use capsched::id::PartitionId;
use capsched::queue::{AppStage, Queue};
use capsched::time::SystemClock;

use super::turns::{FETCHES, alone, beside_a_fetch, size};

/// More leaves than items of a part.
const LEAVES: usize = 600;

/// Applications that wait for room for their masters.
const WAITING: u32 = 40;

fn node(number: u32) -> NodeSpec {
    let name = NodeName::new(&format!("n{number}"), 1).unwrap();
    NodeSpec::new(name, ResourceVector::of(&[65_536, 64]))
}

fn app(number: u32) -> AppSpec {
    let queue = format!("root.leaf{}", number % 7);
    AppSpec {
        master: Some(size()),
        ..AppSpec::new(ApplicationId::new(100 + number), &queue, "ann")
    }
}

/// A node, and applications that become active as nodes come.
fn engine() -> Sequential {
    let names: Vec<_> = (0..LEAVES).map(|leaf| format!("leaf{leaf}")).collect();
    let key = |key: &str| format!("yarn.scheduler.capacity.{key}");
    let mut pairs = BTreeMap::from([
        (key("root.queues"), format!("a,{}", names.join(","))),
        (key("root.a.capacity"), "30".to_owned()),
        (key("maximum-am-resource-percent"), "0.1".to_owned()),
        (key("schedule-asynchronously.enable"), "false".to_owned()),
    ]);
    for (leaf, name) in names.iter().enumerate() {
        let capacity = if leaf < 7 { "10" } else { "0" };
        pairs.insert(key(&format!("root.{name}.capacity")), capacity.to_owned());
    }
    let site = [("yarn.node-labels.enabled", "true")];
    let site = site.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&site.into(), &pairs, &types).unwrap();
    let gpu = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let mut engine = Sequential::new(loaded.settings, &[gpu]).unwrap();
    engine.add_node(&node(0)).unwrap();
    engine
        .submit(&AppSpec::new(FETCHES, "root.a", "bob"))
        .unwrap();
    for number in 0..WAITING {
        engine.submit(&app(number)).unwrap();
    }
    engine
}

fn active(desk: &Desk) -> usize {
    let apps = desk.ledger().state().apps.iter();
    apps.filter(|app| app.stage == AppStage::Active).count()
}

fn assert_alike(desk: &Desk, whole: &Sequential) {
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
}

#[test]
fn queues_are_computed_anew_in_parts_and_come_to_the_same() {
    let (mut desk, mut whole) = (Desk::of(engine()), engine());
    let before = active(&desk);
    for number in 1..4 {
        let (turns, added) = beside_a_fetch(&mut desk, |desk| desk.add_node(node(number)));
        assert_eq!(added, Ok(()));
        assert_eq!(turns, 2, "the change, and the label that is sent");
        whole.add_node(&node(number)).unwrap();
        assert_alike(&desk, &whole);
    }
    assert!(active(&desk) > before, "applications become active");
    let name = node(2).name;
    let (turns, removed) = beside_a_fetch(&mut desk, |desk| desk.remove_node(name.clone()));
    assert_eq!(removed, Ok(()));
    assert_eq!(
        turns, 3,
        "the change, and the cluster that is looked at twice"
    );
    whole.remove_node(&name).unwrap();
    assert_alike(&desk, &whole);
}

#[test]
fn a_refusal_is_one_part() {
    let mut desk = Desk::of(engine());
    let (turns, added) = beside_a_fetch(&mut desk, |desk| desk.add_node(node(0)));
    assert_eq!((turns, added), (1, Err(NodeError::Duplicate(node(0).name))));
    let (turns, removed) = beside_a_fetch(&mut desk, |desk| desk.remove_node(node(9).name));
    assert_eq!((turns, removed), (1, Err(NodeError::Unknown(node(9).name))));
}

/// Calls that the scheduler makes on itself are carried out in order: those of a call between two parts come behind
/// what is left.
#[test]
fn a_call_between_two_parts_comes_behind_what_is_left() {
    let (mut desk, mut whole) = (Desk::of(engine()), engine());
    let mut removed = desk.remove_node(node(0).name);
    desk.turn();
    assert!(removed.take().is_none(), "parts are left");
    let mut submitted = desk.submit(app(WAITING));
    desk.turn();
    assert!(submitted.take().unwrap().is_ok());
    whole.remove_node(&node(0).name).unwrap();
    whole.submit(&app(WAITING)).unwrap();
    assert_alike(&desk, &whole);
    let left = removed.take();
    assert!(left.is_none(), "its answer comes with its next part");
    desk.turn();
    assert_eq!(removed.take(), Some(Ok(())));
    assert_alike(&desk, &whole);
}

/// The next part of a change concerns the node as it was: one that came anew under the name keeps its label.
#[test]
fn a_node_that_comes_anew_between_two_parts_is_another_one() {
    let (mut desk, mut whole) = (Desk::of(engine()), engine());
    let mut first = desk.add_node(node(1));
    desk.turn();
    assert!(first.take().is_none());
    let removed = alone(&mut desk, |desk| desk.remove_node(node(1).name));
    assert_eq!((removed, first.take()), (Ok(()), Some(Ok(()))));
    let other = NodeSpec {
        partition: "gpu".to_owned(),
        ..node(1)
    };
    assert_eq!(
        alone(&mut desk, |desk| desk.add_node(other.clone())),
        Ok(())
    );
    whole.add_node(&node(1)).unwrap();
    whole.remove_node(&node(1).name).unwrap();
    whole.add_node(&other).unwrap();
    assert_alike(&desk, &whole);
}

/// A caller that has its answer leaves what is long to the committer's thread; one that waits goes on.
#[test]
fn a_caller_goes_on_with_long_calls_only_while_it_waits() {
    let mut desk = Desk::of(engine());
    let mut added = desk.add_node(node(1));
    let mut fetch = desk.ask(vec![(FETCHES, AskCall::default())]);
    assert!(desk.visit(false), "its thread has to go on");
    assert!(fetch.take().is_some());
    assert!(added.take().is_none());
    desk.visit(true);
    assert_eq!(added.take(), Some(Ok(())));
}

/// Of changes that write every queue a turn carries out one, and calls behind them are served in it.
#[test]
fn changes_of_all_queues_take_turns() {
    let mut desk = Desk::of(engine());
    let mut added: Vec<_> = (1..5).map(|number| desk.add_node(node(number))).collect();
    let mut fetch = desk.ask(vec![(FETCHES, AskCall::default())]);
    let nodes = |desk: &Desk| desk.ledger().state().node_count;
    for turn in 1..9 {
        let before = nodes(&desk);
        desk.turn();
        assert!(nodes(&desk) <= before + 1, "one more each turn at most");
        assert_eq!(fetch.take().is_some(), turn == 1, "it is served at once");
    }
    assert_eq!(nodes(&desk), 5);
    let answers: Vec<_> = added.iter_mut().map(DeskAnswer::take).collect();
    assert_eq!(answers, vec![Some(Ok(())); 4]);
}

/// Containers end on a node that is decommissioning. Its total follows with its report, and each visit of all queues is a
/// part.
#[test]
fn a_node_shrinks_in_parts_of_its_report() {
    let shrinking = || {
        let mut engine = engine();
        engine.add_node(&node(1)).unwrap();
        engine.decommission_node(&node(1).name).unwrap();
        engine
    };
    let (mut desk, mut whole) = (Desk::of(shrinking()), shrinking());
    let name = node(1).name;
    let (turns, reply) = beside_a_fetch(&mut desk, |desk| {
        desk.heartbeat(name.clone(), NodeReport::AsExpected)
    });
    assert_eq!(reply, whole.heartbeat(&name, &NodeReport::AsExpected));
    assert_eq!(turns, 3, "the report with the total, and two labels");
    assert_alike(&desk, &whole);
    // The second report finds nothing to follow.
    let again = vec![(name.clone(), NodeReport::AsExpected); 2];
    let (turns, replies) = beside_a_fetch(&mut desk, |desk| desk.heartbeat_all(again));
    assert_eq!((turns, replies.len()), (1, 2));
    assert_alike(&desk, &whole);
}

/// The same with reports of several nodes together.
#[test]
fn nodes_shrink_in_parts_of_their_reports() {
    let shrinking = || {
        let mut engine = engine();
        for number in 1..4 {
            engine.add_node(&node(number)).unwrap();
            engine.decommission_node(&node(number).name).unwrap();
        }
        engine
    };
    let (mut desk, mut whole) = (Desk::of(shrinking()), shrinking());
    let reports = (1..4).map(|number| (node(number).name, NodeReport::AsExpected));
    let reports: Vec<_> = reports.collect();
    let (turns, replies) = beside_a_fetch(&mut desk, |desk| desk.heartbeat_all(reports.clone()));
    for ((name, report), reply) in reports.iter().zip(replies) {
        assert_eq!(reply, whole.heartbeat(name, report));
    }
    assert!(turns >= 9, "{turns}: a total and two labels of each");
    assert_alike(&desk, &whole);
}

/// Nodes that shrink while another change has parts to come, and one of them is changed between two parts of its report:
/// each call comes behind what is left of the one before.
#[test]
fn calls_between_the_parts_of_a_report_come_behind_it() {
    let shrinking = || {
        let mut engine = engine();
        for number in 1..3 {
            engine.add_node(&node(number)).unwrap();
            engine.decommission_node(&node(number).name).unwrap();
        }
        engine
    };
    let (mut desk, mut whole) = (Desk::of(shrinking()), shrinking());
    // What has no end yet goes on first.
    let _calls = desk.ask(vec![(FETCHES, AskCall::default()); 2_000]);
    desk.turn();
    let mut added = desk.add_node(node(3));
    desk.turn();
    let names = [node(1).name, node(2).name];
    let mut reports = names
        .clone()
        .map(|name| desk.heartbeat(name, NodeReport::AsExpected));
    desk.turn();
    let again = NodeSpec {
        partition: "gpu".to_owned(),
        ..node(2)
    };
    let mut reconnected = desk.reconnect_node(again.clone());
    desk.turn();
    let state = desk.ledger().state();
    let row = &state.nodes[desk.ledger().node(&names[1]).unwrap()];
    assert!(row.total.is_none() && row.partition == PartitionId::DEFAULT);
    assert!(reports[1].take().is_none(), "labels are left");
    let answered = (0..100).find_map(|_| {
        desk.turn();
        reconnected.take()
    });
    assert_eq!((added.take(), answered), (Some(Ok(())), Some(Ok(()))));
    whole.add_node(&node(3)).unwrap();
    for name in &names {
        whole.heartbeat(name, &NodeReport::AsExpected).unwrap();
    }
    for report in &mut reports {
        assert_eq!(report.take(), Some(Ok(HeartbeatReply::default())));
    }
    whole.reconnect_node(&again).unwrap();
    assert_alike(&desk, &whole);
    let totals = |ledger: &Ledger| {
        let partitions = ledger.state().partitions.iter();
        partitions.map(|row| row.total).collect::<Vec<_>>()
    };
    assert_eq!(totals(desk.ledger()), totals(whole.ledger()));
}

/// A snapshot that is made ready in parts begins again where all queues change, but not for ever: then changes wait. So
/// what is copied with it is few.
#[test]
fn changes_of_all_queues_wait_for_a_snapshot_that_began_again_often() {
    let mut desk = Desk::publishing(engine());
    let (mut snapshots, mut changes) = (0, 0);
    let mut resized = desk.resize_node(node(0).name, node(0).total);
    let long = |desk: &Desk| desk.ask(vec![(FETCHES, AskCall::default()); 1_000]);
    let (mut calls, mut answered) = (long(&desk), 0);
    while snapshots < 12 {
        if calls.take().is_some() {
            (calls, answered) = (long(&desk), answered + 1);
        }
        let (before, version) = (desk.ledger().state().rows_to_copy(), desk.version());
        desk.turn();
        if desk.version() > version {
            snapshots += 1;
            assert!(
                before <= 256 || snapshots == 1,
                "{before} rows in one piece"
            );
        }
        if resized.take().is_some() {
            changes += 1;
            let total = ResourceVector::of(&[65_536 + changes % 2, 64]);
            resized = desk.resize_node(node(0).name, total);
        }
        assert!(changes <= 10 * (snapshots + 1), "{changes} changes");
    }
    assert!(changes >= 12, "{changes}");
    assert!(answered >= 12, "{answered}: calls in parts do not wait");
}

/// A running engine whose proposers decide on snapshots alone.
fn running() -> Threaded {
    let mode = Mode::Asynchronous { threads: 1 };
    Threaded::take_over(engine(), mode, SystemClock::new(), Running::default()).unwrap()
}

/// The rows of all queues are copied in parts of several turns.
#[test]
fn a_snapshot_after_a_change_of_all_queues_shows_all_of_it() {
    let engine = running();
    for number in 1..4 {
        engine.add_node(node(number)).unwrap();
        engine.quiesce();
        let (snapshot, state) = (engine.snapshot(), engine.state().unwrap());
        assert_eq!(snapshot.nodes.len(), state.nodes.len());
        let total = |row: &Queue| row.part(PartitionId::DEFAULT).guaranteed.get();
        let shown: Vec<_> = snapshot.queues.iter().map(total).collect();
        let expected = engine.inspect(move |ledger| {
            let queues = ledger.state().queues.iter();
            queues.map(total).collect::<Vec<_>>()
        });
        assert_eq!(shown, expected.unwrap());
    }
}

/// Proposers see a snapshot though calls change all queues faster than their rows are copied.
#[test]
fn asks_are_served_though_nodes_change_all_the_time() {
    let engine = running();
    let ask = Ask::anywhere(size(), 1);
    engine.ask(FETCHES, AskCall::asking(vec![ask])).unwrap();
    let placed = (0..100_000).any(|number| {
        let total = ResourceVector::of(&[65_536 + number % 2, 64]);
        engine.resize_node(node(0).name, total).unwrap();
        let reply = engine.ask(FETCHES, AskCall::default()).unwrap();
        !reply.allocated.is_empty()
    });
    assert!(placed);
}

/// A label that is removed between two parts stays removed: what is left sends no node back.
#[test]
fn a_label_that_goes_between_two_parts_takes_no_node_back() {
    let (mut desk, mut whole) = (Desk::of(engine()), engine());
    let labelled = NodeSpec {
        partition: "gpu".to_owned(),
        ..node(1)
    };
    let (mut added, mut removed) = (desk.add_node(labelled.clone()), desk.remove_label("gpu"));
    desk.turn();
    assert_eq!((added.take(), removed.take()), (None, Some(Ok(()))));
    desk.turn();
    assert_eq!(added.take(), Some(Ok(())));
    whole.add_node(&labelled).unwrap();
    whole.remove_label("gpu").unwrap();
    let name = node(1).name;
    let gone = alone(&mut desk, |desk| desk.remove_node(name.clone()));
    assert_eq!(gone, whole.remove_node(&name));
    assert_alike(&desk, &whole);
    let totals = |ledger: &Ledger| {
        let partitions = ledger.state().partitions.iter();
        partitions
            .map(|partition| partition.total)
            .collect::<Vec<_>>()
    };
    assert_eq!(totals(desk.ledger()), totals(whole.ledger()));
}
