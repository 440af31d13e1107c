//! Members of a whole gang are no candidates of preemption; elastic members and broken gangs are.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Engine, GangAsk, ModeKind, NodeReport,
    NodeSpec, ResourceVector, Scheduler, Stepped,
};
use capsched::config;

const GREEDY: ApplicationId = ApplicationId::new(1);

fn engine() -> Stepped {
    let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let monitor = "yarn.resourcemanager.monitor.capacity.preemption.";
    let mut site: BTreeMap<_, _> = [("yarn.resourcemanager.scheduler.monitor.enable", "true")]
        .map(own)
        .into();
    for key in ["natural_termination_factor", "total_preemption_per_round"] {
        site.insert(format!("{monitor}{key}"), "1.0".to_owned());
    }
    let queues = [
        (
            "yarn.scheduler.capacity.schedule-asynchronously.enable",
            "false",
        ),
        ("yarn.scheduler.capacity.root.queues", "a,b"),
        ("yarn.scheduler.capacity.root.a.capacity", "20"),
        ("yarn.scheduler.capacity.root.a.user-limit-factor", "10"),
        ("yarn.scheduler.capacity.root.b.capacity", "80"),
    ];
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&site, &queues.map(own).into(), &types).unwrap();
    let engine = Engine::builder(loaded.settings).sequential().unwrap();
    let mut engine = Stepped::new(engine, ModeKind::Heartbeat).with_preemption(loaded.preemption);
    let total = ResourceVector::of(&[20 * 1024, 20]);
    engine
        .add_node(NodeSpec::new("n:1".parse().unwrap(), total))
        .unwrap();
    engine
        .submit(AppSpec::new(GREEDY, "root.a", "ann"))
        .unwrap();
    engine
}

/// A gang of 12 with 8 elastic members fills the cluster; then another queue wants its share.
fn contended() -> Stepped {
    let mut engine = engine();
    let size = ResourceVector::of(&[1024, 1]);
    let gang = GangAsk {
        elastic: 8,
        ..GangAsk::of(12, size, 1000)
    };
    engine.ask_gang(GREEDY, gang).unwrap();
    for _ in 0..8 {
        engine
            .heartbeat(&"n:1".parse().unwrap(), NodeReport::AsExpected)
            .unwrap();
    }
    let poor = ApplicationId::new(2);
    engine.submit(AppSpec::new(poor, "root.b", "bob")).unwrap();
    let call = AskCall::asking(vec![Ask::anywhere(size, 16)]);
    engine.ask(poor, call).unwrap();
    engine
}

fn numbers(containers: &[ContainerId]) -> Vec<u32> {
    let mut numbers: Vec<_> = containers.iter().map(|id| id.number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn only_elastic_members_are_asked_back_while_the_gang_is_whole() {
    let mut engine = contended();
    let marks = engine.preempt().marks;
    assert_eq!(
        numbers(&marks),
        (13..=20).collect::<Vec<_>>(),
        "the members are 1 to 12"
    );
}

#[test]
fn a_gang_that_lost_a_member_is_preempted_like_others() {
    let mut engine = contended();
    engine
        .container_finished(ContainerId::new(GREEDY, 5))
        .unwrap();
    let marks = engine.preempt().marks;
    assert!(marks.len() > 8, "{marks:?}");
}
