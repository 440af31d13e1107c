//! Calls about nodes and labels.

use std::ops::Range;

use anyhow::{Result, anyhow, ensure};
use capsched::api::{
    AttributeMapping, ContainerId, NodeReport, NodeSpec, PartitionSpec, ResourceVector,
    RunningContainer, Threaded,
};

use super::Scene;
use super::hold::Holds;
use super::site::{self, Sizes, app, container, fill, node, node_for, submit};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        call: "add_node, remove_node",
        size: |sizes| format!("beside {} nodes, {} leaves", sizes.nodes, sizes.leaves),
        make: add_and_remove,
    },
    Scene {
        call: "update_node",
        size: |sizes| format!("beside {} nodes, {} leaves", sizes.nodes, sizes.leaves),
        make: update,
    },
    Scene {
        call: "relabel_node",
        size: |sizes| format!("beside {} nodes, {} leaves", sizes.nodes, sizes.leaves),
        make: relabel,
    },
    Scene {
        call: "remove_node",
        size: |sizes| format!("one with {} containers", sizes.on_a_node),
        make: remove_full,
    },
    Scene {
        call: "register_node",
        size: |sizes| format!("one with {} containers", sizes.on_a_node),
        make: register,
    },
    Scene {
        call: "heartbeat",
        size: |sizes| format!("{} containers, each named", sizes.on_a_node),
        make: exact,
    },
    Scene {
        call: "heartbeat_all",
        size: |sizes| format!("{} nodes", sizes.nodes),
        make: all,
    },
    Scene {
        call: "map_attributes",
        size: |_| "1,000 attributes of one node".to_owned(),
        make: attributes,
    },
    Scene {
        call: "add_label",
        size: |sizes| format!("beside {} leaves", sizes.leaves),
        make: add_label,
    },
    Scene {
        call: "remove_label",
        size: |sizes| format!("of {} nodes, {} leaves", sizes.nodes, sizes.leaves),
        make: remove_label,
    },
];

/// Containers of application 0 by their numbers, as a node reports them.
pub(super) fn running(numbers: Range<u32>) -> Vec<RunningContainer> {
    let one = |number| RunningContainer::new(ContainerId::new(app(0), number + 1), container());
    numbers.map(one).collect()
}

fn add_and_remove(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, sizes.leaves, 16)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let spec = node_for(sizes.nodes, 16)?;
            let name = spec.name.clone();
            calls.make(|| engine.add_node(spec))?;
            calls.make(|| engine.remove_node(name))?;
        }
        Ok(())
    })
}

fn update(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, sizes.leaves, 16)?;
    let mut number = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            number += 1;
            let total = ResourceVector::of(&[16_384 + number % 7, 16]);
            let spec = NodeSpec::new(node(0)?, total);
            calls.make(|| engine.update_node(spec))?;
        }
        Ok(())
    })
}

fn relabel(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, sizes.leaves, 16)?;
    let mut label = "";
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            label = if label.is_empty() { "gpu" } else { "" };
            let name = node(0)?;
            calls.make(|| engine.relabel_node(name, label.to_owned()))?;
        }
        Ok(())
    })
}

/// An engine with one more node, on which an application has as many containers as it takes.
fn fill_one(engine: &Threaded, sizes: &Sizes, number: u32) -> Result<()> {
    engine.add_node(node_for(number, sizes.on_a_node)?)?;
    engine.ask(app(0), site::asks(sizes.on_a_node))?;
    engine.heartbeat(node(number)?, NodeReport::AsExpected)?;
    engine.quiesce();
    site::fetched(engine, 0, sizes.on_a_node)?;
    engine.take_events();
    Ok(())
}

fn remove_full(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, sizes.leaves, |builder| builder)?;
    submit(&engine, 0)?;
    let mut number = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            fill_one(&engine, sizes, number)?;
            let name = node(number)?;
            calls.make(|| engine.remove_node(name))?;
            number += 1;
        }
        Ok(())
    })
}

/// As many nodes as all containers need; then another engine, since nobody claims what was reported.
fn register(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let on_a_node = sizes.on_a_node.unsigned_abs();
    let nodes = sizes.items.unsigned_abs() / on_a_node;
    loop {
        let engine = site::started(sizes, 0, capsched::api::EngineBuilder::recovering)?;
        holds.beside_fetches(&engine, |calls| {
            for number in 0..nodes {
                let first = number * on_a_node;
                let running = running(first..first + on_a_node);
                let spec = node_for(number, sizes.on_a_node)?;
                calls.make(|| engine.register_node(spec, running))?;
            }
            Ok(())
        })?;
        if !holds.has_time() {
            return Ok(());
        }
    }
}

fn exact(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    submit(&engine, 0)?;
    let mut number = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            fill_one(&engine, sizes, number)?;
            let name = node(number)?;
            let on_node = engine.inspect({
                let name = name.clone();
                move |ledger| {
                    let slot = ledger.node(&name)?;
                    let ids = ledger.containers_of_node(slot).map(|one| one.id);
                    Some(ids.collect::<Vec<_>>())
                }
            })?;
            let report = NodeReport::Exactly {
                launched: on_node.ok_or_else(|| anyhow!("no such node"))?,
                exited: Vec::new(),
            };
            let reply = calls.make(|| engine.heartbeat(name.clone(), report))?;
            ensure!(!reply.launched.is_empty(), "nothing was launched");
            engine.remove_node(name)?;
            number += 1;
        }
        Ok(())
    })
}

fn all(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let each = sizes.items / i32::try_from(sizes.nodes)?;
    let engine = site::with_nodes(sizes, sizes.leaves, each)?;
    submit(&engine, 0)?;
    fill(&engine, 0, sizes.nodes, sizes.items)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let reports =
                (0..sizes.nodes).map(|number| Ok((node(number)?, NodeReport::AsExpected)));
            let reports = reports.collect::<Result<_>>()?;
            for reply in calls.make(|| engine.heartbeat_all(reports)) {
                reply?;
            }
        }
        Ok(())
    })
}

fn attributes(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, 0, 1)?;
    let mut number = 0;
    let replace = AttributeMapping::Replace {
        prefix: String::new(),
    };
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            number += 1;
            let all = (0..1000).map(|i| (format!("own.io/a{i}"), format!("v{number}")));
            let (name, all) = (node(0)?, all.collect());
            calls.make(|| engine.map_attributes(name, replace.clone(), all))?;
        }
        Ok(())
    })
}

fn new_label() -> PartitionSpec {
    PartitionSpec {
        name: "new".to_owned(),
        exclusive: true,
    }
}

fn add_label(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, sizes.leaves, 1)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let label = new_label();
            calls.make(|| engine.add_label(label))?;
            engine.remove_label("new")?;
        }
        Ok(())
    })
}

fn remove_label(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, sizes.leaves, 1)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            engine.add_label(new_label())?;
            for number in 0..sizes.nodes {
                engine.relabel_node(node(number)?, "new".to_owned())?;
            }
            calls.make(|| engine.remove_label("new"))?;
        }
        Ok(())
    })
}
