//! Copies for trials decide as the engine does, and change nothing of it.

use capsched::api::{
    AppSpec, Ask, Event, ModeKind, NodeSpec, Reason, Scheduler as _, StateView, Stepped, next_steps,
};

use crate::cluster::{Cluster, app, cluster, gib, node};

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

/// A full node of a partition, and an application that waits there: the same steps are seen to help in every mode.
#[test]
fn steps_are_tried_in_the_mode_of_the_engine() {
    let conf = [
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels", "gpu"),
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
    ];
    let mut cluster = cluster(&conf, &["n0"]);
    let labelled = NodeSpec {
        partition: "gpu".to_owned(),
        ..NodeSpec::new(node("g0"), gib(8))
    };
    cluster.engine.add_node(labelled).unwrap();
    let asks = |size, count| Ask {
        partition: Some("gpu".to_owned()),
        ..Ask::anywhere(gib(size), count)
    };
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    cluster.ask(1, vec![asks(3, 2)]);
    cluster.beat(3);
    cluster.submit(AppSpec::new(app(2), "root.a", "bob"));
    cluster.ask(2, vec![asks(4, 90)]);
    let modes = [
        ModeKind::Heartbeat,
        ModeKind::Asynchronous,
        ModeKind::Global,
    ];
    for mode in modes {
        let copy = Stepped::trial_of(cluster.engine.engine().ledger(), mode);
        let why = copy.explain(app(2)).unwrap();
        let found = why.dominant().unwrap();
        assert_eq!(found.reason, Reason::NoNodeFitsNow, "{mode:?}");
        let steps = next_steps(&copy, &why, &cluster.loaded);
        let steps: Vec<&str> = steps.iter().map(|step| step.what.as_str()).collect();
        let wanted = [
            "ask for smaller containers",
            "add a node like g0 with label gpu",
        ];
        assert_eq!(steps, wanted, "{mode:?}");
    }
}
