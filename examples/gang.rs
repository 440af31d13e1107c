//! A training run that needs all of its workers at once: a gang waits for room, holds nodes, and is placed whole.
//!
//! `cargo run --example gang`
#![expect(clippy::print_stdout, reason = "the example shows what happened")]

use std::error::Error;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Closeness, ContainerId, Engine, EngineEnd, Event,
    GangAsk, GangStep, Mode, NodeName, NodeReport, NodeSpec, ResourceVector, example,
};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::builder(example::settings())
        .mode(Mode::Heartbeat)
        .start()?;
    let nodes: Vec<NodeName> = (0..4)
        .map(|i| format!("n{i}:8041").parse())
        .collect::<Result<_, _>>()?;
    for (i, node) in nodes.iter().enumerate() {
        engine.add_node(NodeSpec {
            rack: format!("/rack-{}", i / 2),
            ..NodeSpec::new(node.clone(), ResourceVector::of(&[4096, 4]))
        })?;
    }

    // Small containers of somebody else fill the cluster.
    let others = ApplicationId::new(1);
    engine.submit(AppSpec::new(others, "root.a", "ann"))?;
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 100);
    engine.ask(others, AskCall::asking(vec![ask]))?;
    for _ in 0..4 {
        beat(&engine, &nodes)?;
    }
    let running = engine.ask(others, AskCall::default())?.allocated;
    println!("{} small containers run", running.len());
    assert_eq!(running.len(), 16);

    // Three workers on one rack within a minute, or none.
    let training = ApplicationId::new(2);
    engine.submit(AppSpec::new(training, "root.a", "bob"))?;
    let workers = GangAsk {
        close: Closeness::Rack,
        ..GangAsk::of(3, ResourceVector::of(&[2048, 2]), 60_000)
    };
    engine.ask_gang(training, workers)?;

    // Small containers end one by one. Others want each place, but two nodes are held for the gang.
    let mut ended = 0;
    let mut workers = Vec::new();
    for small in running {
        assert!(engine.container_finished(small.container));
        ended += 1;
        beat(&engine, &nodes)?;
        workers = engine.ask(training, AskCall::default())?.allocated;
        if !workers.is_empty() {
            break;
        }
    }
    println!(
        "after {ended} of them ended, {} workers run at once",
        workers.len()
    );
    assert_eq!(workers.len(), 3);
    let of = |container: &ContainerId| container.app == training;
    engine.quiesce();
    for event in engine.take_events() {
        match event {
            Event::Gang(gang) => match gang.step {
                GangStep::Holds { nodes, .. } => println!("{nodes} nodes were held for the gang"),
                GangStep::Placed { waited_ms } => println!("it waited {waited_ms} ms"),
                other => println!("{other:?}"),
            },
            Event::Allocated {
                container, node, ..
            } if of(&container) => {
                println!("{container} is on {node}");
            }
            _ => {}
        }
    }
    assert_eq!(engine.stop(), EngineEnd::Stopped);
    Ok(())
}

/// Every node reports once and is scheduled.
fn beat(engine: &Engine, nodes: &[NodeName]) -> Result<(), Box<dyn Error>> {
    for node in nodes {
        engine.heartbeat(node.clone(), NodeReport::AsExpected)?;
    }
    Ok(())
}
