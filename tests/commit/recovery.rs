//! A scheduler that is built anew from what its nodes run and its applications were accepted with has the same
//! books, whatever comes first.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Engine, EngineBuilder, NodeName, NodeReport,
    NodeSpec, ResourceVector, Restarts, RunningContainer, Sequential, StateView, SubmitError,
};
use capsched::config;
use proptest::prelude::*;
use proptest::sample::Index;

const NODES: u16 = 3;
const APPS: u32 = 5;
const QUEUES: [&str; 2] = ["root.a", "root.b"];

fn builder() -> EngineBuilder {
    let pairs = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("maximum-am-resource-percent", "0.5"),
    ];
    let pairs = pairs.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs.into(), &types);
    Engine::builder(loaded.unwrap().settings)
}

fn node(number: u16) -> NodeSpec {
    let name = NodeName::new(&format!("n{number}"), 1).unwrap();
    NodeSpec::new(name, ResourceVector::of(&[8192, 8]))
}

fn spec(number: u32) -> AppSpec {
    let id = ApplicationId::new(number);
    let queue = QUEUES[number as usize % QUEUES.len()];
    let user = ["ann", "bob"][number as usize / 2 % 2];
    let spec = AppSpec::new(id, queue, user);
    if number.is_multiple_of(3) {
        spec
    } else {
        let spec = spec.with_master(ResourceVector::of(&[1024, 1]));
        spec.restarting(Restarts::KeepingContainers)
    }
}

/// A step of a run: what happens, and to which application or container.
#[derive(Clone, Debug)]
enum Step {
    Submit(u32),
    Ask(u32, i32),
    Beat(u16),
    Fetch(u32),
    Exit(Index),
    Finish(u32),
    /// The attempt ends, and the next one starts.
    Restart(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let app = 1..=APPS;
    prop_oneof![
        2 => app.clone().prop_map(Step::Submit),
        3 => (app.clone(), 0..6i32).prop_map(|(app, count)| Step::Ask(app, count)),
        6 => (0..NODES).prop_map(Step::Beat),
        3 => app.clone().prop_map(Step::Fetch),
        1 => any::<Index>().prop_map(Step::Exit),
        1 => app.clone().prop_map(Step::Finish),
        2 => app.prop_map(Step::Restart),
    ]
}

fn asking(count: i32) -> AskCall {
    AskCall::asking(vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), count)])
}

fn carry_out(engine: &mut Sequential, step: &Step) {
    let id = |number: &u32| ApplicationId::new(*number);
    // What is refused does nothing, as it should.
    match step {
        Step::Submit(app) => drop(engine.submit(&spec(*app))),
        Step::Ask(app, count) => drop(engine.ask(id(app), &asking(*count))),
        Step::Beat(number) => {
            let beat = engine.heartbeat(&node(*number).name, &NodeReport::AsExpected);
            beat.unwrap();
        }
        Step::Fetch(app) => drop(engine.ask(id(app), &AskCall::default())),
        Step::Exit(index) => {
            let live = live(engine);
            if !live.is_empty() {
                engine.container_finished(live[index.index(live.len())].1.id);
            }
        }
        Step::Finish(app) => drop(engine.finish_app(id(app))),
        Step::Restart(app) => {
            drop(engine.end_attempt(id(app)));
            drop(engine.start_attempt(id(app)));
        }
    }
}

/// Live containers with their nodes.
fn live(engine: &Sequential) -> Vec<(NodeName, RunningContainer)> {
    let ledger = engine.ledger();
    let apps = ledger.apps_by_id();
    let containers = apps
        .iter()
        .flat_map(|&(_, app)| ledger.live_containers(app));
    let running = containers.map(|container| {
        let name = ledger.state().nodes[container.node].name.clone();
        let running = RunningContainer {
            priority: container.key.priority,
            request_id: container.key.request_id,
            ..RunningContainer::new(container.id, container.size.get())
        };
        (name, running)
    });
    running.collect()
}

/// Nobody asks for anything more, and every container runs.
fn settle(engine: &mut Sequential) {
    for _ in 0..4 {
        for app in 1..=APPS {
            carry_out(engine, &Step::Ask(app, 0));
        }
        for number in 0..NODES {
            carry_out(engine, &Step::Beat(number));
        }
    }
}

/// What is used, by queue, user, application and node.
fn books(engine: &Sequential) -> serde_json::Value {
    let view = StateView::of(engine.ledger());
    let queues = view.queues.iter().map(|queue| {
        let queue = serde_json::to_value(queue).unwrap();
        let part = &queue["labels"][""];
        serde_json::json!([
            queue["path"],
            part["used"],
            part["am_used"],
            queue["num_apps"],
            queue["leaf"]["active_apps"],
            queue["leaf"]["pending_apps"]
        ])
    });
    let users = view
        .queues
        .iter()
        .filter_map(|queue| queue.leaf.as_ref())
        .flat_map(|leaf| {
            leaf.users.iter().map(|(name, user)| {
                let user = serde_json::to_value(user).unwrap();
                serde_json::json!([name, user["used"], user["am_used"], user["active_apps"]])
            })
        });
    let mut users: Vec<_> = users.filter(|user| user[3] != 0).collect();
    users.sort_by_key(ToString::to_string);
    let apps = view
        .apps
        .iter()
        .map(|app| serde_json::json!([app.app, app.state, app.queue, app.used, app.live]));
    let nodes = view.nodes.iter().map(|node| {
        serde_json::json!([
            node.node,
            node.total,
            node.allocated,
            node.available,
            node.containers
        ])
    });
    serde_json::json!({
        "queues": queues.collect::<Vec<_>>(),
        "users": users,
        "apps": apps.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

/// What is recovered one after the other.
#[derive(Clone, Copy, Debug)]
enum Part {
    Node(u16),
    App(ApplicationId),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_recovered_in_any_order_has_the_same_books(
        steps in prop::collection::vec(step(), 1..60),
        order in prop::collection::vec(any::<Index>(), 8),
    ) {
        let mut before = builder().sequential().unwrap();
        for number in 0..NODES {
            before.add_node(&node(number)).unwrap();
        }
        for step in &steps {
            carry_out(&mut before, step);
        }
        settle(&mut before);
        // An application that waits for its master has nothing to recover, and may get it at another moment.
        let waits = |engine: &Sequential, app| {
            let row = &engine.ledger().state().apps[app];
            !row.unmanaged && row.master.is_none()
        };
        for (id, app) in before.ledger().apps_by_id() {
            if waits(&before, app) {
                before.finish_app(id).unwrap();
            }
        }
        settle(&mut before);

        let mut after = builder().recovering().sequential().unwrap();
        let running = live(&before);
        let known = before.ledger().apps_by_id();
        let mut parts: Vec<_> = (0..NODES).map(Part::Node).collect();
        parts.extend(known.iter().map(|&(id, _)| Part::App(id)));
        for at in order {
            let last = parts.len() - 1;
            let at = at.index(parts.len());
            parts.swap(at, last);
        }
        for part in parts {
            match part {
                Part::Node(number) => {
                    let name = node(number).name;
                    let here = running.iter().filter(|(on, _)| *on == name);
                    let here: Vec<_> = here.map(|(_, running)| running.clone()).collect();
                    let found = after.register_node(&node(number), &here).unwrap();
                    prop_assert_eq!(found.to_stop, []);
                    prop_assert_eq!(found.taken.len() + found.waiting.len(), here.len());
                }
                Part::App(id) => {
                    let app = before.ledger().app(id).unwrap();
                    let row = &before.ledger().state().apps[app];
                    let spec = spec(id.sequence);
                    let found = after.recover_app(&spec, row.attempt, row.master).unwrap();
                    prop_assert_eq!(found.to_stop, []);
                }
            }
        }
        prop_assert_eq!(after.finish_recovery(), []);
        prop_assert_eq!(books(&after), books(&before));
        // Both go on alike: the numbers of containers do not repeat, and what ends is no longer charged.
        for engine in [&mut before, &mut after] {
            for &(id, _) in &known {
                engine.finish_app(id).unwrap();
            }
            settle(engine);
        }
        prop_assert_eq!(books(&after), books(&before));
    }
}

#[test]
fn unknown_containers_are_to_be_stopped_and_queues_that_are_gone_refuse() {
    let mut engine = builder().recovering().sequential().unwrap();
    let app = ApplicationId::new(1);
    let size = ResourceVector::of(&[1024, 1]);
    let container = |app, attempt, number| {
        let id = ContainerId {
            app,
            attempt,
            number,
        };
        RunningContainer::new(id, size)
    };
    let stranger = ApplicationId::new(99);
    let running = [
        container(app, 2, 4),
        container(app, 1, 9),
        container(app, 2, 4),
        container(stranger, 1, 1),
        RunningContainer {
            size: ResourceVector::of(&[-1, 1]),
            ..container(app, 2, 5)
        },
    ];
    let ids = |of: &[&RunningContainer]| of.iter().map(|c| c.id).collect::<Vec<_>>();
    let found = engine.register_node(&node(0), &running).unwrap();
    assert_eq!(found.to_stop, ids(&[&running[4]]));
    assert_eq!(found.waiting.len(), 4);
    let spec = AppSpec::new(app, "root.a", "ann");
    let found = engine.recover_app(&spec, 2, None).unwrap();
    assert_eq!(found.taken, ids(&[&running[0]]));
    assert_eq!(found.to_stop, ids(&[&running[1], &running[0]]));
    let again = engine.recover_app(&spec, 2, None);
    assert_eq!(again, Err(SubmitError::Duplicate(app)));
    let gone = AppSpec::new(stranger, "root.c", "ann");
    let refused = engine.recover_app(&gone, 1, None);
    assert_eq!(refused, Err(SubmitError::UnknownQueue("root.c".to_owned())));
    assert_eq!(engine.finish_recovery(), ids(&[&running[3]]));
    // Behind the recovery nothing waits: an unknown container is to be stopped at once.
    let late = [container(stranger, 1, 2), container(app, 2, 6)];
    let found = engine.register_node(&node(1), &late).unwrap();
    assert_eq!(
        (found.taken, found.to_stop),
        (ids(&[&late[1]]), ids(&[&late[0]]))
    );
    // The next container has a new number, and the room counts.
    engine.ask(app, &asking(1)).unwrap();
    engine
        .heartbeat(&node(0).name, &NodeReport::AsExpected)
        .unwrap();
    let reply = engine.ask(app, &AskCall::default()).unwrap();
    assert_eq!(
        reply.allocated[0].container.to_string(),
        "container_1_0001_02_000007"
    );
    assert_eq!(StateView::of(engine.ledger()).nodes[0].allocated, [2048, 2]);
}
