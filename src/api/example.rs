//! A small cluster, for the examples of this documentation.
//!
//! It has the queue `root.a`, the node `n0:8041` with 8 GiB and 8 vcores, and application 1 of the user
//! `ann`, which asked for two containers of 1 GiB and 1 vcore. One heartbeat has placed the first.
//!
//! ```
//! use capsched::api::*;
//!
//! let mut cluster = example::cluster();
//! assert_eq!(StateView::of(cluster.engine().ledger()).nodes.len(), 1);
//! ```

use std::collections::BTreeMap;

use crate::config;
use crate::id::{ApplicationId, NodeName};
use crate::queue::{AppSpec, Ask, AskCall, NodeReport, NodeSpec, TreeSettings};
use crate::resource::ResourceVector;

use super::{Engine, ModeKind, Scheduler, Stepped};

/// Settings with memory and vcores, and one queue, `root.a`, which has everything. Heartbeats schedule.
///
/// ```
/// let settings = capsched::api::example::settings();
/// assert_eq!(settings.queues.len(), 2);
/// ```
#[must_use]
pub fn settings() -> TreeSettings {
    let pairs = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("schedule-asynchronously.enable", "false"),
    ];
    let pairs =
        pairs.map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned()));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types);
    loaded
        .expect("one queue with all capacity is valid")
        .settings
}

/// The cluster of this module, driven step by step.
///
/// ```
/// use capsched::api::*;
///
/// let mut cluster = example::cluster();
/// let node = "n0:8041".parse()?;
/// cluster.heartbeat(&node, NodeReport::AsExpected)?; // places the second container
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn cluster() -> Stepped {
    let engine = Engine::builder(settings()).sequential();
    let engine = engine.expect("the settings start an engine");
    let mut cluster = Stepped::new(engine, ModeKind::Heartbeat);
    let node = NodeName::new("n0", 8041).expect("a valid name");
    let size = ResourceVector::of(&[8192, 8]);
    let added = cluster.add_node(NodeSpec::new(node.clone(), size));
    added.expect("the node is new");
    let app = ApplicationId::new(1);
    let submitted = cluster.submit(AppSpec::new(app, "root.a", "ann"));
    submitted.expect("the queue takes applications");
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 2);
    let asked = cluster.ask(app, AskCall::asking(vec![ask]));
    asked.expect("the ask is valid");
    let reported = cluster.heartbeat(&node, NodeReport::AsExpected);
    reported.expect("the node is known");
    cluster
}
