//! Application 46 waits: BEHIND_IN_ORDER. Written by `capsched snapshot to-test`.

use std::collections::BTreeMap;

use capsched::api::*;
use capsched::config;

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn application_46_waits_for_behind_in_order() {
    let site = pairs(&[
        ("yarn.node-labels.enabled", "true"),
        ("yarn.scheduler.configuration.store.class", "memory"),
        ("yarn.scheduler.maximum-allocation-mb", "65536"),
        ("yarn.scheduler.maximum-allocation-vcores", "16"),
        ("yarn.scheduler.minimum-allocation-mb", "1024"),
        ("yarn.scheduler.minimum-allocation-vcores", "1"),
    ]);
    let scheduler = pairs(&[
        ("yarn.scheduler.capacity.maximum-am-resource-percent", "0.2"),
        ("yarn.scheduler.capacity.maximum-applications", "20000"),
        (
            "yarn.scheduler.capacity.resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
        ("yarn.scheduler.capacity.root.accessible-node-labels", "*"),
        (
            "yarn.scheduler.capacity.root.accessible-node-labels.gpu.capacity",
            "100",
        ),
        ("yarn.scheduler.capacity.root.acl_administer_queue", "yarn"),
        ("yarn.scheduler.capacity.root.acl_submit_applications", "*"),
        (
            "yarn.scheduler.capacity.root.adhoc.accessible-node-labels.gpu.capacity",
            "0",
        ),
        ("yarn.scheduler.capacity.root.adhoc.capacity", "10"),
        ("yarn.scheduler.capacity.root.adhoc.maximum-capacity", "25"),
        (
            "yarn.scheduler.capacity.root.dev.accessible-node-labels.gpu.capacity",
            "10",
        ),
        (
            "yarn.scheduler.capacity.root.dev.ads.accessible-node-labels.gpu.capacity",
            "50",
        ),
        ("yarn.scheduler.capacity.root.dev.ads.capacity", "40"),
        (
            "yarn.scheduler.capacity.root.dev.ads.maximum-am-resource-percent",
            "0.1",
        ),
        ("yarn.scheduler.capacity.root.dev.capacity", "30"),
        ("yarn.scheduler.capacity.root.dev.maximum-capacity", "60"),
        ("yarn.scheduler.capacity.root.dev.queues", "search,ads"),
        (
            "yarn.scheduler.capacity.root.dev.search.accessible-node-labels.gpu.capacity",
            "50",
        ),
        ("yarn.scheduler.capacity.root.dev.search.capacity", "60"),
        (
            "yarn.scheduler.capacity.root.dev.search.minimum-user-limit-percent",
            "25",
        ),
        (
            "yarn.scheduler.capacity.root.dev.search.ordering-policy",
            "fair",
        ),
        (
            "yarn.scheduler.capacity.root.ml.accessible-node-labels.gpu.capacity",
            "70",
        ),
        ("yarn.scheduler.capacity.root.ml.capacity", "10"),
        ("yarn.scheduler.capacity.root.ml.maximum-capacity", "20"),
        ("yarn.scheduler.capacity.root.ml.user-limit-factor", "2"),
        (
            "yarn.scheduler.capacity.root.prod.accessible-node-labels.gpu.capacity",
            "20",
        ),
        ("yarn.scheduler.capacity.root.prod.capacity", "50"),
        (
            "yarn.scheduler.capacity.root.prod.etl.accessible-node-labels.gpu.capacity",
            "0",
        ),
        ("yarn.scheduler.capacity.root.prod.etl.capacity", "40"),
        (
            "yarn.scheduler.capacity.root.prod.etl.user-limit-factor",
            "3",
        ),
        ("yarn.scheduler.capacity.root.prod.maximum-capacity", "100"),
        ("yarn.scheduler.capacity.root.prod.queues", "serving,etl"),
        (
            "yarn.scheduler.capacity.root.prod.serving.accessible-node-labels.gpu.capacity",
            "100",
        ),
        ("yarn.scheduler.capacity.root.prod.serving.capacity", "60"),
        ("yarn.scheduler.capacity.root.prod.serving.priority", "5"),
        (
            "yarn.scheduler.capacity.root.prod.serving.user-limit-factor",
            "2",
        ),
        ("yarn.scheduler.capacity.root.queues", "prod,dev,ml,adhoc"),
        (
            "yarn.scheduler.capacity.schedule-asynchronously.enable",
            "false",
        ),
    ]);
    let options = config::Options {
        resource_types: Some(vec!["memory-mb".to_owned(), "vcores".to_owned()]),
        reference: "3.4".parse().unwrap(),
        ..config::Options::default()
    };
    let loaded = config::load_pairs(&site, &scheduler, &options).unwrap();
    let builder = Engine::builder(loaded.settings);
    let builder = builder.partition("gpu", true);
    let builder = builder.recovering();
    let mut engine = Stepped::new(builder.sequential().unwrap(), ModeKind::Heartbeat);
    let _ = engine.register_node(
        NodeSpec {
            rack: "/rack-00".to_owned(),
            partition: "".to_owned(),
            attributes: vec![],
            ..NodeSpec::new(
                "r00n001:8041".parse().unwrap(),
                ResourceVector::of(&[131072, 32]),
            )
        },
        vec![
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 282,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 91),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 383,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 125),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 2083,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 170),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 2282,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 184),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 2384,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 191),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 3881,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 262),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 4081,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 269),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 4330,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 276),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 4885,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(28), 294),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 2581,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(31), 65),
                    ResourceVector::of(&[8192, 2]),
                )
            },
            RunningContainer {
                priority: 0,
                request_id: -1,
                created_ms: 4933,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(33), 1),
                    ResourceVector::of(&[2048, 1]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 4680,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(39), 76),
                    ResourceVector::of(&[4096, 1]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 5530,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(40), 72),
                    ResourceVector::of(&[2048, 1]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 5234,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(41), 5),
                    ResourceVector::of(&[2048, 1]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 5281,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(41), 13),
                    ResourceVector::of(&[2048, 1]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 5382,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(41), 27),
                    ResourceVector::of(&[2048, 1]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 5430,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(41), 34),
                    ResourceVector::of(&[2048, 1]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 5480,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(41), 41),
                    ResourceVector::of(&[2048, 1]),
                )
            },
            RunningContainer {
                priority: 1,
                request_id: 0,
                created_ms: 5680,
                version: 0,
                opportunistic: false,
                ..RunningContainer::new(
                    ContainerId::new(ApplicationId::new(48), 13),
                    ResourceVector::of(&[8192, 2]),
                )
            },
        ],
    );
    let _ = engine.recover_app(
        AppSpec {
            placement_parent: None,
            priority: Some(0),
            master: Some(ResourceVector::of(&[2048, 1])),
            master_partition: Some("".to_owned()),
            partition: None,
            tags: vec!["index".to_owned()],
            ..AppSpec::new(ApplicationId::new(40), "root.adhoc", "kim")
        },
        1,
        Some(1),
    );
    let _ = engine.recover_app(
        AppSpec {
            placement_parent: None,
            priority: Some(0),
            master: Some(ResourceVector::of(&[2048, 1])),
            master_partition: Some("".to_owned()),
            partition: None,
            tags: vec!["train".to_owned()],
            ..AppSpec::new(ApplicationId::new(46), "root.adhoc", "max")
        },
        1,
        Some(1),
    );
    let _ = engine.ask(
        ApplicationId::new(40),
        AskCall {
            asks: vec![Ask {
                priority: 1,
                request_id: 0,
                place: "*".to_owned(),
                size: ResourceVector::of(&[2048, 1]),
                count: 312,
                relax_locality: true,
                partition: Some("".to_owned()),
            }],
            constrained: vec![],
            release: vec![],
            updates: vec![],
            blacklist_add: vec![],
            blacklist_remove: vec![],
        },
    );
    let _ = engine.ask(
        ApplicationId::new(46),
        AskCall {
            asks: vec![Ask {
                priority: 1,
                request_id: 0,
                place: "*".to_owned(),
                size: ResourceVector::of(&[2048, 1]),
                count: 62,
                relax_locality: true,
                partition: Some("".to_owned()),
            }],
            constrained: vec![],
            release: vec![],
            updates: vec![],
            blacklist_add: vec![],
            blacklist_remove: vec![],
        },
    );
    let mut events = Vec::new();
    engine.events(&mut events);
    let why = engine.explain(ApplicationId::new(46)).unwrap();
    assert_eq!(why.dominant().unwrap().reason.token(), "BEHIND_IN_ORDER");
    assert_eq!(why.containers(), 62);
    assert_eq!(engine.tick(), 1);
}
