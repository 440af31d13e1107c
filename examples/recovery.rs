//! A resource manager that starts again while containers run: nodes and applications come back in any order.
//!
//! `cargo run --example recovery`
#![expect(clippy::print_stdout, reason = "the example shows what happened")]

use std::error::Error;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Engine, EngineEnd, Mode, NodeName,
    NodeReport, NodeSpec, ResourceVector, RunningContainer, example,
};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let node = NodeSpec::new("n0:8041".parse()?, ResourceVector::of(&[16_384, 16]));
    let app = AppSpec::new(ApplicationId::new(1), "root.a", "ann");
    let mut reported = first_life(&node, &app)?;

    // The process is gone. What the nodes run and what was accepted is all that is left.
    let engine = Engine::builder(example::settings())
        .mode(Mode::Heartbeat)
        .recovering()
        .start()?;
    // This node has a container of an application that nobody remembers.
    let stranger = ContainerId::new(ApplicationId::new(7), 1);
    reported.push(RunningContainer::new(
        stranger,
        ResourceVector::of(&[1024, 1]),
    ));
    let found = engine.register_node(node.clone(), reported)?;
    assert_eq!(found.waiting.len(), 4, "no application is recovered yet");
    let found = engine.recover_app(app.clone(), 1, None)?;
    println!("{} containers were taken over", found.taken.len());
    assert_eq!(found.taken.len(), 3);
    let to_stop = engine.finish_recovery()?;
    println!("the node has to stop {}", to_stop[0]);
    assert_eq!(to_stop, [stranger]);

    // The application asks again for what it lacks; numbers of containers go on.
    let next = fetch(&engine, &node.name, app.id, 1)?;
    println!("the next container is {}", next[0].id);
    assert_eq!(next[0].id.number, 4);
    assert_eq!(
        engine.node(&node.name)?.map(|view| view.containers),
        Some(4)
    );
    assert_eq!(engine.stop(), EngineEnd::Stopped);
    Ok(())
}

/// What a node runs when the first process ends.
fn first_life(node: &NodeSpec, app: &AppSpec) -> Result<Vec<RunningContainer>, Box<dyn Error>> {
    let engine = Engine::builder(example::settings()).start()?;
    engine.add_node(node.clone())?;
    engine.submit(app.clone())?;
    fetch(&engine, &node.name, app.id, 3)
}

/// Asks for containers of 1 GiB, which the node launches.
fn fetch(
    engine: &Engine,
    node: &NodeName,
    app: ApplicationId,
    count: i32,
) -> Result<Vec<RunningContainer>, Box<dyn Error>> {
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), count);
    engine.ask(app, AskCall::asking(vec![ask]))?;
    let mut running = Vec::new();
    while running.len() < usize::try_from(count)? {
        engine.heartbeat(node.clone(), NodeReport::AsExpected)?;
        let reply = engine.ask(app, AskCall::default())?;
        let granted = reply.allocated.into_iter();
        running.extend(granted.map(|one| RunningContainer::new(one.container, one.size)));
    }
    engine.heartbeat(node.clone(), NodeReport::AsExpected)?;
    Ok(running)
}
