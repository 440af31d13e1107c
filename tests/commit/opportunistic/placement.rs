//! Which node takes an opportunistic container, and what is charged with it.

use super::cluster::{
    APP, OTHER, QUEUED, STARTED, asks, beat, charged, cluster, cluster_with, fetch, guaranteed,
    news, node, place, queue, size, waits,
};
use capsched::api::{
    Ask, AskCall, AskError, ContainerId, Event, OpportunisticSettings, PartitionSpec, StateView,
};

#[test]
fn they_are_refused_unless_the_settings_enable_them() {
    let mut engine = cluster_with(1, None, |builder| builder);
    let refused = engine.ask_opportunistic(APP, &asks(1, 1));
    let Err(AskError::Opportunistic(reason)) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(reason, "the settings do not enable them");
    assert_eq!(engine.ledger().node_rooms().longest_queue(), None);
    assert_eq!(StateView::of(engine.ledger()).nodes[0].opportunistic, None);
}

#[test]
fn they_start_where_there_is_room_and_no_queue_is_charged() {
    let mut engine = cluster(2, 0);
    let before = charged(&engine);
    // The leaf may use half of the cluster, which is 8 GiB; these are 14.
    assert_eq!(place(&mut engine, APP, &asks(7, 2)), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(charged(&engine), before);
    let (steps, ends) = news(&mut engine);
    assert_eq!(steps, (1..=7).map(|n| (n, STARTED)).collect::<Vec<_>>());
    assert!(ends.is_empty());
    // Spread over the nodes in turn.
    assert_eq!(
        [queue(&engine, 0), queue(&engine, 1)],
        [(0, 4, 8192), (0, 3, 6144)]
    );
    assert_eq!(beat(&mut engine, 0).launched.len(), 4);
    // The next report of a node that launched them names none again.
    assert!(beat(&mut engine, 0).launched.is_empty());
}

#[test]
fn guaranteed_decisions_are_the_same_beside_them() {
    let run = |opportunistic: bool| {
        let mut engine = cluster(2, 3);
        if opportunistic {
            place(&mut engine, OTHER, &asks(9, 2));
        }
        let call = AskCall::asking(asks(9, 1));
        engine.ask(APP, &call).unwrap();
        for number in [0, 1, 0, 1, 1, 0, 0, 1, 1, 0] {
            beat(&mut engine, number);
        }
        let placed = engine
            .take_events()
            .into_iter()
            .filter_map(|event| match event {
                Event::Allocated {
                    container, node, ..
                } => Some((container, node)),
                _ => None,
            });
        placed.collect::<Vec<_>>()
    };
    let plain = run(false);
    assert_eq!(plain.len(), 8, "the leaf is full at its maximum");
    assert_eq!(run(true), plain);
}

#[test]
fn what_does_not_fit_waits_in_the_order_of_the_asks() {
    let mut engine = cluster(1, 2);
    assert_eq!(place(&mut engine, APP, &asks(9, 4)), [1, 2, 3, 4]);
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 5);
    assert_eq!(queue(&engine, 0), (2, 2, 8192));
    let (steps, _) = news(&mut engine);
    assert_eq!(
        steps,
        [(1, STARTED), (2, STARTED), (3, QUEUED), (4, QUEUED)]
    );
    // Only those that started are launched, however often the node reports.
    assert_eq!(beat(&mut engine, 0).launched.len(), 2);
    assert!(beat(&mut engine, 0).launched.is_empty());
    // One ends: the next one starts at once, and its place in the queue is for another one.
    assert!(engine.container_finished(ContainerId::new(APP, 1)));
    assert_eq!(news(&mut engine).0, [(3, STARTED)]);
    assert_eq!(beat(&mut engine, 0).launched, [ContainerId::new(APP, 3)]);
    let granted = fetch(&mut engine, APP).allocated;
    assert_eq!(granted.len(), 1);
    assert_eq!(granted[0].size, size(4, 1));
    assert_eq!(queue(&engine, 0), (2, 2, 8192));
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 4);
}

#[test]
fn a_waiting_container_is_not_overtaken_by_a_smaller_one() {
    let mut engine = cluster(1, 4);
    place(&mut engine, APP, &asks(2, 6));
    assert_eq!(queue(&engine, 0), (1, 1, 6144));
    place(&mut engine, OTHER, &asks(1, 1));
    assert_eq!(queue(&engine, 0), (2, 1, 6144));
}

#[test]
fn the_least_loaded_nodes_come_first() {
    let mut engine = cluster(3, 4);
    guaranteed(&mut engine, APP, 0, 8);
    guaranteed(&mut engine, OTHER, 1, 8);
    place(&mut engine, APP, &asks(2, 4));
    assert_eq!([0, 1, 2].map(|on| queue(&engine, on).1), [0, 0, 2]);
    place(&mut engine, APP, &asks(5, 4));
    let mut lengths = [0, 1, 2].map(|on| queue(&engine, on).0);
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 2, 2]);
}

#[test]
fn as_many_nodes_are_looked_at_as_the_settings_say() {
    let one = OpportunisticSettings {
        nodes_used: 1,
        ..waits(0)
    };
    let mut engine = cluster_with(3, Some(one), |builder| builder);
    guaranteed(&mut engine, APP, 0, 8);
    guaranteed(&mut engine, OTHER, 1, 8);
    // Each call looks at one node: the third one has room.
    engine.ask_opportunistic(APP, &asks(1, 4)).unwrap();
    assert_eq!(engine.ledger().opportunistic_waiting(APP), 1);
    assert!(fetch(&mut engine, APP).allocated.is_empty());
    let granted = fetch(&mut engine, APP).allocated;
    assert_eq!(granted[0].node, node(2));
}

#[test]
fn named_hosts_and_racks_come_before_other_nodes() {
    let mut engine = cluster(4, 0);
    let on = |place: &str, count| Ask {
        place: place.to_owned(),
        ..Ask::anywhere(size(4, 1), count)
    };
    // Two on the host, of which the second is more than its room; one on the rack; one anywhere.
    let wanted = [on("n3", 3), on("/rack-0", 1), on("*", 4)];
    engine.ask_opportunistic(APP, &wanted).unwrap();
    let granted = fetch(&mut engine, APP).allocated;
    let nodes: Vec<_> = granted
        .iter()
        .map(|granted| granted.node.host().to_owned())
        .collect();
    assert_eq!(nodes[..2], ["n3", "n3"]);
    assert!(["n0", "n1"].contains(&nodes[2].as_str()), "{nodes:?}");
    assert_eq!(nodes.len(), 4);
    // Without relaxed locality nothing else will do.
    let strict = [
        on("n3", 1),
        Ask {
            relax_locality: false,
            ..on("*", 1)
        },
    ];
    assert!(place(&mut engine, OTHER, &strict).is_empty());
    assert_eq!(engine.ledger().opportunistic_waiting(OTHER), 1);
}

#[test]
fn excluded_closed_and_small_nodes_take_none() {
    let mut engine = cluster(3, 5);
    let excludes = AskCall {
        blacklist_add: vec!["n0".to_owned()],
        ..AskCall::default()
    };
    engine.ask(APP, &excludes).unwrap();
    engine.decommission_node(&node(1)).unwrap();
    place(&mut engine, APP, &asks(4, 4));
    assert_eq!(
        [0, 1, 2].map(|on| queue(&engine, on)),
        [(0, 0, 0), (0, 0, 0), (2, 2, 8192)]
    );
    engine.resize_node(&node(2), size(2, 2)).unwrap();
    assert!(place(&mut engine, APP, &asks(1, 4)).is_empty());
}

#[test]
fn partitions_are_kept_apart() {
    let label = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let mut engine = cluster_with(1, Some(waits(0)), |builder| {
        builder.partitions(vec![label.clone()])
    });
    engine.relabel_node(&node(0), "gpu").unwrap();
    assert!(place(&mut engine, APP, &asks(1, 1)).is_empty());
    engine.relabel_node(&node(0), "").unwrap();
    assert_eq!(fetch(&mut engine, APP).allocated.len(), 1);
}
