//! Life of opportunistic containers on their nodes: those that end, expire and are handed out.

use std::time::Duration;

use super::cluster::{
    APP, OTHER, STARTED, add_node, asks, beat, cluster, cluster_with, fetch, guaranteed, news,
    node, place, queue, size, waits,
};
use capsched::api::{
    ContainerId, EndCause, HandOut, NodeSpec, OpportunisticSettings, RunningContainer,
};

#[test]
fn a_guaranteed_container_ends_the_latest_that_it_needs_the_room_of() {
    let mut engine = cluster(1, 3);
    place(&mut engine, OTHER, &asks(5, 2));
    beat(&mut engine, 0);
    news(&mut engine);
    assert_eq!(queue(&engine, 0), (1, 4, 8192));
    let taken = guaranteed(&mut engine, APP, 0, 3);
    // 3 GiB are needed and the two latest give 4.
    let (steps, ends) = news(&mut engine);
    assert_eq!(ends, [(4, EndCause::NodeQueue), (3, EndCause::NodeQueue)]);
    assert!(
        steps.is_empty(),
        "their space is taken until the node stopped them"
    );
    assert_eq!(EndCause::NodeQueue.exit_status(), Some(-108));
    let reply = fetch(&mut engine, OTHER);
    let finished: Vec<u32> = reply.finished.iter().map(|one| one.number).collect();
    assert_eq!((finished, reply.allocated.len()), (vec![3, 4], 0));
    // With the report that they stopped, 1 GiB is free, which the next one does not fit in.
    let reply = beat(&mut engine, 0);
    assert_eq!(reply.exited.len(), 2);
    assert!(reply.launched.contains(&taken));
    assert_eq!(queue(&engine, 0), (1, 2, 4096));
    engine.container_finished(taken);
    assert_eq!(news(&mut engine).0, [(5, STARTED)]);
}

#[test]
fn a_queue_beyond_the_limit_loses_the_latest() {
    let short = OpportunisticSettings {
        shortest_limit: 1,
        longest_limit: 2,
        ..waits(5)
    };
    let mut engine = cluster_with(1, Some(short), |builder| builder);
    place(&mut engine, APP, &asks(6, 8));
    assert_eq!(queue(&engine, 0).0, 5);
    assert_eq!(engine.ledger().node_rooms().longest_queue(), Some(2));
    beat(&mut engine, 0);
    let (_, ends) = news(&mut engine);
    assert_eq!(ends, [4, 5, 6].map(|number| (number, EndCause::NodeQueue)));
    assert_eq!(queue(&engine, 0), (2, 1, 8192));
    // Nobody asks for them again.
    assert!(fetch(&mut engine, APP).allocated.is_empty());
}

#[test]
fn what_runs_after_a_restart_takes_room() {
    let mut engine = cluster(0, 0);
    let spec = NodeSpec::new(node(0), size(8, 8));
    let running = RunningContainer {
        opportunistic: true,
        ..RunningContainer::new(ContainerId::new(APP, 7), size(6, 1))
    };
    engine.begin_recovery();
    let recovered = engine.register_node(&spec, &[running]).unwrap();
    assert_eq!(recovered.taken.len(), 1);
    assert_eq!(queue(&engine, 0), (0, 1, 6144));
    assert!(place(&mut engine, APP, &asks(1, 4)).is_empty());
}

#[test]
fn what_is_lost_or_ended_leaves_its_node() {
    let mut engine = cluster(2, 3);
    place(&mut engine, APP, &asks(8, 4));
    assert_eq!(queue(&engine, 0).0 + queue(&engine, 1).0, 4);
    engine.remove_node(&node(0)).unwrap();
    assert_eq!(fetch(&mut engine, APP).finished.len(), 4);
    add_node(&mut engine, 0);
    assert_eq!(queue(&engine, 0), (0, 0, 0));
    place(&mut engine, OTHER, &asks(1, 1));
    engine.finish_app(APP).unwrap();
    engine.finish_app(OTHER).unwrap();
    for number in [0, 1, 0, 1] {
        beat(&mut engine, number);
    }
    assert_eq!([queue(&engine, 0), queue(&engine, 1)], [(0, 0, 0); 2]);
}

#[test]
fn a_waiting_container_does_not_expire_and_a_started_one_does() {
    let after = Duration::from_secs(1);
    let mut engine = cluster_with(1, Some(waits(1)), |builder| {
        builder.allocation_expiry(after)
    });
    place(&mut engine, APP, &asks(2, 6));
    engine.advance_to(5000);
    let ends = news(&mut engine).1;
    assert_eq!(ends, [(1, EndCause::Expired)]);
    // The node reports, and the other one starts.
    beat(&mut engine, 0);
    assert_eq!(queue(&engine, 0), (0, 1, 6144));
    engine.advance_to(10_000);
    assert_eq!(news(&mut engine).1, [(2, EndCause::Expired)]);
}

#[test]
fn events_may_hand_them_out() {
    let mut engine = cluster_with(1, Some(waits(1)), |builder| {
        builder.hand_out(HandOut::Event)
    });
    engine.ask_opportunistic(APP, &asks(2, 6)).unwrap();
    assert!(fetch(&mut engine, APP).allocated.is_empty());
    assert_eq!(beat(&mut engine, 0).launched, [ContainerId::new(APP, 1)]);
    engine.container_finished(ContainerId::new(APP, 1));
    assert_eq!(beat(&mut engine, 0).launched, [ContainerId::new(APP, 2)]);
}
