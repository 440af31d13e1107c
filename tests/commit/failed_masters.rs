//! Hosts on which masters of an application failed are avoided by its next master, unless too many failed.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Engine, Event, NodeName, NodeReport,
    NodeSpec, ResourceVector, Restarts, Sequential,
};
use capsched::config;

const APP: ApplicationId = ApplicationId::new(1);
const KEY: &str = "yarn.resourcemanager.am-scheduling.node-blacklisting-";

fn node(number: usize) -> NodeName {
    NodeName::new(&format!("n{number}"), 1).unwrap()
}

/// An engine with so many nodes. `threshold`: nothing where the nodes of failed masters are not avoided.
fn engine(nodes: usize, threshold: Option<&str>) -> Sequential {
    let pairs = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("maximum-am-resource-percent", "1"),
    ];
    let pairs = pairs.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let mut site = BTreeMap::new();
    if let Some(threshold) = threshold {
        site.insert(format!("{KEY}enabled"), "true".to_owned());
        site.insert(format!("{KEY}disable-threshold"), threshold.to_owned());
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&site, &pairs.into(), &types);
    let mut engine = Engine::builder(loaded.unwrap().settings)
        .sequential()
        .unwrap();
    for number in 0..nodes {
        let size = ResourceVector::of(&[8192, 8]);
        engine.add_node(&NodeSpec::new(node(number), size)).unwrap();
    }
    engine
}

fn submit(engine: &mut Sequential, restarts: Restarts) {
    let spec = AppSpec::new(APP, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
    engine.submit(&spec.restarting(restarts)).unwrap();
}

/// Where the master starts when the nodes report in their order; nothing when it waits.
fn start_on(engine: &mut Sequential, nodes: usize) -> Option<(usize, ContainerId)> {
    for number in 0..nodes {
        engine
            .heartbeat(&node(number), &NodeReport::AsExpected)
            .unwrap();
        let events = engine.take_events().into_iter();
        let mut started = events.filter_map(|event| match event {
            Event::MasterStarted { container, .. } => container,
            _ => None,
        });
        if let Some(master) = started.next() {
            return Some((number, master));
        }
    }
    None
}

/// The nodes of masters of which each exits with a status, up to one that is not placed.
fn starts(engine: &mut Sequential, nodes: usize, statuses: &[i32]) -> Vec<usize> {
    let mut on = Vec::new();
    for &status in statuses {
        let Some((number, master)) = start_on(engine, nodes) else {
            break;
        };
        on.push(number);
        assert!(engine.container_exited(master, status));
        engine.take_events();
        if engine.ledger().app(APP).is_none() {
            submit(engine, Restarts::Never);
        } else {
            engine.start_attempt(APP).unwrap();
        }
    }
    on
}

#[test]
fn the_next_master_is_placed_on_no_host_where_one_failed() {
    for restarts in [Restarts::KeepingContainers, Restarts::Never] {
        let mut engine = engine(4, Some("0.8"));
        submit(&mut engine, restarts);
        // Three failed hosts of four are below 0.8 of them; the fourth failure lets all be used again.
        assert_eq!(starts(&mut engine, 4, &[1; 5]), [0, 1, 2, 3, 0]);
    }
}

#[test]
fn from_the_threshold_on_no_host_is_avoided() {
    let mut engine = engine(4, Some("0.5"));
    submit(&mut engine, Restarts::KeepingContainers);
    assert_eq!(starts(&mut engine, 4, &[1; 3]), [0, 1, 0]);
}

#[test]
fn nothing_is_avoided_unless_the_settings_say_so() {
    let mut engine = engine(4, None);
    submit(&mut engine, Restarts::KeepingContainers);
    assert_eq!(starts(&mut engine, 4, &[1; 3]), [0, 0, 0]);
}

/// Success, lack of memory, broken disks and ends that the scheduler brought about are not the node's fault.
#[test]
fn only_failures_that_may_be_the_nodes_fault_count() {
    for status in [0, -100, -101, -102, -103, -104, -105, -106, -107] {
        let mut engine = engine(3, Some("0.9"));
        submit(&mut engine, Restarts::KeepingContainers);
        assert_eq!(starts(&mut engine, 3, &[status; 2]), [0, 0], "{status}");
    }
    for status in [1, 137, -1, -1000, -108] {
        let mut engine = engine(3, Some("0.9"));
        submit(&mut engine, Restarts::KeepingContainers);
        assert_eq!(starts(&mut engine, 3, &[status; 2]), [0, 1], "{status}");
    }
}

/// The hosts are avoided by masters alone, and the list of the application is its own again once the master runs.
#[test]
fn other_containers_use_the_hosts() {
    let mut engine = engine(2, Some("0.9"));
    submit(&mut engine, Restarts::KeepingContainers);
    assert_eq!(starts(&mut engine, 2, &[1]), [0]);
    let (on, _) = start_on(&mut engine, 2).unwrap();
    assert_eq!(on, 1);
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 1);
    let call = AskCall {
        blacklist_add: vec!["n1".to_owned()],
        ..AskCall::asking(vec![ask.clone()])
    };
    engine.ask(APP, &call).unwrap();
    for number in [1, 0] {
        engine
            .heartbeat(&node(number), &NodeReport::AsExpected)
            .unwrap();
    }
    let reply = engine.ask(APP, &AskCall::default()).unwrap();
    assert_eq!(reply.allocated[0].node, node(0));
    // Its own list does not hinder its master, and is back behind that.
    engine.end_attempt(APP).unwrap();
    engine.start_attempt(APP).unwrap();
    assert_eq!(start_on(&mut engine, 2).map(|(on, _)| on), Some(1));
    engine.ask(APP, &AskCall::asking(vec![ask])).unwrap();
    engine.heartbeat(&node(1), &NodeReport::AsExpected).unwrap();
    let reply = engine.ask(APP, &AskCall::default()).unwrap();
    assert_eq!(reply.allocated, []);
}

/// An application that ended for another reason than its master begins with an empty list.
#[test]
fn the_list_ends_with_the_application() {
    let mut engine = engine(3, Some("0.9"));
    submit(&mut engine, Restarts::KeepingContainers);
    assert_eq!(starts(&mut engine, 3, &[1]), [0]);
    engine.finish_app(APP).unwrap();
    submit(&mut engine, Restarts::KeepingContainers);
    assert_eq!(start_on(&mut engine, 3).map(|(on, _)| on), Some(0));
}
