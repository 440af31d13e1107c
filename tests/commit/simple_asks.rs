//! Simple asks are decided at once only where nothing but the room of a node decides about them.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Mode, NodeName, NodeSpec, PartitionSpec, Pipeline,
    ResourceVector, Sequential, StateView, TreeSettings,
};
use capsched::fast_path::{AllFast, FastPath, with_slow};
use capsched::time::ManualClock;

use crate::passes::pass;

const APP: ApplicationId = ApplicationId::new(1);
const OTHER: ApplicationId = ApplicationId::new(2);

/// A user of `root.a` is at the limit on `x` after one container; `root.b` may fill the nodes without a label.
fn settings() -> TreeSettings {
    crate::trees::settings([
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "0.25"),
        ("root.b.user-limit-factor", "10"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", "100"),
        ("maximum-am-resource-percent", "1"),
    ])
}

fn node(n: u8, partition: &str) -> NodeSpec {
    let name = NodeName::new(&format!("h{n}"), 1).unwrap();
    NodeSpec {
        partition: partition.to_owned(),
        ..NodeSpec::new(name, ResourceVector::of(&[8192, 8]))
    }
}

fn ask(priority: i32, memory: i64, count: i32, partition: Option<&str>) -> Ask {
    Ask {
        priority,
        partition: partition.map(str::to_owned),
        ..Ask::anywhere(ResourceVector::of(&[memory, 1]), count)
    }
}

/// An application asks, and passes follow.
fn asks(pipeline: &mut Pipeline, app: ApplicationId, ask: Ask) {
    let call = AskCall::asking(vec![ask]);
    pipeline.call(|engine| engine.ask(app, &call)).unwrap();
    for _ in 0..10 {
        pass(pipeline);
    }
}

/// Containers and reservations by node.
fn on_nodes(pipeline: &mut Pipeline) -> Vec<(u32, bool)> {
    let view = |engine: &mut Sequential| StateView::of(engine.ledger());
    let nodes = pipeline.call(view).nodes;
    nodes
        .iter()
        .map(|node| (node.containers, node.reserved.is_some()))
        .collect()
}

// As LeafQueue.canAssignToUser, which subtracts what is reserved on the default partition on every partition
// (YARN-2695): the user passes, but the container needs a reservation to be given up, and none is on the label.
#[test]
fn a_user_who_passes_by_a_reservation_without_a_label_gets_no_container_on_the_label() {
    let play = || {
        let partition = PartitionSpec {
            name: "x".to_owned(),
            exclusive: true,
        };
        let (mode, clock) = (Mode::Global { threads: 1 }, ManualClock::at(1_000_000));
        let mut pipeline = Pipeline::new(settings(), &[partition], mode, 64, clock).unwrap();
        for node in [node(0, ""), node(1, ""), node(2, "x")] {
            pipeline.call(|engine| engine.add_node(&node)).unwrap();
        }
        for spec in [
            AppSpec::new(APP, "root.a", "ann"),
            AppSpec::new(OTHER, "root.b", "vic"),
        ] {
            pipeline.call(|engine| engine.submit(&spec)).unwrap();
        }
        asks(&mut pipeline, OTHER, ask(1, 6144, 2, None));
        asks(&mut pipeline, APP, ask(1, 4096, 1, Some("x")));
        asks(&mut pipeline, APP, ask(2, 4096, 1, None));
        let before = on_nodes(&mut pipeline);
        asks(&mut pipeline, APP, ask(3, 1024, 2, Some("x")));
        (before, on_nodes(&mut pipeline))
    };
    let _fast = AllFast::begin();
    let slow = with_slow(&[FastPath::SimpleAsk], play);
    let reserved = slow.0.iter().filter(|(_, reserved)| *reserved).count();
    assert_eq!((reserved, slow.0[2].0), (1, 1), "{slow:?}");
    assert_eq!(slow.0, slow.1);
    assert_eq!(play(), slow);
}
