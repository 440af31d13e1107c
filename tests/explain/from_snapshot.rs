//! Application 2 waits: AM_LIMIT_QUEUE. Written by `capsched snapshot to-test`.

use std::collections::BTreeMap;

use capsched::api::*;
use capsched::config;

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn application_2_waits_for_am_limit_queue() {
    let site = pairs(&[]);
    let scheduler = pairs(&[
        ("yarn.scheduler.capacity.maximum-am-resource-percent", "0.1"),
        ("yarn.scheduler.capacity.root.dev.capacity", "50"),
        ("yarn.scheduler.capacity.root.dev.maximum-capacity", "60"),
        ("yarn.scheduler.capacity.root.dev.user-limit-factor", "10"),
        ("yarn.scheduler.capacity.root.prod.capacity", "50"),
        ("yarn.scheduler.capacity.root.queues", "prod,dev"),
        (
            "yarn.scheduler.capacity.schedule-asynchronously.enable",
            "false",
        ),
    ]);
    let options = config::Options {
        resource_types: Some(vec!["memory-mb".to_owned(), "vcores".to_owned()]),
        reference: "3.5".parse().unwrap(),
        ..config::Options::default()
    };
    let loaded = config::load_pairs(&site, &scheduler, &options).unwrap();
    let builder = Engine::builder(loaded.settings);
    let mut engine = Stepped::new(builder.sequential().unwrap(), ModeKind::Heartbeat);
    let _ = engine.add_node(NodeSpec {
        rack: "/rack0".to_owned(),
        partition: "".to_owned(),
        attributes: vec![],
        ..NodeSpec::new("node0:0".parse().unwrap(), ResourceVector::of(&[10240, 10]))
    });
    let _ = engine.submit(AppSpec {
        placement_parent: None,
        priority: None,
        master: Some(ResourceVector::of(&[2048, 1])),
        master_partition: None,
        partition: None,
        tags: vec![],
        ..AppSpec::new(ApplicationId::new(1), "root.dev", "ann")
    });
    let _ = engine.submit(AppSpec {
        placement_parent: None,
        priority: None,
        master: Some(ResourceVector::of(&[2048, 1])),
        master_partition: None,
        partition: None,
        tags: vec![],
        ..AppSpec::new(ApplicationId::new(2), "root.dev", "ann")
    });
    let mut events = Vec::new();
    engine.events(&mut events);
    let why = engine.explain(ApplicationId::new(2)).unwrap();
    assert_eq!(why.dominant().unwrap().reason.token(), "AM_LIMIT_QUEUE");
    assert_eq!(why.containers(), 1);
    assert_eq!(engine.tick(), 1);
}
