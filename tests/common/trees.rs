//! Settings of small trees of queues, from pairs as `capacity-scheduler.xml` has them.

use std::collections::BTreeMap;

use capsched::config;
use capsched::queue::TreeSettings;

/// The settings that pairs without their common prefix come to, for memory and vcores. Heartbeats schedule unless
/// the pairs say otherwise.
pub(crate) fn settings<const N: usize>(pairs: [(&str, &str); N]) -> TreeSettings {
    settings_at([], pairs)
}

/// The same with settings of the site.
pub(crate) fn settings_at<'a, const S: usize>(
    site: [(&str, &str); S],
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> TreeSettings {
    let site = site.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let by_heartbeats = ("schedule-asynchronously.enable", "false");
    let pairs = [by_heartbeats].into_iter().chain(pairs);
    let pairs = pairs.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::from(site), &pairs.collect(), &types);
    loaded.expect("a tree that a test wrote").settings
}
