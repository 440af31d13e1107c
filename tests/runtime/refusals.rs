//! What the commit refuses is tried again when the state changes, which may let it hold; on the same state it
//! is let be. What is always refused here is a reservation on shared capacity.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::EngineEnd;
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, CommitOutcome, Conflict, Mode, NodeReport, NodeSpec,
    PartitionSpec, Pipeline, Threaded, TreeSettings,
};
use capsched::resource::ResourceVector;
use capsched::time::{ManualClock, SystemClock};

use crate::trees::settings;

const REFUSED: CommitOutcome = CommitOutcome::Rejected(Conflict::OverQueueLimit);

/// Two leaves, each with half of the default partition and of `gpu`.
fn halves() -> TreeSettings {
    settings([
        ("root.queues", "a,b"),
        ("maximum-am-resource-percent", "1"),
        ("multi-node-placement-enabled", "true"),
        ("root.accessible-node-labels", "*"),
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
        ("root.a.accessible-node-labels.gpu.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.b.user-limit-factor", "10"),
        ("root.b.accessible-node-labels.gpu.capacity", "50"),
    ])
}

fn gpu() -> [PartitionSpec; 1] {
    let name = "gpu".to_owned();
    let exclusive = false;
    [PartitionSpec { name, exclusive }]
}

fn node(name: &str, partition: &str) -> NodeSpec {
    let size = ResourceVector::of(&[8192, 8]);
    NodeSpec {
        partition: partition.to_owned(),
        ..NodeSpec::new(name.parse().unwrap(), size)
    }
}

/// Applications that ask for one container each: the first gets it, the second reserves for it.
fn asking() -> [(AppSpec, AskCall); 2] {
    [(1, "root.a", 3072), (2, "root.b", 8192)].map(|(number, leaf, mib)| {
        let app = AppSpec::new(ApplicationId::new(number), leaf, "ann");
        let ask = Ask::anywhere(ResourceVector::of(&[mib, 1]), 1);
        (app, AskCall::asking(vec![ask]))
    })
}

/// Two refusals in a row do not keep committer and proposer awake for ever.
#[test]
fn the_engine_comes_to_rest() {
    for mode in [
        Mode::Global { threads: 1 },
        Mode::Global { threads: 3 },
        Mode::Asynchronous { threads: 2 },
    ] {
        let engine = Threaded::start(halves(), &gpu(), mode, SystemClock::new()).unwrap();
        engine.add_node(node("n:1", "gpu")).unwrap();
        for (app, call) in asking() {
            let id = app.id;
            engine.submit(app).unwrap();
            engine.ask(id, call).unwrap();
        }
        engine.quiesce();
        let before = engine.outcomes().get(REFUSED);
        assert!(before > 0, "{mode:?}: nothing was refused");
        engine.quiesce();
        assert_eq!(engine.outcomes().get(REFUSED), before, "{mode:?}");
        assert_eq!(engine.stop(), EngineEnd::Stopped);
    }
}

/// Behind a slow committer with short queues some batch is always on its way, and no snapshot ever shows
/// that all have landed.
#[test]
fn a_proposer_comes_to_rest_though_something_is_always_in_flight() {
    for mode in [
        Mode::Global { threads: 1 },
        Mode::Asynchronous { threads: 1 },
    ] {
        let mut pipeline = Pipeline::new(halves(), &gpu(), mode, 8, ManualClock::at(0)).unwrap();
        let only = node("n:1", "gpu");
        pipeline.call(|engine| engine.add_node(&only)).unwrap();
        for (app, call) in asking() {
            pipeline.call(|engine| engine.submit(&app)).unwrap();
            pipeline.call(|engine| engine.ask(app.id, &call)).unwrap();
        }
        show(&mut pipeline);
        let turns = (0..100).take_while(|&turn| {
            let proposed = pipeline.turn(0).proposed;
            assert_eq!(pipeline.hand_over(0), usize::from(proposed));
            // The one before; the last one stays where it is.
            if turn > 0 {
                pipeline.commit(0).unwrap();
            }
            show(&mut pipeline);
            proposed
        });
        let turns = turns.count();
        let refused = pipeline.accounts().outcomes.get(REFUSED);
        assert!(refused > 0 && turns < 100, "{mode:?}: {refused} in {turns}");
        assert!(!pipeline.turn(0).proposed, "{mode:?}: on the same state");
        let other = node("other:1", "");
        pipeline.call(|engine| engine.add_node(&other)).unwrap();
        show(&mut pipeline);
        assert!(pipeline.turn(0).proposed, "{mode:?}: on another state");
    }
}

/// No copy follows a reservation that is fulfilled: until the view is refreshed it is fulfilled again, and
/// refused. Such rounds, on a view older than the state, say nothing of what else the state has room for.
#[test]
fn rounds_on_an_old_view_do_not_hold_back_what_the_state_has_room_for() {
    let mode = Mode::Asynchronous { threads: 1 };
    let mut pipeline = Pipeline::new(halves(), &gpu(), mode, 8, ManualClock::at(0)).unwrap();
    for name in ["n0:1", "n1:1"] {
        let node = node(name, "");
        pipeline.call(|engine| engine.add_node(&node)).unwrap();
    }
    // The third finds room in the cluster for one more, but on no node; the second one it does not want.
    for (number, mib, count) in [(0, 6144, 1), (1, 6144, 1), (2, 4096, 2)] {
        let app = AppSpec::new(ApplicationId::new(number), "root.a", "ann");
        let ask = Ask::anywhere(ResourceVector::of(&[mib, 1]), count);
        let mut call = AskCall::asking(vec![ask]);
        if number == 2 {
            call.blacklist_add.push("n1".to_owned());
        }
        pipeline.call(|engine| engine.submit(&app)).unwrap();
        pipeline.call(|engine| engine.ask(app.id, &call)).unwrap();
        show(&mut pipeline);
        for _ in 0..3 {
            let _ = pipeline.turn(0);
            pipeline.hand_over(0);
            while pipeline.commit(0).is_some() {}
            show(&mut pipeline);
        }
    }
    let reserved = |pipeline: &Pipeline| {
        let snapshot = pipeline.snapshot();
        snapshot
            .nodes
            .iter()
            .position(|node| node.reserved.is_some())
    };
    let on = reserved(&pipeline).expect("one waits on a node");
    let there = ApplicationId::new(u32::try_from(on).unwrap());
    pipeline.call(|engine| engine.finish_app(there)).unwrap();
    let name = format!("n{on}:1").parse().unwrap();
    let report = NodeReport::AsExpected;
    let reported = pipeline.call(|engine| engine.node_reported(&name, &report));
    reported.unwrap();
    show(&mut pipeline);
    let placed = |pipeline: &Pipeline| pipeline.accounts().outcomes.get(CommitOutcome::Committed);
    let before = placed(&pipeline);
    // It is fulfilled; the view is not due to follow that, and fulfils it again and again.
    assert!(pipeline.turn(0).proposed);
    pipeline.hand_over(0);
    pipeline.commit(0).unwrap();
    pipeline.publish();
    assert!(!pipeline.catch_up(0, false), "the view is not due");
    assert_eq!(reserved(&pipeline), None, "{on} {:?}", pipeline.accounts());
    for _ in 0..3 {
        assert!(pipeline.turn(0).proposed);
        pipeline.hand_over(0);
    }
    pipeline.commit(0).unwrap();
    pipeline.publish();
    assert!(pipeline.catch_up(0, false), "one was refused");
    assert!(
        pipeline.turn(0).proposed,
        "there is room for the second one"
    );
    pipeline.hand_over(0);
    while pipeline.commit(0).is_some() {}
    assert_eq!(placed(&pipeline) - before, 2);
}

/// Publishes, and lets the proposer follow.
fn show(pipeline: &mut Pipeline) {
    pipeline.publish();
    pipeline.sort_nodes();
    pipeline.catch_up(0, true);
}
