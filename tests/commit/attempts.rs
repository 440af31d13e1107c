//! Applications that start again: their containers have ids of their own, and late reports about earlier
//! attempts do nothing.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppEnd, AppSpec, ApplicationId, ContainerId, Decision, Engine, Event, ModeKind, NodeName,
    NodeReport, NodeSpec, ResourceVector, Scheduler, Sequential, StateView, Stepped, TreeSettings,
};
use capsched::config;

const APP: ApplicationId = ApplicationId::new(1);

const CALCULATOR: &str = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";

fn settings(more: &[(&str, &str)]) -> TreeSettings {
    let pairs = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("maximum-am-resource-percent", "1"),
        ("resource-calculator", CALCULATOR),
    ];
    let pairs = pairs.iter().chain(more);
    let pairs: BTreeMap<String, String> = pairs
        .map(|(key, value)| {
            let key = format!("yarn.scheduler.capacity.{key}");
            (key, (*value).to_owned())
        })
        .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.unwrap().settings
}

fn node() -> NodeName {
    NodeName::new("n0", 1).unwrap()
}

fn engine(more: &[(&str, &str)]) -> Sequential {
    let mut engine = Engine::builder(settings(more)).sequential().unwrap();
    let size = ResourceVector::of(&[8192, 8]);
    engine.add_node(&NodeSpec::new(node(), size)).unwrap();
    engine
}

/// Starts the application, whose master gets its container; which one that is.
fn start(engine: &mut Sequential) -> ContainerId {
    let spec = AppSpec::new(APP, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
    engine.submit(&spec).unwrap();
    engine.heartbeat(&node(), &NodeReport::AsExpected).unwrap();
    let events = engine.take_events().into_iter();
    let mut started = events.filter_map(|event| match event {
        Decision::MasterStarted { container, .. } => container,
        _ => None,
    });
    started.next().unwrap()
}

#[test]
fn late_reports_about_an_earlier_attempt_do_nothing() {
    let mut engine = engine(&[]);
    let first = start(&mut engine);
    assert_eq!(first, ContainerId::new(APP, 1));
    assert_eq!(first.to_string(), "container_1_0001_01_000001");
    engine.finish_app(APP).unwrap();
    let second = start(&mut engine);
    assert_eq!(second.to_string(), "container_1_0001_02_000001");
    engine.take_events();

    let before = StateView::of(engine.ledger());
    assert!(!engine.container_finished(first));
    assert_eq!(engine.ledger().live_container(first), None);
    let late = NodeReport::Exactly {
        launched: vec![first],
        exited: vec![first],
    };
    let reply = engine.heartbeat(&node(), &late).unwrap();
    assert_eq!(reply.launched, []);
    assert_eq!(before, StateView::of(engine.ledger()));
    assert_eq!(engine.take_events(), []);
    assert!(engine.container_finished(second));
    let lost = |event: &Decision| matches!(event, Decision::MasterLost { app } if *app == APP);
    assert!(engine.take_events().iter().any(lost));
}

#[test]
fn a_lifetime_that_is_over_sends_an_event_behind_those_of_the_containers() {
    let mut engine = engine(&[("root.a.maximum-application-lifetime", "60")]);
    let master = start(&mut engine);
    assert_eq!(engine.advance_to(60_000), 1);
    let events = engine.take_events();
    let [Decision::Ended { container, .. }, ended] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(*container, master);
    let cause = AppEnd::Lifetime;
    assert_eq!(*ended, Decision::AppEnded { app: APP, cause });
}

/// The scheduler trait passes on what ends applications.
#[test]
fn schedulers_pass_on_ends_of_applications() {
    let lifetime = [("root.a.maximum-application-lifetime", "60")];
    let mut events = Vec::new();
    for lost in [true, false] {
        let engine = Engine::builder(settings(&lifetime)).sequential().unwrap();
        let mut engine = Stepped::new(engine, ModeKind::Heartbeat);
        let size = ResourceVector::of(&[8192, 8]);
        engine.add_node(NodeSpec::new(node(), size)).unwrap();
        let spec = AppSpec::new(APP, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
        engine.submit(spec).unwrap();
        engine.heartbeat(&node(), NodeReport::AsExpected).unwrap();
        events.clear();
        if lost {
            engine.remove_node(&node()).unwrap();
        } else {
            engine.advance(60_000);
        }
        engine.events(&mut events);
        let cause = AppEnd::Lifetime;
        let last = if lost {
            Event::MasterLost { app: APP }
        } else {
            Event::AppEnded { app: APP, cause }
        };
        assert_eq!(events.last(), Some(&last));
    }
}

/// A refresh never changes the resource types: it is refused as a whole.
#[test]
fn a_refresh_with_other_resource_types_is_refused_whole() {
    let mut engine = engine(&[]);
    let pairs = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("maximum-am-resource-percent", "0.5"),
        ("resource-calculator", CALCULATOR),
    ];
    let pairs = pairs.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let types = ["memory-mb", "vcores", "gpu"].map(str::to_owned);
    let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types);
    let before = StateView::of(engine.ledger());
    let error = engine.reconfigure(loaded.unwrap().settings).unwrap_err();
    assert_eq!(error.code(), "resource_types");
    assert!(
        error.to_string().contains("memory-mb, vcores, gpu"),
        "{error}"
    );
    assert_eq!(before, StateView::of(engine.ledger()));
    assert_eq!(engine.ledger().state().settings.resource_types.len(), 2);
}
