//! Calls about applications as a whole.

use std::hint::black_box;

use anyhow::{Result, ensure};
use capsched::api::{AppSpec, AskCall, EngineBuilder, Threaded};

use super::Scene;
use super::hold::Holds;
use super::site::{self, Sizes, app, asks, beat, node_for, submit};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        call: "submit, finish_app",
        size: |_| "one application".to_owned(),
        make: submit_and_finish,
    },
    Scene {
        call: "finish_app",
        size: |sizes| format!("{} containers", sizes.items),
        make: finish,
    },
    Scene {
        call: "finish_app: request ids",
        size: |sizes| format!("one that asks under {} ids", sizes.items),
        make: finish_asking,
    },
    Scene {
        call: "end_attempt: request ids",
        size: |sizes| format!("one that asks under {} ids", sizes.items),
        make: end_asking,
    },
    Scene {
        call: "kill_all_apps",
        size: |sizes| format!("{} applications, {} containers", sizes.apps, sizes.items),
        make: kill_all,
    },
    Scene {
        call: "move_all_apps",
        size: |sizes| format!("{} applications, {} containers", sizes.apps, sizes.items),
        make: move_all,
    },
    Scene {
        call: "move_app",
        size: |sizes| format!("one with {} containers", sizes.items),
        make: move_one,
    },
    Scene {
        call: "move_app: request ids",
        size: |sizes| format!("one that asks under {} ids", sizes.items),
        make: move_asking,
    },
    Scene {
        call: "change_priority",
        size: |sizes| format!("one of {} applications", sizes.apps),
        make: change_priority,
    },
    Scene {
        call: "recover_app",
        size: |sizes| format!("one with {} containers", sizes.items),
        make: recover,
    },
    Scene {
        call: "finish_recovery",
        size: |sizes| format!("{} containers nobody claims", sizes.items),
        make: finish_recovery,
    },
];

/// Nothing beside the fetches: what the machine makes of them.
pub(super) fn nothing(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let pause = std::time::Duration::from_millis(50);
            calls.make(|| std::thread::sleep(pause));
        }
        Ok(())
    })
}

/// Another caller that only fetches, one call after the other.
pub(super) fn fetch(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    submit(&engine, 0)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            calls.make(|| -> Result<()> {
                for _ in 0..1000 {
                    engine.ask(app(0), AskCall::default())?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// A caller that computes by itself, as one that prepares a refresh does: what the scheduler of the operating system
/// makes of fetches beside it.
pub(super) fn compute(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            // Some 100 ms, as long as a refresh of thousands of queues is prepared.
            let numbers = 0..i64::from(sizes.items) * 1000;
            calls.make(|| numbers.fold(0, |sum, number| black_box(sum ^ number)));
        }
        Ok(())
    })
}

fn submit_and_finish(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    let mut number = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            number += 1;
            calls.make(|| submit(&engine, number))?;
            calls.make(|| engine.finish_app(app(number)))?;
            if number.is_multiple_of(1000) {
                engine.take_events();
            }
        }
        Ok(())
    })
}

/// An engine whose applications have their containers, and one that is recovered with them.
fn filled(sizes: &Sizes, apps: u32) -> Result<Threaded> {
    let each = sizes.items / i32::try_from(sizes.nodes)? + 1;
    let engine = site::with_nodes(sizes, 0, each)?;
    refill(&engine, sizes, apps)?;
    Ok(engine)
}

/// Submits applications, which have all containers together.
fn refill(engine: &Threaded, sizes: &Sizes, apps: u32) -> Result<()> {
    let each = sizes.items / i32::try_from(apps)?;
    for number in 0..apps {
        submit(engine, number)?;
        engine.ask(app(number), asks(each))?;
    }
    // Those that had the room before are stopped by a report, and the next one uses it.
    for _ in 0..2 {
        beat(engine, sizes.nodes)?;
    }
    engine.quiesce();
    for number in 0..apps {
        site::fetched(engine, number, each)?;
    }
    engine.take_events();
    Ok(())
}

fn finish(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes, 1)?;
    holds.beside_fetches(&engine, |calls| {
        loop {
            calls.make(|| engine.finish_app(app(0)))?;
            if !calls.go_on() {
                return Ok(());
            }
            refill(&engine, sizes, 1)?;
        }
    })
}

fn finish_asking(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    holds.beside_fetches(&engine, |calls| {
        loop {
            submit(&engine, 0)?;
            engine.ask(app(0), site::asks_by_id(sizes, 1))?;
            calls.make(|| engine.finish_app(app(0)))?;
            if !calls.go_on() {
                return Ok(());
            }
        }
    })
}

fn end_asking(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    submit(&engine, 0)?;
    holds.beside_fetches(&engine, |calls| {
        loop {
            engine.ask(app(0), site::asks_by_id(sizes, 1))?;
            calls.make(|| engine.end_attempt(app(0)))?;
            engine.start_attempt(app(0))?;
            if !calls.go_on() {
                return Ok(());
            }
        }
    })
}

fn move_asking(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    submit(&engine, 0)?;
    engine.ask(app(0), site::asks_by_id(sizes, 1))?;
    move_to_and_fro(&engine, holds)
}

fn kill_all(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes, sizes.apps)?;
    holds.beside_fetches(&engine, |calls| {
        loop {
            let killed = calls.make(|| engine.kill_all_apps("root.a"))?;
            ensure!(
                killed.len() == usize::try_from(sizes.apps)?,
                "{}",
                killed.len()
            );
            if !calls.go_on() {
                return Ok(());
            }
            refill(&engine, sizes, sizes.apps)?;
        }
    })
}

fn move_all(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes, sizes.apps)?;
    // The one that fetches stands in the other queue, and moves with them on the way back.
    let (mut from, mut to) = ("root.a", "root.b");
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            let moved = calls.make(|| engine.move_all_apps(from, to))?;
            ensure!(moved.refused.is_empty(), "{:?}", moved.refused.first());
            (from, to) = (to, from);
        }
        Ok(())
    })
}

fn move_one(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = filled(sizes, 1)?;
    move_to_and_fro(&engine, holds)
}

/// Moves the first application between two queues.
fn move_to_and_fro(engine: &Threaded, holds: &mut Holds) -> Result<()> {
    let (mut from, mut to) = ("root.a", "root.b");
    holds.beside_fetches(engine, |calls| {
        while calls.go_on() {
            calls.make(|| engine.move_app(app(0), to.to_owned()))?;
            (from, to) = (to, from);
        }
        Ok(())
    })
}

fn change_priority(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    let engine = site::started(sizes, 0, |builder| builder)?;
    for number in 0..sizes.apps {
        submit(&engine, number)?;
    }
    let mut priority = 0;
    holds.beside_fetches(&engine, |calls| {
        while calls.go_on() {
            priority += 1;
            calls.make(|| engine.change_priority(app(0), priority % 7))?;
        }
        Ok(())
    })
}

/// An engine that recovers, with nodes that run containers of one application.
fn recovering(sizes: &Sizes) -> Result<Threaded> {
    let engine = site::started(sizes, 0, EngineBuilder::recovering)?;
    let on_a_node = sizes.on_a_node.unsigned_abs();
    for number in 0..sizes.items.unsigned_abs() / on_a_node {
        let first = number * on_a_node;
        let running = super::of_nodes::running(first..first + on_a_node);
        engine.register_node(node_for(number, sizes.on_a_node)?, running)?;
    }
    Ok(engine)
}

fn recover(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    loop {
        let engine = recovering(sizes)?;
        let more = holds.beside_fetches_once(&engine, || {
            let spec = AppSpec::new(app(0), "root.a", "ann");
            engine.recover_app(spec, 1, None)?;
            Ok(())
        })?;
        if !more {
            return Ok(());
        }
    }
}

fn finish_recovery(sizes: &Sizes, holds: &mut Holds) -> Result<()> {
    loop {
        let engine = recovering(sizes)?;
        let more = holds.beside_fetches_once(&engine, || {
            let unclaimed = engine.finish_recovery()?;
            ensure!(!unclaimed.is_empty(), "nothing was left");
            Ok(())
        })?;
        if !more {
            return Ok(());
        }
    }
}
