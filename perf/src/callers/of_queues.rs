//! Calls about queues, and looks at the state.

use anyhow::{Result, ensure};
use capsched::api::{Engine, NodeReport, PartitionSpec, Rebuild, StateView, Threaded};

use super::Scene;
use super::hold::Holds;
use super::site::{self, Sizes, app, asks, fill, node, submit};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        call: "reconfigure",
        size: |sizes| format!("{} leaves, {} applications", sizes.leaves, sizes.apps),
        make: reconfigure,
    },
    Scene {
        call: "reconfigure_with_labels",
        size: |sizes| format!("{} leaves, a label more or less", sizes.leaves),
        make: with_labels,
    },
    Scene {
        call: "drain_queue",
        size: |sizes| format!("root of {} leaves", sizes.leaves),
        make: drain,
    },
    Scene {
        call: "state",
        size: |sizes| {
            let Sizes {
                nodes,
                items,
                leaves,
                ..
            } = sizes;
            format!("{nodes} nodes, {items} containers, {leaves} leaves")
        },
        make: state,
    },
    Scene {
        call: "inspect",
        size: |_| "the same in one piece".to_owned(),
        make: in_one_piece,
    },
    Scene {
        call: "rebuild_source",
        size: |_| "the same, to be saved".to_owned(),
        make: rebuild_source,
    },
    Scene {
        call: "inspect Rebuild::of",
        size: |_| "the same in one piece".to_owned(),
        make: rebuild,
    },
    Scene {
        call: "snapshot",
        size: |sizes| format!("{} nodes were written", sizes.nodes),
        make: snapshot,
    },
    Scene {
        call: "apps_behind",
        size: |sizes| format!("1,024 of {} applications", sizes.apps),
        make: pages_of_apps,
    },
    Scene {
        call: "nodes_behind",
        size: |sizes| format!("1,024 of {} nodes", sizes.nodes),
        make: pages_of_nodes,
    },
    Scene {
        call: "explain",
        size: |sizes| format!("one application on {} nodes", sizes.nodes),
        make: explain,
    },
    Scene {
        call: "app, node, queue, event_counts",
        size: |_| "one row each".to_owned(),
        make: rows,
    },
];

/// An engine with a large tree, all nodes and applications that have all containers.
fn filled(sizes: &Sizes) -> Result<Threaded> {
    let each = sizes.items / i32::try_from(sizes.nodes)? + 1;
    let engine = site::with_nodes(sizes, sizes.leaves, each)?;
    let of_each = sizes.items / i32::try_from(sizes.apps)?;
    for number in 0..sizes.apps {
        submit(&engine, number)?;
        engine.ask(app(number), asks(of_each))?;
    }
    site::beat(&engine, sizes.nodes)?;
    engine.quiesce();
    engine.take_events();
    Ok(engine)
}

fn reconfigure(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    let settings = site::settings(sizes.leaves)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let settings = settings.clone();
            calls.make(|| engine.reconfigure(settings))?;
        }
        Ok(())
    })
}

fn with_labels(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    let settings = site::settings(sizes.leaves)?;
    let label = |name: &str| PartitionSpec {
        name: name.to_owned(),
        exclusive: true,
    };
    let mut more = false;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            more = !more;
            let mut labels = vec![label("gpu")];
            labels.extend(more.then(|| label("new")));
            let settings = settings.clone();
            calls.make(|| engine.reconfigure_with_labels(settings, labels))?;
        }
        Ok(())
    })
}

fn drain(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            calls.make(|| engine.drain_queue("root"))?;
        }
        Ok(())
    })
}

fn state(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    let nodes = usize::try_from(sizes.nodes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let state = calls.make(|| engine.state())?;
            ensure!(state.nodes.len() == nodes, "{} nodes", state.nodes.len());
        }
        Ok(())
    })
}

/// What `state` would be if nobody was served in between.
fn in_one_piece(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let state = calls.make(|| engine.inspect(StateView::of))?;
            ensure!(!state.nodes.is_empty(), "no nodes");
        }
        Ok(())
    })
}

fn rebuild_source(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let source = calls.make(|| engine.rebuild_source())?;
            ensure!(source.read().left_out().len() > 1, "nothing is left out");
        }
        Ok(())
    })
}

/// What `rebuild_source` would be if the rebuild were read meanwhile.
fn rebuild(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let rebuild = calls.make(|| engine.inspect(Rebuild::of))?;
            ensure!(!rebuild.left_out().is_empty(), "nothing is left out");
        }
        Ok(())
    })
}

fn snapshot(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, 0, 4)?;
    submit(&engine, 0)?;
    let each = i32::try_from(sizes.nodes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            fill(&engine, 0, sizes.nodes, each)?;
            let release = capsched::api::AskCall {
                release: site::fetched(&engine, 0, each)?,
                ..Default::default()
            };
            engine.ask(app(0), release)?;
            let shown = calls.make(|| engine.snapshot());
            drop(shown);
            site::beat(&engine, sizes.nodes)?;
            engine.take_events();
        }
        Ok(())
    })
}

fn pages_of_apps(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let page = calls.make(|| engine.apps_behind(None, usize::MAX))?;
            ensure!(!page.is_empty(), "an empty page");
        }
        Ok(())
    })
}

fn pages_of_nodes(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let page = calls.make(|| engine.nodes_behind(None, usize::MAX))?;
            ensure!(!page.is_empty(), "an empty page");
        }
        Ok(())
    })
}

fn explain(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, 0, 1)?;
    submit(&engine, 0)?;
    let wanted = i32::try_from(sizes.nodes)? + 10;
    engine.ask(app(0), asks(wanted))?;
    site::beat(&engine, sizes.nodes)?;
    engine.quiesce();
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let why = calls.make(|| Engine::explain(&engine, app(0)));
            ensure!(why.is_some(), "nothing waits");
        }
        Ok(())
    })
}

fn rows(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes)?;
    let name = node(0)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            calls.make(|| engine.app(app(0)))?;
            calls.make(|| engine.node(&name))?;
            calls.make(|| engine.queue("root.a"))?;
            calls.make(|| engine.event_counts())?;
            engine.heartbeat(name.clone(), NodeReport::AsExpected)?;
        }
        Ok(())
    })
}
