//! A queue that has less than its guarantee, where others exceed theirs only in a type that it does not ask for.
#![expect(
    clippy::unwrap_used,
    reason = "a scene that cannot be set up is a failed test"
)]

use std::collections::BTreeMap;

use capsched::api::{AppSpec, Ask, AskCall, NodeReport, NodeSpec, Rescheduler, Sequential, WhyNot};
use capsched::config;
use capsched::id::{ApplicationId, NodeName};
use capsched::resource::ResourceVector;

/// Guarantees in amounts: no queue has the same share of every type.
const QUEUES: [(&str, &str); 3] = [
    ("cores", "[memory=10240,vcores=50,gpu=12]"),
    ("gpus", "[memory=40960,vcores=40,gpu=8]"),
    ("large", "[memory=51200,vcores=10]"),
];

fn settings() -> config::Loaded {
    let key = |name: &str| format!("yarn.scheduler.capacity.{name}");
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let mut queues: BTreeMap<String, String> = BTreeMap::new();
    queues.insert(key("resource-calculator"), calculator.to_owned());
    let enable = key("schedule-asynchronously.enable");
    queues.insert(enable, "false".to_owned());
    queues.insert(key("root.queues"), QUEUES.map(|(name, _)| name).join(","));
    for (name, guarantee) in QUEUES {
        queues.insert(key(&format!("root.{name}.capacity")), guarantee.to_owned());
        let factor = key(&format!("root.{name}.user-limit-factor"));
        queues.insert(factor, "10".to_owned());
    }
    let site = [
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        ("yarn.scheduler.maximum-allocation-mb", "102400"),
        ("yarn.scheduler.maximum-allocation-vcores", "100"),
    ];
    let site = site.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let types = ["memory-mb", "vcores", "gpu"].map(str::to_owned);
    config::from_pairs(&site.into(), &queues, &types).unwrap()
}

/// One node of 100 GiB, 100 vcores and 20 GPUs, of which memory and vcores are used up. `cores` and `large` have less
/// than their dominant guarantees, and `gpus` has as many GPUs as it is given here.
fn why_large_waits(gpus: i64) -> WhyNot {
    let loaded = settings();
    let mut engine = Sequential::new(loaded.settings, &[]).unwrap();
    let policy = Rescheduler::new(loaded.preemption);
    let node: NodeName = "h:1".parse().unwrap();
    let total = ResourceVector::of(&[102_400, 100, 20]);
    engine
        .add_node(&NodeSpec::new(node.clone(), total))
        .unwrap();
    let held = [[50_176, 20, 0], [40_960, 40, gpus], [11_264, 40, 0]];
    for (at, (name, _)) in QUEUES.iter().enumerate() {
        let app = ApplicationId::new(u32::try_from(at).unwrap() + 1);
        let queue = format!("root.{name}");
        engine.submit(&AppSpec::new(app, &queue, "u")).unwrap();
        let ask = Ask::anywhere(ResourceVector::of(&held[at]), 1);
        engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
        engine.heartbeat(&node, &NodeReport::AsExpected).unwrap();
        let slot = engine.ledger().app(app).unwrap();
        assert_eq!(engine.ledger().live_containers(slot).count(), 1, "{name}");
    }
    let last = ApplicationId::new(3);
    let ask = Ask::anywhere(ResourceVector::of(&[40_960, 1, 0]), 1);
    engine.ask(last, &AskCall::asking(vec![ask])).unwrap();
    let verdicts = policy.explain(engine.ledger());
    let row = verdicts.iter().find(|row| row.app == last).unwrap();
    row.reason
}

/// Nobody exceeds its guarantee with 8 GPUs. With 9 one queue does, but what the others may get of memory and vcores
/// is used already, so that nothing comes down to the queue that waits.
#[test]
fn a_queue_below_its_guarantee_gets_nothing_where_others_exceed_theirs_in_another_type() {
    assert_eq!(why_large_waits(8), WhyNot::NobodyAboveShare);
    assert_eq!(why_large_waits(9), WhyNot::ParentAtShare);
}
