//! Rounds of preemption by the clock: on a thread of a started engine, and step by step.
#![expect(
    clippy::unwrap_used,
    reason = "a scene that cannot be set up is a failed test"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use capsched::api::{
    AppSpec, Ask, AskCall, Engine, Mode, ModeKind, NodeReport, NodeSpec, PreemptionSettings,
    Scheduler, Stepped, Threaded,
};
use capsched::config;
use capsched::id::{ApplicationId, ContainerId, NodeName};
use capsched::resource::ResourceVector;
use capsched::time::ManualClock;

const MONITOR: &str = "yarn.resourcemanager.monitor.capacity.preemption.";
const ENABLE: &str = "yarn.resourcemanager.scheduler.monitor.enable";

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs.map(|&(k, v)| (k.to_owned(), v.to_owned())).collect()
}

/// Rounds each second, two seconds from asking back to killing, everything at once.
fn site(more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut site = pairs(&[(ENABLE, "true")]);
    for (name, value) in [
        ("monitoring_interval", "1000"),
        ("max_wait_before_kill", "2000"),
        ("natural_termination_factor", "1.0"),
        ("total_preemption_per_round", "1.0"),
    ] {
        site.insert(format!("{MONITOR}{name}"), value.to_owned());
    }
    site.extend(pairs(more));
    site
}

fn load(more: &[(&str, &str)]) -> config::Loaded {
    let scheduler = pairs(&[
        (
            "yarn.scheduler.capacity.schedule-asynchronously.enable",
            "false",
        ),
        ("yarn.scheduler.capacity.root.queues", "a,b"),
        ("yarn.scheduler.capacity.root.a.capacity", "50"),
        ("yarn.scheduler.capacity.root.a.user-limit-factor", "10"),
        ("yarn.scheduler.capacity.root.b.capacity", "50"),
        ("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0"),
        (
            "yarn.scheduler.capacity.per-node-heartbeat.multiple-assignments-enabled",
            "true",
        ),
        (
            "yarn.scheduler.capacity.per-node-heartbeat.maximum-container-assignments",
            "-1",
        ),
        (
            "yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments",
            "100",
        ),
    ]);
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&site(more), &scheduler, &types).unwrap()
}

fn preemption(more: &[(&str, &str)]) -> PreemptionSettings {
    load(more).preemption
}

fn node() -> NodeName {
    "h1:1".parse().unwrap()
}

fn marked() -> Vec<ContainerId> {
    let container = |number| ContainerId::new(ApplicationId::new(1), number);
    [17, 18, 19, 20].map(container).to_vec()
}

fn asks(count: i32) -> AskCall {
    let ask = Ask {
        priority: 1,
        request_id: 0,
        place: "*".to_owned(),
        size: ResourceVector::of(&[1024, 1]),
        count,
        relax_locality: true,
        partition: None,
    };
    AskCall {
        asks: vec![ask],
        ..AskCall::default()
    }
}

/// Application 1 in `a` holds all twenty places, application 2 in `b` wants four.
fn fill(engine: &mut dyn Scheduler) {
    let size = ResourceVector::of(&[20 * 1024, 20]);
    engine.add_node(NodeSpec::new(node(), size)).unwrap();
    for (app, queue, count) in [(1, "root.a", 20), (2, "root.b", 4)] {
        let id = ApplicationId::new(app);
        let spec = AppSpec::new(id, queue, "u");
        engine.submit(spec).unwrap();
        engine.ask(id, asks(count)).unwrap();
        engine.heartbeat(&node(), NodeReport::AsExpected).unwrap();
        engine.schedule();
    }
}

fn started(settings: PreemptionSettings, clock: &ManualClock) -> Threaded {
    Engine::builder(load(&[]).settings)
        .mode(Mode::Asynchronous { threads: 2 })
        .clock(clock.clone())
        .preemption(settings)
        .start()
        .unwrap()
        .into_threaded()
}

fn live(engine: &Threaded, app: u32) -> usize {
    let look = move |ledger: &capsched::commit::Ledger| {
        let slot = ledger.app(ApplicationId::new(app)).unwrap();
        ledger.live_containers(slot).count()
    };
    engine.inspect(look).unwrap()
}

#[test]
fn a_started_engine_asks_back_and_kills_as_its_clock_moves() {
    let clock = ManualClock::at(5_000);
    let mut engine = started(preemption(&[]), &clock);
    let _first = engine.preempt_if_due();
    fill(&mut engine);
    assert_eq!(engine.preempt_if_due(), None);
    clock.advance(Duration::from_millis(999));
    assert_eq!(engine.preempt_if_due(), None);
    clock.advance(Duration::from_millis(1));
    let asked = engine.preempt_now().unwrap();
    assert_eq!(asked.kills, [], "the wait is not over");
    clock.advance(Duration::from_millis(2000));
    let _last = engine.preempt_if_due();
    engine.quiesce();
    assert_eq!((live(&engine, 1), live(&engine, 2)), (16, 4));
}

#[test]
fn rounds_that_were_missed_are_left_out() {
    let clock = ManualClock::at(0);
    let engine = started(preemption(&[]), &clock);
    let _first = engine.preempt_if_due();
    assert_eq!(engine.monitor_rounds(), 1);
    clock.advance(Duration::from_millis(10_500));
    let _one = engine.preempt_if_due();
    assert_eq!(engine.preempt_if_due(), None);
    assert_eq!(engine.monitor_rounds(), 2);
    clock.advance(Duration::from_millis(499));
    assert_eq!(engine.preempt_if_due(), None, "the rate is fixed");
    clock.advance(Duration::from_millis(1));
    let _next = engine.preempt_if_due();
    assert_eq!(engine.monitor_rounds(), 3);
}

#[test]
fn settings_may_change_while_the_engine_runs() {
    let clock = ManualClock::at(0);
    let mut engine = started(PreemptionSettings::default(), &clock);
    fill(&mut engine);
    clock.advance(Duration::from_secs(60));
    assert_eq!(engine.preempt_if_due(), None, "the monitor is off");
    let observe = format!("{MONITOR}observe_only");
    assert!(engine.configure_preemption(preemption(&[(&observe, "true")])));
    let _due_at_once = engine.preempt_if_due();
    assert_eq!(engine.preempt_now().unwrap().marks, []);
    assert!(engine.configure_preemption(preemption(&[])));
    assert_eq!(engine.preempt_now().unwrap().marks, marked());
    let interval = format!("{MONITOR}monitoring_interval");
    assert!(engine.configure_preemption(preemption(&[(&interval, "50")])));
    let before = engine.monitor_rounds();
    clock.advance(Duration::from_millis(50));
    let _next = engine.preempt_if_due();
    assert_eq!(engine.monitor_rounds(), before + 1);
    engine.request_stop();
    assert_eq!(engine.preempt_now(), None);
}

fn stepped(settings: PreemptionSettings) -> Stepped {
    let engine = Engine::builder(load(&[]).settings).sequential().unwrap();
    Stepped::new(engine, ModeKind::Heartbeat).with_preemption(settings)
}

#[test]
fn a_stepped_engine_runs_each_round_at_its_time() {
    let mut engine = stepped(preemption(&[]));
    engine.advance(0);
    fill(&mut engine);
    let mut events = Vec::new();
    engine.advance(2_999);
    engine.events(&mut events);
    let released = |events: &[capsched::api::Event]| {
        let released = |event: &&_| matches!(event, capsched::api::Event::Ended { .. });
        events.iter().filter(released).count()
    };
    assert_eq!(released(&events), 0, "asked back at 1000, killed at 3000");
    events.clear();
    engine.advance(3_000);
    engine.events(&mut events);
    assert_eq!(released(&events), 4);
}

#[test]
fn a_jump_to_the_end_of_time_comes_to_an_end() {
    let mut engine = stepped(preemption(&[]));
    engine.advance(u64::MAX);
    assert_eq!(engine.engine().ledger().now_ms(), u64::MAX);
}

#[test]
fn an_explicit_round_does_not_wait_for_the_clock() {
    let mut engine = stepped(preemption(&[]));
    fill(&mut engine);
    assert_eq!(engine.preempt().marks, marked());
    assert_eq!(engine.preempt(), Default::default());
}
