//! Small engines with threads, and what tests ask them for.

use std::collections::BTreeMap;

use capsched::api::{AppSpec, ApplicationId, AskCall, Event, Mode, Threaded, TreeSettings};
use capsched::config;

/// Two leaves, `root.a` of 60 % and `root.b` of 40 %, in which one user may have all.
pub(crate) fn settings() -> TreeSettings {
    settings_with("DominantResourceCalculator", &[])
}

/// The same by a calculator, with more pairs without their common prefix.
pub(crate) fn settings_with(calculator: &str, more: &[(&str, &str)]) -> TreeSettings {
    let p = "yarn.scheduler.capacity.";
    let calculator = format!("org.apache.hadoop.yarn.util.resource.{calculator}");
    let pairs: BTreeMap<String, String> = [
        ("resource-calculator", calculator.as_str()),
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("maximum-am-resource-percent", "1"),
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy", "default"),
        ("multi-node-sorting.policy.names", "default"),
        (
            "multi-node-sorting.policy.default.class",
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy",
        ),
    ]
    .iter()
    .chain(more)
    .map(|(key, value)| (format!("{p}{key}"), (*value).to_owned()))
    .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .expect("a small engine takes it")
        .settings
}

/// Every mode, with one proposer and with several.
pub(crate) const MODES: [Mode; 5] = [
    Mode::Heartbeat,
    Mode::Asynchronous { threads: 1 },
    Mode::Asynchronous { threads: 3 },
    Mode::Global { threads: 1 },
    Mode::Global { threads: 2 },
];

/// An application that may ask at once.
pub(crate) fn asking(engine: &Threaded, number: u32, calls: &[AskCall]) -> ApplicationId {
    let id = ApplicationId::new(number);
    let spec = AppSpec::new(id, "root.a", "u");
    engine.submit(spec).expect("a small engine takes it");
    for call in calls {
        engine
            .ask(id, call.clone())
            .expect("a small engine takes it");
    }
    id
}

/// Waits for quiescence while the events are read; a hang here is the failure.
pub(crate) fn quiet_while_events_are_read(engine: &Threaded) -> Vec<Event> {
    let mut events = Vec::new();
    std::thread::scope(|scope| {
        let quiet = scope.spawn(|| engine.quiesce());
        while !quiet.is_finished() {
            events.extend(engine.take_events());
            std::thread::yield_now();
        }
    });
    events.extend(engine.take_events());
    events
}

/// Containers that an application got.
pub(crate) fn placed(events: &[Event], app: ApplicationId) -> usize {
    let of_app = |event: &&Event| matches!(event, Event::Allocated { container, .. } if container.app == app);
    events.iter().filter(of_app).count()
}
