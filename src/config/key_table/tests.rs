//! The table and the code that reads keys agree.

use std::collections::BTreeSet;

use crate::config::properties::asked;
use crate::config::{Admission, ConfigSource, Layer, Options, load};
use crate::queue::Reference;

use super::*;

/// Queues of every kind, with every switch on that makes further keys matter.
const RICH: [&str; 25] = [
    "root.queues=a,m,f,r",
    "root.accessible-node-labels.x.capacity=100",
    "root.a.capacity=40",
    "root.a.ordering-policy=fair",
    "root.a.accessible-node-labels=x",
    "root.a.accessible-node-labels.x.capacity=100",
    "root.a.user-settings.ann.weight=1",
    "root.m.capacity=30",
    "root.m.auto-create-child-queue.enabled=true",
    "root.m.leaf-queue-template.capacity=10",
    "root.f.capacity=20",
    "root.f.queues=b",
    "root.f.b.capacity=0",
    "root.f.allow-zero-capacity-sum=true",
    "root.f.auto-queue-creation-v2.enabled=true",
    "root.f.b.ordering-policy=fifo-with-partitions",
    "root.r.capacity=10",
    "root.r.reservable=true",
    "schedule-asynchronously.enable=true",
    "multi-node-sorting.policy.names=p",
    "multi-node-sorting.policy.p.class=ResourceUsageMultiNodeLookupPolicy",
    "ordering-policy.priority-utilization.underutilized-preemption.enabled=true",
    "user.ann.max-parallel-apps=5",
    "user.max-parallel-apps=5",
    "resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
];

const RICH_SITE: [&str; 9] = [
    "yarn.resource-types=gpu",
    "yarn.node-labels.enabled=true",
    "yarn.resourcemanager.scheduler.monitor.enable=true",
    "yarn.resourcemanager.application-tag-based-placement.enable=true",
    "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled=true",
    "yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied.enabled=true",
    "capsched.reservation-timeout-ms=1000",
    "yarn.resourcemanager.opportunistic-container-allocation.enabled=true",
    "yarn.resourcemanager.am-scheduling.node-blacklisting-enabled=true",
];

fn source(pairs: &[&str], prefix: &str, layer: Layer) -> ConfigSource {
    let properties = pairs.iter().map(|pair| {
        let (key, value) = pair.split_once('=').expect("a pair");
        format!("<property name=\"{prefix}{key}\" value=\"{value}\"/>")
    });
    let text = properties.collect::<String>();
    ConfigSource {
        name: "rich.xml".to_owned(),
        bytes: format!("<configuration>{text}</configuration>").into_bytes(),
        layer,
    }
}

/// The keys that are looked up while rich files are read as a release does, with placement rules of a format.
fn asked_for(format: &str, reference: Reference) -> BTreeSet<String> {
    let format = format!("mapping-rule-format={format}");
    let own = [&RICH[..], &[format.as_str()]].concat();
    let files = [
        source(&own, PREFIX, Layer::Scheduler),
        source(&RICH_SITE, "", Layer::Site),
    ];
    asked::take();
    let options = Options {
        reference,
        ..Options::default()
    };
    let loaded = load(&files, &options);
    let keys = asked::take();
    let loaded = loaded.expect("the files are accepted");
    // Faults of the rules do not matter here.
    let _admission = Admission::read(&loaded, "yarn");
    keys.into_iter().chain(asked::take()).collect()
}

fn all_asked_for() -> BTreeSet<String> {
    let asked_by = |reference| ["legacy", "json"].map(|format| asked_for(format, reference));
    let all = Reference::ALL.map(asked_by);
    all.into_iter().flatten().flatten().collect()
}

/// Whether a text is a pattern with something in place of each `*`.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|tail| {
            let mut ends = tail.char_indices().map(|(at, c)| at + c.len_utf8());
            ends.any(|at| fits(rest, &tail[at..]))
        }),
    }
}

fn full(key: &KnownKey) -> String {
    format!("{}{}", key.scope.prefix(), key.name)
}

#[test]
fn the_table_has_every_key_that_is_read() {
    let patterns: Vec<String> = known_keys().map(full).collect();
    let mut asked = all_asked_for();
    asked.retain(|key| !patterns.iter().any(|pattern| fits(pattern, key)));
    assert_eq!(asked, BTreeSet::new());
}

#[test]
fn keys_of_the_table_are_read_unless_it_says_otherwise() {
    let asked = all_asked_for();
    let read = |key: &&KnownKey| {
        let pattern = full(key);
        asked.iter().any(|asked| fits(&pattern, asked))
    };
    let wrong: Vec<_> = known_keys()
        .filter(|key| read(key) != key.is_read)
        .collect();
    assert_eq!(wrong, Vec::<&KnownKey>::new());
}

#[test]
fn every_key_stands_once_and_is_explained_in_sentences() {
    let mut names: Vec<_> = known_keys().map(|key| (key.scope, key.name)).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(known_keys().all(|key| key.about.ends_with('.')));
}
