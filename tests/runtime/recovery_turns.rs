//! Applications with many containers are recovered in parts.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, Ask, AskCall, ContainerId, Desk, NodeReport, NodeSpec, ResourceVector,
    RunningContainer, Sequential, StateView,
};

use super::turns::{CONTAINERS, FETCHES, LONG, alone, beside_a_fetch, node, settings, size};

/// A scheduler that recovers, with an application whose node reported so many containers, and one that fetches.
fn recovering(containers: u32) -> Sequential {
    let mut engine = Sequential::new(settings(), &[]).unwrap();
    engine.begin_recovery();
    let fetches = AppSpec::new(FETCHES, "root.a", "ann");
    engine.submit(&fetches).unwrap();
    let running: Vec<_> = (1..=containers)
        .map(|number| RunningContainer::new(ContainerId::new(LONG, number), size()))
        .collect();
    let spec = NodeSpec::new(node(), ResourceVector::of(&[1 << 30, 1 << 20]));
    let recovered = engine.register_node(&spec, &running).unwrap();
    assert_eq!(recovered.waiting.len(), running.len());
    engine
}

#[test]
fn an_application_takes_over_many_containers() {
    let spec = || AppSpec::new(LONG, "root.b", "bob");
    let containers = CONTAINERS.unsigned_abs();
    let mut desk = Desk::of(recovering(containers));
    let (turns, recovered) = beside_a_fetch(&mut desk, |desk| desk.recover_app(spec(), 1));
    assert!(turns >= 5, "{turns}");
    let mut whole = recovering(containers);
    let expected = whole.recover_app(&spec(), 1, None).unwrap();
    assert_eq!(recovered.unwrap().sorted(), expected);
    assert_eq!(expected.taken.len(), CONTAINERS as usize);
    assert_eq!(StateView::of(desk.ledger()), StateView::of(whole.ledger()));
    let again = alone(&mut desk, |desk| desk.recover_app(spec(), 1));
    assert!(again.is_err());
}

/// Between two parts the application gets a new container, and then the node goes.
#[test]
fn what_happens_while_an_application_takes_its_containers_over() {
    let containers = CONTAINERS.unsigned_abs();
    let mut desk = Desk::of(recovering(containers));
    let mut recovered = desk.recover_app(AppSpec::new(LONG, "root.b", "bob"), 1);
    desk.turn();
    assert!(recovered.take().is_none());
    let ask = AskCall::asking(vec![Ask::anywhere(size(), 1)]);
    alone(&mut desk, |desk| desk.ask(vec![(LONG, ask)]));
    let beat = vec![(node(), NodeReport::AsExpected)];
    alone(&mut desk, |desk| desk.heartbeat_all(beat));
    let app = desk.ledger().app(LONG).unwrap();
    let new = desk.ledger().live_containers(app).map(|one| one.id.number);
    assert_eq!(new.max(), Some(containers + 1), "no number comes twice");
    assert_eq!(alone(&mut desk, |desk| desk.remove_node(node())), Ok(()));
    let recovered = loop {
        desk.turn();
        if let Some(recovered) = recovered.take() {
            break recovered.unwrap();
        }
    };
    assert_eq!(
        recovered.taken.len() + recovered.to_stop.len(),
        CONTAINERS as usize
    );
    assert_eq!(desk.ledger().live_containers(app).count(), 0);
}
