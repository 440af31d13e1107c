//! Applications that ask at many places or hold many reservations.

use anyhow::{Result, ensure};
use capsched::api::{Ask, AskCall, NodeReport, ResourceVector, Threaded};

use super::Scene;
use super::hold::Holds;
use super::site::{self, Sizes, app, beat, container, submit};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        call: "ask: places",
        size: |sizes| format!("{} places of one key, and none", sizes.items),
        make: places,
    },
    Scene {
        call: "ask: places not to use",
        size: |sizes| format!("{} names, and none", sizes.items),
        make: blacklist,
    },
    Scene {
        call: "finish_app: places",
        size: |sizes| format!("one that asks at {} places", sizes.items),
        make: finish_at_places,
    },
];

/// Those of the mode in which a visit of each node reserves it.
pub(super) const OF_HEARTBEATS: &[Scene] = &[
    Scene {
        call: "finish_app: reservations",
        size: |sizes| format!("one with {} reservations", reservations(sizes)),
        make: finish_reserved,
    },
    Scene {
        call: "move_app: reservations",
        size: |sizes| format!("one with {} reservations", reservations(sizes)),
        make: move_reserved,
    },
    Scene {
        call: "heartbeat: reservations",
        size: |sizes| format!("a key with {} reservations", reservations(sizes)),
        make: beat_reserved,
    },
];

/// As many containers at each of the most places that one call may have.
fn at_places(sizes: &Sizes, count: i32) -> Result<AskCall> {
    let items = usize::try_from(sizes.items)?;
    let on = |place: String| Ask {
        place,
        ..Ask::anywhere(container(), count)
    };
    let racks = (0..sizes.nodes.div_ceil(40)).map(|number| format!("/rack-{number}"));
    // More hosts than there are: names without a node are legal.
    let hosts = (0..sizes.items).map(|number| format!("n{number}"));
    let others = racks.chain(hosts).take(items.saturating_sub(1));
    let all = others.chain(["*".to_owned()]);
    Ok(AskCall::asking(all.map(on).collect()))
}

fn places(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, 0, 1)?;
    submit(&engine, 0)?;
    let mut count = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            count = 1 - count;
            let call = at_places(sizes, count)?;
            calls.make(|| engine.ask(app(0), call))?;
        }
        Ok(())
    })
}

fn blacklist(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, 0, 1)?;
    submit(&engine, 0)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let names: Vec<_> = (0..sizes.items)
                .map(|number| format!("n{number}"))
                .collect();
            let added = AskCall {
                blacklist_add: names.clone(),
                ..AskCall::default()
            };
            calls.make(|| engine.ask(app(0), added))?;
            let removed = AskCall {
                blacklist_remove: names,
                ..AskCall::default()
            };
            calls.make(|| engine.ask(app(0), removed))?;
        }
        Ok(())
    })
}

fn finish_at_places(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            submit(&engine, 0)?;
            engine.ask(app(0), at_places(sizes, 1)?)?;
            calls.make(|| engine.finish_app(app(0)))?;
            engine.take_events();
        }
        Ok(())
    })
}

/// Memory of a node, GiB, and of the only container that it has. Another one of that size would fit on no node.
const NODE: u32 = 16;
const HALF: u32 = 9;

/// Nodes that have less room than the container that each is reserved for.
fn reserve(engine: &Threaded, sizes: &Sizes) -> Result<()> {
    submit(engine, 0)?;
    let wanted = Ask::anywhere(of_gib(NODE), i32::try_from(sizes.nodes)?);
    engine.ask(app(0), AskCall::asking(vec![wanted]))?;
    beat(engine, sizes.nodes)?;
    engine.quiesce();
    let reserved = engine.inspect(|ledger| {
        let nodes = ledger.state().nodes.iter();
        nodes.filter(|node| node.reserved.is_some()).count()
    })?;
    let wanted = reservations(sizes);
    ensure!(
        reserved + 1 >= wanted,
        "{reserved} of {wanted} nodes are reserved"
    );
    engine.take_events();
    Ok(())
}

fn of_gib(gib: u32) -> ResourceVector {
    ResourceVector::of(&[i64::from(gib) * 1024, 1])
}

/// Reservations count as use, so that they end with the room of the cluster.
fn reservations(sizes: &Sizes) -> usize {
    sizes.nodes as usize * (NODE - HALF) as usize / NODE as usize
}

fn half_full(sizes: &Sizes) -> Result<Threaded> {
    let engine = site::with_nodes(sizes, 0, i32::try_from(NODE)?)?;
    submit(&engine, 1)?;
    let ask = Ask::anywhere(of_gib(HALF), i32::try_from(sizes.nodes)?);
    engine.ask(app(1), AskCall::asking(vec![ask]))?;
    beat(&engine, sizes.nodes)?;
    engine.quiesce();
    engine.take_events();
    Ok(engine)
}

fn finish_reserved(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = half_full(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            reserve(&engine, sizes)?;
            calls.make(|| engine.finish_app(app(0)))?;
            engine.take_events();
        }
        Ok(())
    })
}

fn move_reserved(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = half_full(sizes)?;
    reserve(&engine, sizes)?;
    let mut queues = ["root.b", "root.a"].into_iter().cycle();
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let queue = queues.next().unwrap_or("root.a").to_owned();
            calls.make(|| engine.move_app(app(0), queue))?;
            engine.take_events();
        }
        Ok(())
    })
}

fn beat_reserved(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = half_full(sizes)?;
    reserve(&engine, sizes)?;
    let mut number = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            number = (number + 1) % sizes.nodes;
            let node = site::node(number)?;
            calls.make(|| engine.heartbeat(node, NodeReport::AsExpected))?;
        }
        Ok(())
    })
}
