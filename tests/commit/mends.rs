//! Open faults of the reference: each scene as it is repeated, and as the setting mends it.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, NodeName, NodeReport, NodeSpec, Reference,
    ResourceVector, Sequential, StateView,
};
use capsched::config;
use capsched::queue::Mends;

/// Keys of capacity-scheduler.xml without their common prefix.
type Keys<'a> = &'a [(&'a str, &'a str)];

/// An engine with a shared partition `x`, mended or not.
fn engine(keys: Keys<'_>, mend: &str, mended: bool) -> Sequential {
    engine_of(Reference::default(), keys, (mend, mended))
}

/// The same by the rules of a release.
fn engine_of(reference: Reference, keys: Keys<'_>, (mend, mended): (&str, bool)) -> Sequential {
    let own = keys.iter().map(|(key, value)| {
        (
            format!("yarn.scheduler.capacity.{key}"),
            (*value).to_owned(),
        )
    });
    let mend = (format!("{}{mend}", Mends::PREFIX), mended.to_string());
    let pairs: BTreeMap<String, String> = own.chain([mend]).collect();
    let labels = ("yarn.node-labels.enabled".to_owned(), "true".to_owned());
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let options = config::Options {
        resource_types: Some(types.to_vec()),
        reference,
        ..config::Options::default()
    };
    let loaded = config::load_pairs(&[labels].into(), &pairs, &options).unwrap();
    let builder = Engine::builder(loaded.settings).partition("x", false);
    builder.sequential().unwrap()
}

fn node(engine: &mut Sequential, host: &str, partition: &str, size: [i64; 2]) -> NodeName {
    let name = NodeName::new(host, 1).unwrap();
    let mut spec = NodeSpec::new(name.clone(), ResourceVector::of(&size));
    partition.clone_into(&mut spec.partition);
    engine.add_node(&spec).unwrap();
    name
}

fn submit(engine: &mut Sequential, app: u32) -> ApplicationId {
    let id = ApplicationId::new(app);
    engine.submit(&AppSpec::new(id, "root.a", "ann")).unwrap();
    id
}

fn ask(engine: &mut Sequential, app: ApplicationId, label: &str, size: [i64; 2], count: i32) {
    let ask = Ask {
        partition: Some(label.to_owned()),
        ..Ask::anywhere(ResourceVector::of(&size), count)
    };
    engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
}

fn beat(engine: &mut Sequential, node: &NodeName, times: usize) {
    for _ in 0..times {
        engine.heartbeat(node, &NodeReport::AsExpected).unwrap();
    }
}

/// Containers of each node, by name.
fn containers(engine: &Sequential) -> Vec<u32> {
    let view = StateView::of(engine.ledger());
    view.nodes.iter().map(|node| node.containers).collect()
}

const TWO_QUEUES: Keys<'static> = &[
    ("schedule-asynchronously.enable", "false"),
    ("root.queues", "a,b"),
    ("root.a.capacity", "50"),
    ("root.b.capacity", "50"),
    ("root.a.user-limit-factor", "10"),
    ("maximum-am-resource-percent", "1"),
    ("root.accessible-node-labels.x.capacity", "100"),
    ("root.a.accessible-node-labels", "x"),
    ("root.b.accessible-node-labels", "x"),
    ("root.a.accessible-node-labels.x.capacity", "50"),
    ("root.b.accessible-node-labels.x.capacity", "50"),
];

/// [`TWO_QUEUES`] with a maximum of the first one on the partition `x`.
fn with_maximum(percent: &'static str) -> Vec<(&'static str, &'static str)> {
    let key = "root.a.accessible-node-labels.x.maximum-capacity";
    [TWO_QUEUES, &[(key, percent)]].concat()
}

#[test]
fn a_reservation_on_a_label_is_exchanged_for_space_elsewhere() {
    for mended in [false, true] {
        let keys = with_maximum("75");
        let mut engine = engine(&keys, "labelled-continue-looking", mended);
        let full = node(&mut engine, "h1", "x", [4096, 8]);
        let free = node(&mut engine, "h2", "x", [4096, 8]);
        let app = submit(&mut engine, 1);
        ask(&mut engine, app, "x", [3072, 1], 2);
        // The second container waits on the first node, which brings the queue to its maximum.
        beat(&mut engine, &full, 2);
        assert_eq!(
            StateView::of(engine.ledger()).nodes[0].reserved,
            Some([1, 2])
        );
        beat(&mut engine, &free, 1);
        assert_eq!(containers(&engine), [1, u32::from(mended)]);
        let held = StateView::of(engine.ledger()).nodes[0].reserved;
        assert_eq!(held.is_none(), mended);
    }
}

#[test]
fn a_borrower_stays_within_its_maximum_on_the_shared_partition() {
    for (mended, borrowed) in [(false, 8), (true, 4)] {
        let keys = with_maximum("50");
        let mut engine = engine(&keys, "shared-partition-maximum", mended);
        node(&mut engine, "h1", "", [1024, 1]);
        let shared = node(&mut engine, "h2", "x", [8192, 8]);
        let app = submit(&mut engine, 1);
        ask(&mut engine, app, "", [1024, 1], 20);
        beat(&mut engine, &shared, 60);
        assert_eq!(containers(&engine), [0, borrowed]);
    }
}

#[test]
fn who_blacklists_a_node_gives_up_the_reservation_there() {
    for mended in [false, true] {
        let mut engine = engine(TWO_QUEUES, "blacklisted-reservations", mended);
        let only = node(&mut engine, "h1", "", [4096, 8]);
        // Room for the queue, on a node that never reports.
        node(&mut engine, "h2", "", [8192, 8]);
        let first = submit(&mut engine, 1);
        ask(&mut engine, first, "", [3072, 1], 1);
        beat(&mut engine, &only, 1);
        let second = submit(&mut engine, 2);
        ask(&mut engine, second, "", [3072, 1], 1);
        beat(&mut engine, &only, 1);
        assert_eq!(
            StateView::of(engine.ledger()).nodes[0].reserved,
            Some([2, 1])
        );
        let call = AskCall {
            blacklist_add: vec!["h1".to_owned()],
            ..AskCall::default()
        };
        engine.ask(second, &call).unwrap();
        beat(&mut engine, &only, 3);
        let held = StateView::of(engine.ledger()).nodes[0].reserved;
        assert_eq!(held.is_none(), mended);
    }
}

#[test]
fn vcores_of_a_node_bound_what_it_runs() {
    for (mended, placed) in [(false, 4), (true, 2)] {
        let mut engine = engine(TWO_QUEUES, "memory-only-vcores", mended);
        let only = node(&mut engine, "h1", "", [8192, 2]);
        let app = submit(&mut engine, 1);
        ask(&mut engine, app, "", [1024, 1], 4);
        beat(&mut engine, &only, 8);
        assert_eq!(containers(&engine), [placed]);
    }
}

#[test]
fn a_vector_without_memory_counts() {
    let keys = [
        ("legacy-queue-mode.enabled", "false"),
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "[memory=50%,vcores=2]"),
        ("root.b.capacity", "[memory=0,vcores=2]"),
    ];
    for mended in [false, true] {
        // A fault of 3.4 alone.
        let mend = ("vectors-without-memory", mended);
        let mut engine = engine_of(Reference::Hadoop34, &keys, mend);
        node(&mut engine, "h1", "", [8192, 8]);
        let view = StateView::of(engine.ledger());
        let of_b = view.queues.iter().find(|queue| queue.path == "root.b");
        let most = of_b.unwrap().labels[""].eff_max[0];
        assert_eq!(most, if mended { 8192 } else { 0 });
    }
}

#[test]
fn a_mend_that_nobody_knows_is_warned_of() {
    let text = "<configuration><property><name>capsched.mend.all</name><value>true</value>\
                </property></configuration>";
    let file = config::ConfigSource {
        name: "capacity-scheduler.xml".to_owned(),
        bytes: text.into(),
        layer: config::Layer::Scheduler,
    };
    let report = config::check(&[file], &config::Options::default());
    let codes: Vec<&str> = report.diagnostics.iter().map(|found| found.code).collect();
    assert!(codes.contains(&"W_KEY_UNKNOWN"), "{codes:?}");
}

#[test]
fn no_reserved_node_is_proposed_though_it_is_the_last_of_the_order() {
    let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                 ResourceUsageMultiNodeLookupPolicy";
    let keys = [
        TWO_QUEUES,
        &[
            ("skip-allocate-on-nodes-with-reserved-containers", "true"),
            ("multi-node-placement-enabled", "true"),
            ("multi-node-sorting.policy.names", "usage"),
            ("multi-node-sorting.policy", "usage"),
            ("multi-node-sorting.policy.usage.class", class),
        ],
    ]
    .concat();
    for mended in [false, true] {
        let mut engine = engine(&keys, "reserved-last-node", mended);
        for host in ["h1", "h2", "h3", "h4", "h5", "h6"] {
            node(&mut engine, host, "", [4096, 8]);
        }
        // Every node is half used.
        let first = submit(&mut engine, 1);
        ask(&mut engine, first, "", [2048, 1], 6);
        engine.schedule_partition("", 6);
        // It fits nowhere and waits on the last node.
        let second = submit(&mut engine, 2);
        ask(&mut engine, second, "", [4096, 1], 1);
        engine.schedule_partition("", 1);
        let reserved = |engine: &Sequential| {
            let view = StateView::of(engine.ledger());
            view.nodes
                .iter()
                .filter(|node| node.reserved.is_some())
                .count()
        };
        assert_eq!(reserved(&engine), 1);
        // So does this one: the reference proposes the same node, which is refused.
        let third = submit(&mut engine, 3);
        ask(&mut engine, third, "", [3072, 1], 1);
        let attempt = engine.schedule_partition("", 1).unwrap();
        assert_eq!(attempt.refused.is_some(), !mended, "{attempt:?}");
        assert_eq!(reserved(&engine), 1 + usize::from(mended));
    }
}
