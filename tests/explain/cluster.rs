//! A small cluster of two leaves, and what is asked of its explanations.

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, Explanation, Finding, ModeKind, NextStep,
    NodeName, NodeReport, NodeSpec, Reason, ResourceVector, Scheduler as _, Stepped, next_steps,
};
use capsched::config::{self, Loaded};

pub(crate) const PREFIX: &str = "yarn.scheduler.capacity.";

/// An engine with the configuration that it was made from.
pub(crate) struct Cluster {
    pub(crate) loaded: Loaded,
    pub(crate) engine: Stepped,
}

pub(crate) fn app(number: u32) -> ApplicationId {
    ApplicationId::new(number)
}

pub(crate) fn gib(memory: i64) -> ResourceVector {
    ResourceVector::of(&[memory * 1024, memory])
}

pub(crate) fn node(host: &str) -> NodeName {
    NodeName::new(host, 0).unwrap()
}

/// Leaves `root.a` and `root.b` with a half each, no limit for masters or users, and nodes of 8 GiB.
pub(crate) fn cluster(extra: &[(&str, &str)], hosts: &[&str]) -> Cluster {
    cluster_of_site(&[], extra, hosts)
}

/// The same with further settings of the site.
pub(crate) fn cluster_of_site(
    site: &[(&str, &str)],
    extra: &[(&str, &str)],
    hosts: &[&str],
) -> Cluster {
    let further = site;
    let mut pairs = BTreeMap::new();
    let common = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("maximum-am-resource-percent", "1"),
    ];
    for (key, value) in common.iter().chain(extra) {
        pairs.insert(format!("{PREFIX}{key}"), (*value).to_owned());
    }
    let site = [
        ("yarn.scheduler.maximum-allocation-mb", "16384"),
        ("yarn.scheduler.maximum-allocation-vcores", "16"),
        ("yarn.cluster.max-application-priority", "10"),
        ("yarn.node-labels.enabled", "true"),
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        (
            "yarn.resourcemanager.placement-constraints.handler",
            "scheduler",
        ),
    ];
    let site = site.iter().chain(further);
    let site = site.map(|&(key, value)| (key.to_owned(), value.to_owned()));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::from_iter(site), &pairs, &types).unwrap();
    let engine = Engine::builder(loaded.settings.clone()).partition("gpu", true);
    let engine = Stepped::new(engine.sequential().unwrap(), ModeKind::Heartbeat);
    let mut cluster = Cluster { loaded, engine };
    for host in hosts {
        let spec = NodeSpec::new(node(host), gib(8));
        cluster.engine.add_node(spec).unwrap();
    }
    cluster
}

impl Cluster {
    /// Containers of application 1 are asked back for application 2 in root.b.
    pub(crate) fn preempting() -> Self {
        let whole = [
            ("root.a.maximum-capacity", "100"),
            ("root.b.maximum-capacity", "100"),
        ];
        let mut cluster = cluster(&whole, &["n0"]);
        let mut settings = cluster.loaded.preemption.clone();
        settings.enabled = true;
        settings.total_per_round = 1.0;
        settings.natural_termination_factor = 1.0;
        cluster.engine.configure_preemption(settings);
        cluster.asks(1, "root.a", "ann", (8, 1));
        cluster.beat(8);
        cluster.asks(2, "root.b", "bob", (2, 1));
        cluster.engine.preempt();
        cluster
    }

    /// Application 2 waits in root.a.x, since application 1 in root.a.y has all that root.a may use.
    pub(crate) fn with_full_parent() -> Self {
        let conf = [
            ("root.a.queues", "x,y"),
            ("root.a.x.capacity", "50"),
            ("root.a.y.capacity", "50"),
            ("root.a.x.user-limit-factor", "10"),
            ("root.a.y.user-limit-factor", "10"),
            ("root.a.maximum-capacity", "50"),
        ];
        let mut cluster = cluster(&conf, &["n0"]);
        cluster.asks(1, "root.a.y", "bob", (4, 1));
        cluster.beat(4);
        cluster.asks(2, "root.a.x", "ann", (1, 1));
        cluster
    }

    /// Submits an unmanaged application that asks for equal containers anywhere.
    pub(crate) fn asks(&mut self, number: u32, queue: &str, user: &str, (n, size): (i32, i64)) {
        self.submit(AppSpec::new(app(number), queue, user));
        self.ask(number, vec![Ask::anywhere(gib(size), n)]);
    }

    pub(crate) fn submit(&mut self, spec: AppSpec) {
        self.engine.submit(spec).unwrap();
    }

    pub(crate) fn ask(&mut self, number: u32, asks: Vec<Ask>) {
        self.engine.ask(app(number), AskCall::asking(asks)).unwrap();
    }

    /// Lets every node report so many times.
    pub(crate) fn beat(&mut self, times: usize) {
        for _ in 0..times {
            self.engine.tick();
        }
    }

    pub(crate) fn beat_of(&mut self, host: &str) {
        self.engine
            .heartbeat(&node(host), NodeReport::AsExpected)
            .unwrap();
    }

    pub(crate) fn why(&self, number: u32) -> Explanation {
        self.engine.explain(app(number)).expect("it waits")
    }

    /// The dominant reason, which must be this one.
    pub(crate) fn reason(&self, number: u32, reason: Reason) -> Finding {
        let why = self.why(number);
        let found = why.dominant().expect("there is a reason").clone();
        assert_eq!(found.reason, reason, "{why:?}");
        found
    }

    pub(crate) fn steps(&self, number: u32) -> Vec<NextStep> {
        next_steps(&self.engine, &self.why(number), &self.loaded)
    }

    /// The value that a step sets a property of the scheduler to.
    pub(crate) fn sets(&self, number: u32, key: &str) -> String {
        let steps = self.steps(number);
        let property = format!("{PREFIX}{key}");
        let found = steps.iter().filter_map(|step| step.change.clone());
        let found = found.into_iter().find(|(name, _)| *name == property);
        found
            .unwrap_or_else(|| panic!("no {property} in {steps:?}"))
            .1
    }

    /// Whether a step was seen to help whose text begins so.
    pub(crate) fn helps(&self, number: u32, what: &str) -> bool {
        self.steps(number)
            .iter()
            .any(|step| step.what.starts_with(what))
    }
}
