//! A resource manager of one's own around the engine: nodes, an application, decisions, the end.
//!
//! `cargo run --example embed`
#![expect(clippy::print_stdout, reason = "the example shows what happened")]

use std::collections::BTreeMap;
use std::error::Error;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, Event, Mode, NodeName, NodeReport, NodeSpec,
    ResourceVector, Threaded,
};
use capsched::config;

/// What `capacity-scheduler.xml` would say: `config::load` reads such files.
const QUEUES: [(&str, &str); 8] = [
    ("root.queues", "prod,dev"),
    ("root.prod.capacity", "70"),
    ("root.dev.capacity", "30"),
    ("root.dev.maximum-capacity", "60"),
    ("root.dev.user-limit-factor", "10"),
    ("maximum-am-resource-percent", "0.5"),
    ("multi-node-placement-enabled", "true"),
    ("skip-allocate-on-nodes-with-reserved-containers", "true"),
];

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let pairs = QUEUES.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types)?;
    let engine = Engine::builder(loaded.settings)
        .mode(Mode::Global { threads: 2 })
        .start()?;

    for i in 0..100 {
        let name = NodeName::new(&format!("n{i}"), 8041)?;
        engine.add_node(NodeSpec::new(name, ResourceVector::of(&[65_536, 32])))?;
    }
    let app = ApplicationId::new(1);
    let spec = AppSpec::new(app, "root.dev", "ann").with_master(ResourceVector::of(&[1024, 1]));
    engine.submit(spec)?;
    wait_for_master(&engine);
    let ask = Ask::anywhere(ResourceVector::of(&[4096, 1]), 250);
    engine.ask(app, AskCall::asking(vec![ask]))?;

    // No heartbeat is needed for decisions: the engine's threads do not wait for any.
    engine.quiesce();
    let mut placed = Vec::new();
    for decision in engine.take_events() {
        if let Event::Allocated { container, .. } = decision {
            placed.push(container);
        }
    }
    let got = engine.ask(app, AskCall::default())?;
    println!("{} placed, {} fetched", placed.len(), got.allocated.len());
    assert_eq!(placed.len(), 250, "there is room for all of them");

    // Nodes report what they launched; containers end; the application ends with the rest.
    engine.heartbeat(NodeName::new("n0", 8041)?, NodeReport::AsExpected)?;
    assert!(engine.container_finished(placed[0]), "it is live");
    engine.finish_app(app)?;
    println!("{:?}", engine.stop());
    Ok(())
}

/// Waits until the master of the only application runs, as a master registers once it does.
fn wait_for_master(engine: &Threaded) {
    let started = |event: &Event| matches!(event, Event::MasterStarted { .. });
    let mut seen = false;
    while !seen {
        engine.quiesce();
        seen = engine.take_events().iter().any(started);
    }
}
