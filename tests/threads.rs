//! The threaded modes end to end: everything that fits is placed, limits hold, nothing hangs.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Decision, Mode, NodeSpec, Threaded, TreeSettings,
};
use capsched::config;
use capsched::resource::ResourceVector;
use capsched::time::SystemClock;

fn settings() -> TreeSettings {
    let p = "yarn.scheduler.capacity.";
    let pairs: BTreeMap<String, String> = [
        ("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("maximum-am-resource-percent", "1"),
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy", "default"),
        ("multi-node-sorting.policy.names", "default"),
        (
            "multi-node-sorting.policy.default.class",
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy",
        ),
    ]
    .into_iter()
    .map(|(key, value)| (format!("{p}{key}"), value.to_owned()))
    .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

fn run(mode: Mode) -> (usize, ResourceVector) {
    let engine = Threaded::start(settings(), &[], mode, SystemClock::new()).unwrap();
    for i in 0..20 {
        let name = format!("n{i}:1").parse().unwrap();
        engine
            .add_node(NodeSpec::new(name, ResourceVector::of(&[16_384, 16])))
            .unwrap();
    }
    for i in 0..8 {
        let id = ApplicationId::new(i + 1);
        let spec = AppSpec {
            id,
            user: format!("u{}", i % 3),
            queue: if i % 2 == 0 { "root.a" } else { "root.b" }.to_owned(),
            priority: None,
            master: None,
            master_partition: None,
            partition: None,
            tags: Vec::new(),
        };
        engine.submit(spec).unwrap();
        let asks = vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 30)];
        let call = AskCall {
            asks,
            ..AskCall::default()
        };
        engine.ask(id, call).unwrap();
    }
    for _ in 0..40 {
        for i in 0..20 {
            let node = format!("n{i}:1").parse().unwrap();
            engine
                .heartbeat(node, capsched::api::NodeReport::AsExpected)
                .unwrap();
        }
    }
    engine.quiesce();
    let events = engine.take_events();
    let allocated = |event: &&Decision| matches!(event, Decision::Allocated { .. });
    let placed = events.iter().filter(allocated).count();
    let snapshot = engine.snapshot();
    let used = snapshot.queues.iter().next().unwrap().parts[0].used;
    assert_eq!(engine.stop(), capsched::sync::Ended::Stopped);
    (placed, used)
}

#[test]
fn every_mode_places_everything_that_fits() {
    let all = ResourceVector::of(&[1024 * 240, 240]);
    for mode in [
        Mode::Heartbeat,
        Mode::Asynchronous { threads: 1 },
        Mode::Asynchronous { threads: 3 },
        Mode::Global { threads: 1 },
        Mode::Global { threads: 2 },
    ] {
        let (placed, used) = run(mode);
        assert_eq!((placed, used), (240, all), "{mode:?}");
    }
}
