//! Calls of application masters.

use anyhow::{Result, ensure};
use capsched::api::{Ask, AskCall, GangAsk, Threaded};

use super::Scene;
use super::hold::Holds;
use super::site::{self, Sizes, app, beat, container, fetched, fill, submit};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        call: "ask: request ids",
        size: |sizes| format!("{} request ids, and none", sizes.items),
        make: request_ids,
    },
    Scene {
        call: "ask: fetched",
        size: |sizes| format!("{} containers", sizes.items),
        make: fetching,
    },
    Scene {
        call: "ask: release",
        size: |sizes| format!("{} containers", sizes.items),
        make: release,
    },
    Scene {
        call: "ask_all",
        size: |sizes| format!("{} calls", sizes.nodes),
        make: ask_all,
    },
    Scene {
        call: "ask_opportunistic",
        size: |sizes| format!("512 asks for {} containers", sizes.items),
        make: opportunistic,
    },
    Scene {
        call: "ask_gang",
        size: |sizes| format!("{} members", sizes.nodes),
        make: gang,
    },
    Scene {
        call: "container_finished",
        size: |_| "one container".to_owned(),
        make: finished,
    },
];

fn request_ids(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    // Where proposers run, they place what is asked meanwhile.
    let engine = site::with_nodes(sizes, sizes.leaves, 1_000)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            submit(&engine, 0)?;
            for count in [1, 0] {
                let call = site::asks_by_id(sizes, count);
                calls.make(|| engine.ask(app(0), call))?;
            }
            engine.finish_app(app(0))?;
            engine.take_events();
        }
        Ok(())
    })
}

/// An application whose containers are placed and not fetched yet.
fn placed(sizes: &Sizes) -> Result<Threaded> {
    let each = sizes.items / i32::try_from(sizes.nodes)? + 1;
    let engine = site::with_nodes(sizes, 0, each)?;
    submit(&engine, 0)?;
    fill(&engine, 0, sizes.nodes, sizes.items)?;
    Ok(engine)
}

/// Has all containers given back and placed again.
fn again(engine: &Threaded, sizes: &Sizes, numbers: Vec<u32>) -> Result<()> {
    let release = AskCall {
        release: numbers,
        ..AskCall::default()
    };
    engine.ask(app(0), release)?;
    beat(engine, sizes.nodes)?;
    engine.take_events();
    fill(engine, 0, sizes.nodes, sizes.items)
}

fn fetching(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = placed(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        loop {
            let numbers = calls.make(|| fetched(&engine, 0, sizes.items))?;
            if !calls.go_on() {
                return Ok(());
            }
            again(&engine, sizes, numbers)?;
        }
    })
}

fn release(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = placed(sizes)?;
    holds.beside_fetches(&engine, |calls| {
        loop {
            let release = AskCall {
                release: fetched(&engine, 0, sizes.items)?,
                ..AskCall::default()
            };
            let reply = calls.make(|| engine.ask(app(0), release))?;
            ensure!(
                reply.unknown.is_empty(),
                "{} were unknown",
                reply.unknown.len()
            );
            if !calls.go_on() {
                return Ok(());
            }
            again(&engine, sizes, Vec::new())?;
        }
    })
}

fn ask_all(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    submit(&engine, 0)?;
    let mut count = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            count = 1 - count;
            let batch = (0..sizes.nodes).map(|_| (app(0), site::asks(count)));
            let batch = batch.collect();
            let replies = calls.make(|| engine.ask_all(batch));
            for reply in replies {
                reply?;
            }
        }
        Ok(())
    })
}

fn opportunistic(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let each = sizes.items / i32::try_from(sizes.nodes)? + 1;
    let engine = site::with_nodes(sizes, 0, each)?;
    let mut number = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            submit(&engine, number)?;
            let with_id = |request_id| Ask {
                request_id,
                ..Ask::anywhere(container(), sizes.items / 512)
            };
            let asks = (0..512).map(with_id).collect();
            calls.make(|| engine.ask_opportunistic(app(number), asks))?;
            engine.finish_app(app(number))?;
            beat(&engine, sizes.nodes)?;
            engine.take_events();
            number += 1;
        }
        Ok(())
    })
}

fn gang(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::with_nodes(sizes, 0, 1)?;
    let mut number = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            submit(&engine, number)?;
            let gang = GangAsk::of(sizes.nodes, container(), 60_000);
            calls.make(|| engine.ask_gang(app(number), gang))?;
            engine.finish_app(app(number))?;
            beat(&engine, sizes.nodes)?;
            engine.take_events();
            number += 1;
        }
        Ok(())
    })
}

fn finished(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = placed(sizes)?;
    let mut numbers = fetched(&engine, 0, sizes.items)?;
    holds.beside_fetches(&engine, |calls| {
        while let Some(number) = numbers.pop().filter(|_| calls.go_on()) {
            let container = capsched::api::ContainerId::new(app(0), number);
            let live = calls.make(|| engine.container_finished(container));
            ensure!(live, "{container} was not live");
        }
        Ok(())
    })
}
