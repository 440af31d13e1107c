//! Copies for trials decide as the engine does, and change nothing of it.

use capsched::api::{AppSpec, Event, Scheduler as _, StateView, Stepped};

use crate::cluster::{Cluster, app, cluster, gib};

fn busy() -> Cluster {
    let mut cluster = cluster(&[("root.a.ordering-policy", "fair")], &["n0", "n1", "n2"]);
    cluster.asks(1, "root.a", "ann", (5, 2));
    cluster.asks(2, "root.b", "bob", (9, 1));
    cluster.beat(2);
    cluster.submit(AppSpec::new(app(3), "root.b", "eve").with_master(gib(3)));
    cluster.asks(4, "root.a", "eve", (3, 5));
    cluster
}

fn decisions(engine: &mut Stepped) -> Vec<Event> {
    let mut events = Vec::new();
    engine.events(&mut events);
    events.clear();
    for _ in 0..10 {
        engine.tick();
    }
    engine.events(&mut events);
    events
}

#[test]
fn a_copy_decides_as_the_engine_does() {
    let mut cluster = busy();
    let mut copy = cluster.engine.trial();
    let of_copy = decisions(&mut copy);
    assert!(of_copy.len() > 5);
    assert_eq!(of_copy, decisions(&mut cluster.engine));
    let view = |engine: &Stepped| format!("{:?}", StateView::of(engine.engine().ledger()));
    assert_eq!(view(&copy), view(&cluster.engine));
}

#[test]
fn a_trial_changes_nothing_of_the_engine() {
    let cluster = busy();
    let view = |engine: &Stepped| format!("{:?}", StateView::of(engine.engine().ledger()));
    let before = view(&cluster.engine);
    let _steps = cluster.steps(4);
    let _events = decisions(&mut cluster.engine.trial());
    assert_eq!(view(&cluster.engine), before);
}
