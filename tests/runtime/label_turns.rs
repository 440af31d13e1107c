//! Labels that are removed in parts beside a caller that only fetches: the result equals that of one piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Desk, NodeError, NodeName, NodeReport, NodeSpec,
    PartitionSpec, ResourceVector, Sequential, StateView, TreeSettings,
};
use capsched::config;
use capsched::id::PartitionId;
use capsched::queue::{Divisors, Queue};

use super::turns::{FETCHES, alone, beside_a_fetch, settings, size};

/// Nodes that have a label.
const LABELLED: usize = 2000;

fn label(name: &str, exclusive: bool) -> PartitionSpec {
    PartitionSpec {
        name: name.to_owned(),
        exclusive,
    }
}

fn spec(number: usize) -> NodeSpec {
    let name = NodeName::new(&format!("n{number}"), 1).unwrap();
    NodeSpec {
        partition: "gpu".to_owned(),
        ..NodeSpec::new(name, ResourceVector::of(&[8192, 8]))
    }
}

fn with_label() -> Sequential {
    let mut engine = Sequential::new(settings(), &[label("gpu", true)]).unwrap();
    for number in 0..LABELLED {
        engine.add_node(&spec(number)).unwrap();
    }
    let fetches = AppSpec::new(FETCHES, "root.a", "ann");
    engine.submit(&fetches).unwrap();
    engine
}

/// Settings whose queues have shares of the label. `limit`: percent that masters may have.
fn shared(legacy: bool, limit: &str) -> TreeSettings {
    let legacy = legacy.to_string();
    let pairs = [
        ("legacy-queue-mode.enabled", legacy.as_str()),
        ("maximum-am-resource-percent", limit),
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.user-limit-factor", "3"),
        ("root.accessible-node-labels", "gpu"),
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels.gpu.capacity", "30"),
        ("root.b.accessible-node-labels.gpu.capacity", "70"),
        ("root.a.accessible-node-labels.gpu.maximum-capacity", "90"),
    ];
    let pairs = pairs.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types);
    loaded.unwrap().settings
}

/// Nodes of a label with containers of several users and sizes, reservations, and masters that wait for room.
fn busy(legacy: bool, nodes: usize) -> Sequential {
    let mut engine = Sequential::new(shared(legacy, "0.02"), &[label("gpu", true)]).unwrap();
    for number in 0..nodes {
        engine.add_node(&spec(number)).unwrap();
    }
    for number in 0..40u32 {
        let (id, user) = (ApplicationId::new(number + 3), ["ann", "bob", "cy"]);
        let queue = ["root.a", "root.b"][number as usize % 2];
        let app = AppSpec::new(id, queue, user[number as usize % 3]);
        let master = ResourceVector::of(&[i64::from(number % 5 + 1) * 1024, 1]);
        let app = AppSpec {
            master_partition: Some("gpu".to_owned()),
            ..app.with_master(master)
        };
        engine.submit(&app).unwrap();
    }
    engine
        .submit(&AppSpec::new(FETCHES, "root.a", "ann"))
        .unwrap();
    let beat = |engine: &mut Sequential| {
        for number in 0..nodes {
            engine
                .heartbeat(&spec(number).name, &NodeReport::AsExpected)
                .unwrap();
        }
    };
    beat(&mut engine);
    for number in 0..40u32 {
        let ask = Ask {
            partition: Some("gpu".to_owned()),
            ..Ask::anywhere(
                ResourceVector::of(&[i64::from(number % 3 + 1) * 1024, 2]),
                120,
            )
        };
        // Those whose masters wait are refused.
        let _ = engine.ask(ApplicationId::new(number + 3), &AskCall::asking(vec![ask]));
    }
    for _ in 0..4 {
        beat(&mut engine);
    }
    engine.take_events();
    engine
}

/// A row without the counts of how often capacities may have changed, which a desk and a sequential engine begin anew,
/// and without the bounds of user limits, which are computed where they are read.
fn without_caches(row: &impl Debug) -> String {
    let row = format!("{row:?}");
    let digits = |part: &str| {
        part.trim_start_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    let row: String = row.split("epoch: ").map(digits).collect();
    let mut parts = row.split("bounds: UserBounds {");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |row, part| row + part.split_once('}').unwrap().1)
}

/// The queues of a desk, of which those in another one are compared: divisors of shares that hold no more in one of them
/// are left out.
fn queues(desk: &Desk, other: &Desk) -> Vec<String> {
    let (state, beside) = (desk.ledger().state(), other.ledger().state());
    let pairs = state.queues.iter().zip(&beside.queues);
    let rows = pairs.map(|(row, beside_it)| {
        let mut row: Queue = row.clone();
        for partition in state.partition_ids() {
            let (part, other) = (row.part_mut(partition), beside_it.part(partition));
            if part.divisors.epoch != state.epoch || other.divisors.epoch != beside.epoch {
                part.divisors = Divisors::default();
            }
        }
        without_caches(&row)
    });
    rows.collect()
}

/// Everything else that decisions read, row by row.
fn rows(desk: &Desk) -> Vec<String> {
    let state = desk.ledger().state();
    let mut rows: Vec<String> = state
        .partitions
        .iter()
        .map(|row| without_caches(&row))
        .collect();
    rows.extend(state.users.iter().map(|row| without_caches(&row)));
    rows.extend(state.apps.iter().map(|row| without_caches(&row)));
    rows.extend(state.nodes.iter().map(|row| without_caches(&row)));
    rows
}

pub(super) fn assert_same(found: &Desk, expected: &Desk) {
    let count = |desk: &Desk| desk.ledger().state().queues.len();
    assert_eq!(count(found), count(expected));
    let found_rows = [queues(found, expected), rows(found)].concat();
    let expected_rows = [queues(expected, found), rows(expected)].concat();
    assert_eq!(found_rows.len(), expected_rows.len());
    for (found, expected) in found_rows.iter().zip(&expected_rows) {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_label_of_many_nodes_is_removed() {
    let mut desk = Desk::of(with_label());
    let before = desk.ledger().state().epoch;
    let (turns, removed) = beside_a_fetch(&mut desk, |desk| desk.remove_label("gpu"));
    assert_eq!(removed, Ok(()));
    // A node is listed and moved.
    assert!(turns > 2 * LABELLED / 512, "{turns}");
    // Capacities follow once: each time has every queue counted.
    let changes = desk.ledger().state().epoch - before;
    assert!(changes < LABELLED as u64 + 100, "{changes}");
    let mut whole = with_label();
    whole.remove_label("gpu").unwrap();
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
    let again = alone(&mut desk, |desk| desk.remove_label("gpu"));
    assert_eq!(again, Err(NodeError::Label("gpu".to_owned())));
    let default = alone(&mut desk, |desk| desk.remove_label(""));
    assert!(default.is_err());
}

#[test]
fn it_comes_to_the_same_with_containers_reservations_and_masters_that_wait() {
    for legacy in [true, false] {
        let mut whole = busy(legacy, 700);
        let state = whole.ledger().state();
        let reserved = state.nodes.iter().filter(|node| node.reserved.is_some());
        let placed: usize = state
            .nodes
            .iter()
            .map(|node| node.containers as usize)
            .sum();
        let waiting = state.queues.iter().filter_map(|queue| queue.leaf.as_ref());
        let waiting: usize = waiting.map(|leaf| leaf.waiting.len()).sum();
        let found = (reserved.count(), placed, waiting);
        assert!(found.0 > 0 && found.1 > 700 && found.2 > 0, "{found:?}");
        let mut desk = Desk::of(busy(legacy, 700));
        let before = rows(&desk);
        let mut removed = desk.remove_label("gpu");
        let mut turns = 0;
        let removed = loop {
            desk.turn();
            turns += 1;
            if let Some(removed) = removed.take() {
                break removed;
            }
        };
        assert_eq!(removed, Ok(()));
        assert!(turns > 4, "{turns}");
        whole.remove_label("gpu").unwrap();
        let whole = Desk::of(whole);
        assert_same(&desk, &whole);
        assert_ne!(rows(&desk), before);
        assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
    }
}

/// Settings and labels are refused as a whole, and nodes of labels that go are moved in parts.
#[test]
fn a_refresh_that_takes_a_label_away_from_many_nodes() {
    let mut desk = Desk::of(with_label());
    let before = StateView::of(desk.ledger());
    let mut without_b = settings();
    without_b.queues.retain(|queue| &*queue.path != "root.b");
    let wrong = [
        (settings(), vec![label("gpu", false)], "label"),
        (settings(), vec![label("", true)], "label"),
        (
            settings(),
            vec![label("a", true), label("a", true)],
            "label",
        ),
        (settings(), vec![label(&"a".repeat(256), true)], "label"),
        (without_b, vec![label("ssd", true)], "queue_not_stopped"),
    ];
    for (settings, labels, code) in wrong {
        let refused = alone(&mut desk, |desk| {
            desk.reconfigure_with_labels(settings, labels)
        });
        assert_eq!(refused.map_err(|error| error.code()), Err(code));
        assert_eq!(StateView::of(desk.ledger()), before);
    }
    let labels = vec![label("ssd", false)];
    let (turns, taken) = beside_a_fetch(&mut desk, |desk| {
        desk.reconfigure_with_labels(settings(), labels.clone())
    });
    assert_eq!(taken, Ok(()));
    assert!(turns > 2 * LABELLED / 512, "{turns}");
    let mut whole = with_label();
    whole.reconfigure_with_labels(settings(), &labels).unwrap();
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
    let known = desk.ledger().labels().beside(&[]);
    assert_eq!(known, ["ssd"]);
}

/// Between two parts one node goes and another one comes with the label.
#[test]
fn nodes_that_come_and_go_while_their_label_is_removed() {
    let mut desk = Desk::of(with_label());
    let mut removed = desk.remove_label("gpu");
    desk.turn();
    let first = NodeName::new("n0", 1).unwrap();
    assert_eq!(alone(&mut desk, |desk| desk.remove_node(first)), Ok(()));
    let late = NodeSpec {
        partition: "gpu".to_owned(),
        ..NodeSpec::new(NodeName::new("late", 1).unwrap(), size())
    };
    assert_eq!(alone(&mut desk, |desk| desk.add_node(late)), Ok(()));
    while removed.take().is_none() {
        desk.turn();
    }
    let state = desk.ledger().state();
    let default = state.partitions[PartitionId::DEFAULT].nodes.len();
    assert_eq!((default, state.node_count), (LABELLED, LABELLED));
}

/// Between two parts somebody else removes the label.
#[test]
fn a_label_that_is_removed_meanwhile_is_unknown() {
    let mut desk = Desk::of(with_label());
    let mut first = desk.remove_label("gpu");
    let mut second = desk.remove_label("gpu");
    while second.take().is_none_or(|second| {
        assert_eq!(second, Err(NodeError::Label("gpu".to_owned())));
        false
    }) {
        desk.turn();
    }
    assert_eq!(first.take(), Some(Ok(())));
}
