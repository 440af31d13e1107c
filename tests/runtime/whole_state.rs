//! The whole state of a running engine is that of one moment, however busy the engine is.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "test code; threads play the outside"
)]

use std::sync::Arc;
use std::thread;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, Mode, ModeKind, NodeName, NodeReport, NodeSpec,
    OpportunisticSettings, Rebuild, ResourceVector, StateView, Stepped, TreeSettings,
};
use capsched::sync::{AtomicBool, Ordering};

use crate::trees;

const APPS: u32 = 40;
const NODES: u32 = 8;

fn settings() -> TreeSettings {
    let mut settings = trees::settings([
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "100"),
        ("per-node-heartbeat.maximum-container-assignments", "100"),
    ]);
    settings.scheduler.opportunistic = Some(OpportunisticSettings {
        queue_capacity: 3,
        ..OpportunisticSettings::default()
    });
    settings
}

fn app(number: u32) -> ApplicationId {
    ApplicationId::new(number + 1)
}

fn node(number: u32) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).unwrap()
}

fn submit(engine: &Engine, number: u32) {
    let queue = if number.is_multiple_of(2) {
        "root.a"
    } else {
        "root.b"
    };
    engine
        .submit(AppSpec::new(app(number), queue, "ann"))
        .unwrap();
}

fn engine(mode: Mode) -> Engine {
    let engine = Engine::builder(settings()).mode(mode).start().unwrap();
    for number in 0..NODES {
        let total = ResourceVector::of(&[64 * 1024, 64]);
        engine.add_node(NodeSpec::new(node(number), total)).unwrap();
    }
    for number in 0..APPS {
        submit(&engine, number);
    }
    engine
}

/// One round of asks, releases and ends.
fn churn(engine: &Engine, round: u32) {
    for number in 0..APPS {
        let count = i32::try_from((number + round) % 17).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), count);
        let reply = engine.ask(app(number), AskCall::asking(vec![ask])).unwrap();
        let release = reply.allocated.iter().step_by(2);
        let release = AskCall {
            release: release.map(|got| got.container.number).collect(),
            ..AskCall::default()
        };
        engine.ask(app(number), release).unwrap();
        engine
            .heartbeat(node(number % NODES), NodeReport::AsExpected)
            .unwrap();
    }
    let ends = round % APPS;
    engine.finish_app(app(ends)).unwrap();
    submit(engine, ends);
}

/// What applications have is what their containers are, what queues have is what their applications have, and what
/// nodes have is what the cluster has.
fn check(view: &StateView) {
    let mut all = 0;
    for app in &view.apps {
        let used = app.used.get("").map_or(0, |used| used[0]);
        let live = i64::try_from(app.live.len()).unwrap();
        assert_eq!(used, live * 1024, "{app:?}");
        // Queues count reservations among what they use.
        all += used + app.reserved.get("").map_or(0, |reserved| reserved[0]);
    }
    let root = &view.queues[0].labels[""];
    assert_eq!(root.used.as_ref().map_or(0, |used| used[0]), all);
    for node in &view.nodes {
        assert_eq!(
            node.allocated[0] + node.available[0],
            node.total[0],
            "{node:?}"
        );
    }
}

/// Looks at an engine in each mode while others are served, and once more at rest.
fn beside_others(look: fn(&Engine), at_rest: fn(&Engine)) {
    for mode in [
        Mode::Heartbeat,
        Mode::Asynchronous { threads: 1 },
        Mode::Global { threads: 2 },
    ] {
        let engine = Arc::new(engine(mode));
        let ended = Arc::new(AtomicBool::new(false));
        let busy = thread::spawn({
            let (engine, ended) = (Arc::clone(&engine), Arc::clone(&ended));
            move || {
                let mut rounds = 0;
                while !ended.load(Ordering::Relaxed) || rounds < 3 {
                    churn(&engine, rounds);
                    rounds += 1;
                }
            }
        });
        for _ in 0..60 {
            look(&engine);
        }
        ended.store(true, Ordering::Relaxed);
        busy.join().unwrap();
        engine.quiesce();
        at_rest(&engine);
    }
}

#[test]
fn it_is_of_one_moment_while_others_are_served() {
    beside_others(
        |engine| check(&engine.state().unwrap()),
        |engine| {
            let ledger = engine.inspect(StateView::of).unwrap();
            assert_eq!(engine.state().unwrap(), ledger);
            check(&ledger);
        },
    );
}

/// The state that a rebuild makes; nothing of it is refused.
fn made(rebuild: &Rebuild) -> StateView {
    let engine = Engine::builder(settings()).recovering();
    let mut engine = Stepped::new(engine.sequential().unwrap(), ModeKind::Heartbeat);
    assert_eq!(rebuild.make(&mut engine), Vec::<String>::new());
    StateView::of(engine.engine().ledger())
}

#[test]
fn a_rebuild_is_of_one_moment_while_others_are_served() {
    beside_others(
        |engine| check(&made(&engine.rebuild_source().unwrap().read())),
        |engine| {
            let source = engine.rebuild_source().unwrap();
            let (read, ledger) = (source.read(), engine.inspect(Rebuild::of).unwrap());
            assert_eq!(read.left_out(), ledger.left_out());
            assert_eq!(made(&read), made(&ledger));
            let live = engine.inspect(StateView::of).unwrap();
            let containers = |view: &StateView| -> Vec<usize> {
                view.apps.iter().map(|app| app.live.len()).collect()
            };
            assert_eq!(containers(&made(&read)), containers(&live));
        },
    );
}

#[test]
fn a_rebuild_leaves_out_nothing_of_an_application_that_ended() {
    let engine = engine(Mode::Heartbeat);
    let asks = vec![Ask::anywhere(ResourceVector::of(&[8 * 1024, 1]), 200)];
    engine.ask_opportunistic(app(0), asks).unwrap();
    let waits = |engine: &Engine| {
        let left_out = engine.rebuild_source().unwrap().read().left_out();
        let waits = |sentence: &String| sentence.contains("opportunistic containers have no node");
        left_out.into_iter().find(waits)
    };
    let before = waits(&engine).unwrap();
    assert!(before.starts_with("112 "), "{before}");
    // What runs takes space until its nodes report.
    engine.ask(app(0), AskCall::default()).unwrap();
    for number in 0..NODES {
        let report = NodeReport::AsExpected;
        engine.heartbeat(node(number), report).unwrap();
    }
    engine.finish_app(app(0)).unwrap();
    assert_eq!(waits(&engine), None);
}

#[test]
fn it_shows_what_was_answered_and_what_is_on_nodes() {
    let engine = engine(Mode::Heartbeat);
    let asks = vec![Ask::anywhere(ResourceVector::of(&[8 * 1024, 1]), 80)];
    engine.ask_opportunistic(app(0), asks).unwrap();
    let view = engine.state().unwrap();
    assert_eq!(view.apps[0].live.len(), 80);
    let queues = view
        .nodes
        .iter()
        .filter_map(|node| node.opportunistic.as_ref());
    let (started, queued) = queues.fold((0, 0), |(started, queued), of| {
        (started + of.started, queued + of.queued)
    });
    assert_eq!((started, queued), (64, 16));
    engine.remove_node(node(0)).unwrap();
    engine.finish_app(app(1)).unwrap();
    let view = engine.state().unwrap();
    assert_eq!(view, engine.inspect(StateView::of).unwrap());
    assert_eq!((view.nodes.len(), view.apps.len()), (7, 39));
}
