//! Opportunistic containers that are promoted, and others that are demoted.

use super::cluster::{APP, OTHER, asks, beat, cluster, fetch, guaranteed, news, place, queue};
use capsched::api::{AskCall, ContainerChange, ContainerId, ContainerUpdate, EndCause, StateView};

fn update(container: u32, change: ContainerChange) -> AskCall {
    AskCall::updating(vec![ContainerUpdate {
        container,
        version: 0,
        change,
    }])
}

#[test]
fn a_waiting_container_that_is_promoted_starts() {
    let mut engine = cluster(1, 3);
    place(&mut engine, APP, &asks(3, 4));
    beat(&mut engine, 0);
    assert_eq!(queue(&engine, 0), (1, 2, 8192));
    news(&mut engine);
    engine
        .ask(APP, &update(3, ContainerChange::Promote))
        .unwrap();
    beat(&mut engine, 0);
    let reply = fetch(&mut engine, APP);
    assert_eq!(reply.updated.len(), 1);
    // It is charged from now on, and the latest of the others ends for it.
    let (_, ends) = news(&mut engine);
    assert!(ends.contains(&(2, EndCause::NodeQueue)), "{ends:?}");
    assert_eq!(queue(&engine, 0).0, 0);
    let view = StateView::of(engine.ledger());
    assert_eq!(view.nodes[0].allocated, [4096, 1]);
    assert!(
        beat(&mut engine, 0)
            .launched
            .contains(&ContainerId::new(APP, 3))
    );
}

#[test]
fn a_promotion_takes_no_more_room_than_the_container_has() {
    let mut engine = cluster(1, 0);
    place(&mut engine, APP, &asks(2, 4));
    beat(&mut engine, 0);
    news(&mut engine);
    engine
        .ask(APP, &update(2, ContainerChange::Promote))
        .unwrap();
    beat(&mut engine, 0);
    beat(&mut engine, 0);
    assert_eq!(fetch(&mut engine, APP).updated.len(), 1);
    beat(&mut engine, 0);
    let ended = |(_, cause): &(u32, EndCause)| *cause == EndCause::NodeQueue;
    assert!(!news(&mut engine).1.iter().any(ended));
    assert_eq!(queue(&engine, 0), (0, 1, 4096));
}

#[test]
fn a_demoted_container_goes_on_beside_the_others_and_may_end_for_a_guaranteed_one() {
    let mut engine = cluster(1, 0);
    let demoted = guaranteed(&mut engine, APP, 0, 4);
    beat(&mut engine, 0);
    place(&mut engine, OTHER, &asks(1, 4));
    engine
        .ask(APP, &update(demoted.number, ContainerChange::Demote))
        .unwrap();
    assert_eq!(queue(&engine, 0), (0, 2, 8192));
    let ended = |(_, cause): &(u32, EndCause)| *cause == EndCause::NodeQueue;
    assert!(!news(&mut engine).1.iter().any(ended));
    guaranteed(&mut engine, OTHER, 0, 1);
    let ends = news(&mut engine).1;
    assert_eq!(ends, [(demoted.number, EndCause::NodeQueue)]);
}
