//! Trees of queues that nobody should write, and refreshes of a live one: further rows B of the
//! catalogue of bad inputs. The rows of single files and values are in `bad_inputs_config.rs`.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, NodeReport, NodeSpec, ResourceVector, Sequential,
    TreeSettings,
};
use capsched::config::{self, Severity};

/// One leaf `root.a` of 100 %.
const LEAF: [(&str, &str); 2] = [("root.queues", "a"), ("root.a.capacity", "100")];

/// Code of the first error, none when there is none, and the codes of all warnings.
fn tree(values: &[(&str, &str)]) -> (String, Vec<String>) {
    let mut text = String::from("<configuration>\n");
    for (key, value) in values {
        let value = value.replace('&', "&amp;").replace('<', "&lt;");
        let key = format!("yarn.scheduler.capacity.{}", key.replace('<', "&lt;"));
        let _ = writeln!(
            text,
            "<property><name>{key}</name><value>{value}</value></property>"
        );
    }
    text.push_str("</configuration>\n");
    let source = config::Source {
        name: "capacity-scheduler.xml".to_owned(),
        bytes: text.into_bytes(),
        layer: config::Layer::Scheduler,
    };
    let report = config::check(&[source], &config::Options::default());
    let first = |severity: Severity| {
        report
            .diagnostics
            .iter()
            .filter(move |found| found.severity == severity)
            .map(|found| found.code.to_string())
            .collect::<Vec<_>>()
    };
    (
        first(Severity::Error).first().cloned().unwrap_or_default(),
        first(Severity::Warning),
    )
}

/// What becomes of `root.a` with one more property.
fn with(key: &str, value: &str) -> (String, Vec<String>) {
    let [queues, capacity] = LEAF;
    tree(&[queues, capacity, (key, value)])
}

fn expect(row: &str, got: &(String, Vec<String>), error: &str, warning: &str) {
    assert_eq!(got.0, error, "{row}: {got:?}");
    let warned = warning.is_empty() || got.1.iter().any(|code| code == warning);
    assert!(warned, "{row}: {got:?}");
}

#[test]
fn names_and_shapes_of_trees() {
    let halves = [("root.a.capacity", "50"), ("root.b.capacity", "50")];
    let same_leaf = [
        ("root.queues", "a,b"),
        ("root.a.queues", "x"),
        ("root.b.queues", "x"),
        ("root.a.x.capacity", "100"),
        ("root.b.x.capacity", "100"),
    ];
    expect(
        "B06",
        &tree(&[&same_leaf[..], &halves[..]].concat()),
        "",
        "",
    );
    let own_name = [("root.queues", "root"), ("root.root.capacity", "100")];
    expect("B07", &tree(&own_name), "", "");
    let [queues, capacity] = LEAF;
    let both = [
        queues,
        capacity,
        ("root.a.queues", "x"),
        ("root.a.x.capacity", "100"),
        ("root.a.user-limit-factor", "2"),
    ];
    expect("B08", &tree(&both), "", "W_KEY_NO_EFFECT");
    expect(
        "B03",
        &with("root.a.queues", " "),
        "capacity_sum",
        "W_QUEUE_NAME",
    );
    let dots = [("root.queues", "../etc"), ("root.../etc.capacity", "100")];
    expect("B17", &tree(&dots), "E_QUEUE_NAME", "");
    for name in ["<script>", "a;rm -rf", "%2e%2e", "caf\u{e9}", "cafe\u{301}"] {
        let key = format!("root.{name}.capacity");
        let odd = [("root.queues", name), (key.as_str(), "100")];
        expect("B13, B14, B17", &tree(&odd), "", "");
    }
}

#[test]
fn sums_of_percentages() {
    let equal = |n: usize, share: &str| {
        let names: Vec<String> = (0..n).map(|i| format!("q{i}")).collect();
        let list = names.join(",");
        let keys: Vec<String> = names
            .iter()
            .map(|name| format!("root.{name}.capacity"))
            .collect();
        let mut values = vec![("root.queues", list.as_str())];
        values.extend(keys.iter().map(|key| (key.as_str(), share)));
        tree(&values)
    };
    for (n, share) in [
        (7, "14.285714"),
        (3, "33.33"),
        (3, "33.3333"),
        (1000, "0.1"),
    ] {
        expect("B25", &equal(n, share), "", "");
    }
    expect("B23", &equal(2, "50.0005"), "", "");
    expect("B24", &equal(2, "50.1"), "capacity_sum", "");
    expect("B26", &equal(2, "0"), "capacity_sum", "");
    let zero = [
        ("root.queues", "a"),
        ("root.a.capacity", "0"),
        ("root.allow-zero-capacity-sum", "true"),
    ];
    expect("B26", &tree(&zero), "", "");
    let closed = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "0"),
        ("root.a.maximum-capacity", "0"),
        ("root.b.capacity", "100"),
    ];
    expect("B29", &tree(&closed), "", "W_CAPACITY_ZERO");
    let mixed = [
        ("root.queues", "a,b,c"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "5w"),
        ("root.c.capacity", "[memory=1024,vcores=1]"),
    ];
    expect("B35", &tree(&mixed), "mixed_capacity_modes", "");
    let absolute = [
        ("root.queues", "p"),
        ("root.p.queues", "a,b"),
        ("root.p.capacity", "[memory=1024,vcores=2]"),
        ("root.p.a.capacity", "[memory=1024,vcores=1]"),
        ("root.p.b.capacity", "[memory=1024,vcores=1]"),
    ];
    expect("B31", &tree(&absolute), "children_exceed_parent", "");
}

#[test]
fn limits_and_lists() {
    for (row, key, value, error, warning) in [
        ("B30", "root.maximum-capacity", "50", "", "W_KEY_NO_EFFECT"),
        ("B37", "root.a.user-limit-factor", "0", "", "W_USER_LIMIT"),
        ("B37", "root.a.user-limit-factor", "NaN", "", "W_USER_LIMIT"),
        ("B37", "root.a.user-limit-factor", "-1", "", ""),
        ("B37", "root.a.user-limit-factor", "1e9", "", ""),
        (
            "B39",
            "maximum-am-resource-percent",
            "-0.1",
            "",
            "W_MASTER_SHARE",
        ),
        (
            "B39",
            "maximum-am-resource-percent",
            "1.1",
            "",
            "W_MASTER_SHARE",
        ),
        (
            "B39",
            "maximum-am-resource-percent",
            "NaN",
            "",
            "W_MASTER_SHARE",
        ),
        (
            "B39",
            "maximum-am-resource-percent",
            "10%",
            "not_a_number",
            "",
        ),
        ("B43", "root.a.acl_submit_applications", "a b c", "", ""),
        ("B43", "root.a.acl_submit_applications", " ", "", ""),
        ("B45", "root.a.accessible-node-labels", "*,x", "", ""),
        ("B46", "queue-mappings", "u:%user:%user", "", ""),
        ("B46", "queue-mappings", "g:*:", "mapping_syntax", ""),
        (
            "B46",
            "queue-mappings",
            "u:alice:root.missing",
            "mapping_target",
            "",
        ),
    ] {
        expect(row, &with(key, value), error, warning);
    }
    for (value, error) in [("200", "capacity_out_of_range"), ("NaN", "E_NAN")] {
        let [queues, capacity] = LEAF;
        let template = [
            queues,
            capacity,
            ("root.a.auto-create-child-queue.enabled", "true"),
            ("root.a.leaf-queue-template.capacity", value),
        ];
        expect("B47", &tree(&template), error, "");
    }
    let rules = vec!["u:alice:a"; 100_000].join(",");
    expect("B46", &with("queue-mappings", &rules), "", "");
}

fn settings(values: &[(&str, &str)]) -> TreeSettings {
    let pairs: BTreeMap<String, String> = values
        .iter()
        .map(|(key, value)| {
            (
                format!("yarn.scheduler.capacity.{key}"),
                (*value).to_owned(),
            )
        })
        .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.unwrap().settings
}

/// Queues `a` and `b`, and an application of four containers in `a`.
fn running() -> (Sequential, Vec<(&'static str, &'static str)>) {
    let values = vec![
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
    ];
    let mut engine = Engine::builder(settings(&values)).sequential().unwrap();
    let name: capsched::api::NodeName = "n:1".parse().unwrap();
    let total = ResourceVector::of(&[8192, 8]);
    engine
        .add_node(&NodeSpec::new(name.clone(), total))
        .unwrap();
    let app = ApplicationId::new(1);
    engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 4);
    engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    for _ in 0..4 {
        engine.heartbeat(&name, &NodeReport::AsExpected).unwrap();
    }
    (engine, values)
}

fn used(engine: &Sequential) -> ResourceVector {
    let queues = &engine.ledger().state().queues;
    let root = queues.iter().next().unwrap();
    root.parts[0].used
}

#[test]
fn refused_refreshes_leave_a_live_tree_as_it_was() {
    let (mut engine, values) = running();
    let before = (used(&engine), engine.ledger().state().queues.len());
    assert_eq!(before.0, ResourceVector::of(&[4096, 4]));
    let gone = [("root.queues", "b"), ("root.b.capacity", "100")];
    assert!(engine.reconfigure(settings(&gone)).is_err(), "B48");
    let mut parent = values.clone();
    parent.extend([("root.a.queues", "x"), ("root.a.x.capacity", "100")]);
    assert!(engine.reconfigure(settings(&parent)).is_err(), "B49");
    let after = (used(&engine), engine.ledger().state().queues.len());
    assert_eq!(after, before, "nothing of a refused refresh is carried out");
}

#[test]
fn refreshes_to_the_same_or_to_less_are_taken() {
    let (mut engine, mut values) = running();
    let before = used(&engine);
    assert!(engine.reconfigure(settings(&values)).is_ok(), "B51");
    assert_eq!(used(&engine), before, "B51");
    values.push(("root.a.maximum-capacity", "50"));
    values.retain(|(key, _)| !key.starts_with("root.a.capacity") && !key.starts_with("root.b."));
    values.extend([("root.a.capacity", "10"), ("root.b.capacity", "90")]);
    values.retain(|(key, _)| *key != "root.a.maximum-capacity");
    values.push(("root.a.maximum-capacity", "20"));
    assert!(engine.reconfigure(settings(&values)).is_ok(), "B50");
    let app = ApplicationId::new(1);
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 2);
    let reply = engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    assert!(
        ResourceVector::NONE.fits_in(&reply.headroom),
        "B50: {}",
        reply.headroom
    );
    for _ in 0..4 {
        let name = "n:1".parse().unwrap();
        engine.heartbeat(&name, &NodeReport::AsExpected).unwrap();
    }
    assert_eq!(
        used(&engine),
        before,
        "B50: a queue above its maximum does not grow"
    );
}
