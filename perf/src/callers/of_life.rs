//! Calls about the life of attempts, containers and nodes.

use anyhow::{Result, ensure};
use capsched::api::{
    AppSpec, AskCall, ContainerId, NodeReport, NodeSpec, ResourceVector, Restarts, Threaded,
};

use super::Scene;
use super::hold::Holds;
use super::site::{self, Sizes, app, asks, beat, container, fetched, fill, node, node_for, submit};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        call: "end_attempt, start_attempt",
        size: |sizes| format!("{} containers", sizes.items),
        make: attempts,
    },
    Scene {
        call: "container_exited",
        size: |_| "one container".to_owned(),
        make: |sizes, holds| {
            of_each(
                sizes,
                holds,
                |engine, id| Ok(engine.container_exited(id, 1)),
            )
        },
    },
    Scene {
        call: "kill_container",
        size: |_| "one container".to_owned(),
        make: |sizes, holds| of_each(sizes, holds, |engine, id| Ok(engine.kill_container(id)?)),
    },
    Scene {
        call: "container_resized",
        size: |_| "one container".to_owned(),
        make: |sizes, holds| {
            of_each(sizes, holds, |engine, id| {
                Ok(engine.container_resized(id, container())?)
            })
        },
    },
    Scene {
        call: "resize_node, reconnect_node",
        size: |sizes| format!("beside {} nodes, {} leaves", sizes.nodes, sizes.leaves),
        make: resize,
    },
    Scene {
        call: "decommission_node, recommission_node",
        size: |sizes| format!("beside {} nodes, {} leaves", sizes.nodes, sizes.leaves),
        make: decommission,
    },
    Scene {
        call: "schedule_node",
        size: |sizes| format!("room for {} containers", sizes.on_a_node),
        make: schedule,
    },
];

/// An application with all containers, of which another attempt starts again and again.
fn attempts(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let each = sizes.items / i32::try_from(sizes.nodes)? + 1;
    let engine = site::with_nodes(sizes, 0, each)?;
    let spec = AppSpec::new(app(0), "root.a", "ann").restarting(Restarts::WithoutContainers);
    engine.submit(spec)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            fill(&engine, 0, sizes.nodes, sizes.items)?;
            fetched(&engine, 0, sizes.items)?;
            calls.make(|| engine.end_attempt(app(0)))?;
            calls.make(|| engine.start_attempt(app(0)))?;
            // Those that had the room are stopped by a report.
            beat(&engine, sizes.nodes)?;
            engine.take_events();
        }
        Ok(())
    })
}

/// Calls about one container after the other, of an application that has fetched all of them.
fn of_each(
    sizes: &Sizes,
    holds: &mut Holds,
    call: fn(&Threaded, ContainerId) -> Result<bool>,
) -> Result<()> {
    let each = sizes.items / i32::try_from(sizes.nodes)? + 1;
    let engine = site::with_nodes(sizes, 0, each)?;
    submit(&engine, 0)?;
    fill(&engine, 0, sizes.nodes, sizes.items)?;
    let mut numbers = fetched(&engine, 0, sizes.items)?;
    holds.beside_fetches(&engine, |calls| {
        while let Some(number) = numbers.pop().filter(|_| calls.go_on()) {
            let id = ContainerId::new(app(0), number);
            let live = calls.make(|| call(&engine, id))?;
            ensure!(live, "{id} was not live");
        }
        Ok(())
    })
}

fn resize(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, sizes.leaves, 16)?;
    let mut number = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            number += 1;
            let total = ResourceVector::of(&[16_384 + number % 7, 16]);
            let name = node(0)?;
            calls.make(|| engine.resize_node(name, total))?;
            let spec = NodeSpec {
                rack: "/rack-0".to_owned(),
                ..NodeSpec::new(node(0)?, ResourceVector::of(&[16_391, 16]))
            };
            calls.make(|| engine.reconnect_node(spec))?;
        }
        Ok(())
    })
}

fn decommission(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, sizes.leaves, 16)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let name = node(0)?;
            calls.make(|| engine.decommission_node(name))?;
            // The next report of the node takes its total, which it is given back.
            engine.heartbeat(node(0)?, NodeReport::AsExpected)?;
            let name = node(0)?;
            calls.make(|| engine.recommission_node(name))?;
        }
        Ok(())
    })
}

/// One container after the other is placed on a large node.
fn schedule(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    engine.add_node(node_for(0, sizes.on_a_node)?)?;
    submit(&engine, 0)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            engine.ask(app(0), asks(sizes.on_a_node))?;
            for _ in 0..sizes.on_a_node {
                let name = node(0)?;
                let made = calls.make(|| engine.schedule_node(name))?;
                ensure!(made.is_some(), "nothing was tried");
            }
            let release = AskCall {
                release: fetched(&engine, 0, sizes.on_a_node)?,
                ..AskCall::default()
            };
            engine.ask(app(0), release)?;
            engine.heartbeat(node(0)?, NodeReport::AsExpected)?;
            engine.take_events();
        }
        Ok(())
    })
}
