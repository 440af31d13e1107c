//! Who counts as an active user of a leaf, at ends and at looks that nobody asked for.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Engine, NodeName, NodeReport, NodeSpec,
    PartitionSpec, ResourceVector, Sequential, StateView, Threaded, TreeSettings, UserView,
};
use capsched::config;

fn app(number: u32) -> ApplicationId {
    ApplicationId::new(number)
}

fn node(host: &str) -> NodeName {
    NodeName::new(host, 1).unwrap()
}

fn of(memory: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[memory, cores])
}

fn settings(extra: &[(&str, &str)]) -> TreeSettings {
    let common = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
    ];
    let pairs: BTreeMap<String, String> = common
        .iter()
        .chain(extra)
        .map(|(key, value)| {
            (
                format!("yarn.scheduler.capacity.{key}"),
                (*value).to_owned(),
            )
        })
        .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

fn engine(extra: &[(&str, &str)]) -> Sequential {
    let mut engine = Sequential::new(settings(extra), &[]).unwrap();
    engine
        .add_node(&NodeSpec::new(node("h1"), of(8192, 8)))
        .unwrap();
    engine
}

fn active_users(view: &StateView) -> i32 {
    view.queues[1].leaf.as_ref().unwrap().num_active_users
}

#[test]
fn a_new_node_counts_no_users_for_an_application_whose_user_was_dropped() {
    let mut engine = engine(&[
        ("maximum-am-resource-percent", "0.1"),
        ("user.max-parallel-apps", "1"),
    ]);
    let master = |number, user| AppSpec::new(app(number), "root.a", user).with_master(of(1024, 1));
    engine.submit(&master(1, "ann")).unwrap();
    // Parked, it was counted as waiting by nobody: its end drops the user.
    engine.submit(&master(2, "ann")).unwrap();
    engine.finish_app(app(2)).unwrap();
    engine.submit(&master(3, "bob")).unwrap();
    let before = StateView::of(engine.ledger());
    let users = &before.queues[1].leaf.as_ref().unwrap().users;
    assert_eq!(users.keys().collect::<Vec<_>>(), ["bob"]);
    assert_eq!(active_users(&before), 1);
    engine
        .add_node(&NodeSpec::new(node("h2"), of(1024, 1)))
        .unwrap();
    assert_eq!(active_users(&StateView::of(engine.ledger())), 1);
}

#[test]
fn a_leaf_has_no_limit_for_masters_on_a_label_that_it_may_not_use() {
    let label = PartitionSpec {
        name: "y".to_owned(),
        exclusive: true,
    };
    let settings = settings(&[
        ("root.accessible-node-labels.y.capacity", "100"),
        ("root.a.accessible-node-labels.y.capacity", "100"),
        ("root.a.accessible-node-labels", " "),
    ]);
    let mut engine = Sequential::new(settings, &[label]).unwrap();
    engine
        .add_node(&NodeSpec::new(node("h1"), of(8192, 8)))
        .unwrap();
    let spec = AppSpec::new(app(1), "root.a", "ann").with_master(of(1024, 1));
    engine.submit(&spec).unwrap();
    let report = NodeReport::AsExpected;
    engine.heartbeat(&node("h1"), &report).unwrap();
    // The master is counted on the label from now on.
    engine.relabel_node(&node("h1"), "y").unwrap();
    // It is activated anew, as the only one of its leaf.
    engine.move_app(app(1), "root.a").unwrap();
    let view = StateView::of(engine.ledger());
    let leaf = &view.queues[1];
    assert_eq!(leaf.leaf.as_ref().unwrap().active_apps, 1);
    let on = &leaf.labels["y"];
    assert!(on.am_used.is_some());
    assert_eq!((&on.am_limit, &on.user_am_limit), (&None, &None));
}

/// What a leaf knows about a user.
fn record(engine: &Sequential, path: &str, user: &str) -> Option<UserView> {
    let queues = StateView::of(engine.ledger()).queues;
    let queue = queues.into_iter().find(|queue| queue.path == path);
    queue.unwrap().leaf.unwrap().users.remove(user)
}

#[test]
fn an_application_that_was_moved_away_is_activated_for_its_user_of_the_old_leaf() {
    let mut engine = engine(&[
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.b.capacity", "75"),
        ("root.a.capacity", "25"),
        ("maximum-am-resource-percent", "0.125"),
        ("root.b.ordering-policy", "fair"),
        (
            "root.b.ordering-policy.fair.enable-size-based-weight",
            "true",
        ),
    ]);
    let first = AppSpec::new(app(1), "root.b", "ann").with_master(of(2048, 1));
    engine.submit(&first).unwrap();
    engine
        .submit(&AppSpec::new(app(2), "root.b", "bob"))
        .unwrap();
    // It waits, and slips into the order by what it asks for: so it stays listed as waiting.
    let asks = AskCall::asking(vec![Ask::anywhere(of(1024, 1), 2)]);
    engine.ask(app(2), &asks).unwrap();
    engine
        .heartbeat(&node("h1"), &NodeReport::AsExpected)
        .unwrap();
    engine.move_app(app(2), "root.a").unwrap();
    let bob = |engine: &Sequential, queue: &str| {
        record(engine, queue, "bob").map(|bob| (bob.active_apps, bob.pending_apps))
    };
    assert_eq!(
        (bob(&engine, "root.b"), bob(&engine, "root.a")),
        (None, Some((1, 0)))
    );
    engine
        .submit(&AppSpec::new(app(3), "root.b", "bob"))
        .unwrap();
    assert_eq!(bob(&engine, "root.b"), Some((0, 1)));
    engine.finish_app(app(1)).unwrap();
    assert_eq!(bob(&engine, "root.a"), Some((1, 0)));
    assert_eq!(bob(&engine, "root.b"), Some((2, -1)));
    // The leaf that it left is looked at last, and notes its limit with its own record of the user.
    engine
        .add_node(&NodeSpec::new(node("h2"), of(8192, 8)))
        .unwrap();
    let limits = |engine: &Sequential| {
        ["root.a", "root.b"].map(|path| {
            let bob = record(engine, path, "bob").unwrap();
            serde_json::to_value(bob).unwrap()["last_limit"][0].clone()
        })
    };
    assert_eq!(limits(&engine), [4096, 12_288]);
    // So does a pass that looks at that leaf alone, and finds nothing for its other application.
    let beat = |engine: &mut Sequential| {
        engine
            .heartbeat(&node("h2"), &NodeReport::AsExpected)
            .unwrap();
    };
    beat(&mut engine);
    beat(&mut engine);
    let anywhere = Ask {
        relax_locality: false,
        ..Ask::anywhere(of(1024, 1), 1)
    };
    let elsewhere = ["h9", "/default-rack"].map(|place| Ask {
        place: place.to_owned(),
        ..anywhere.clone()
    });
    let asks = elsewhere.into_iter().chain([anywhere]).collect();
    engine.ask(app(3), &AskCall::asking(asks)).unwrap();
    beat(&mut engine);
    assert_eq!(limits(&engine), [4096, 12_288]);
}

#[test]
fn a_user_who_was_told_another_limit_meanwhile_is_not_told_the_first_again() {
    let capacity = "[memory=16384,vcores=8]";
    let settings = settings(&[
        ("max-parallel-apps", "2"),
        ("maximum-am-resource-percent", "1"),
        ("root.accessible-node-labels.x.capacity", "100"),
        ("root.accessible-node-labels.y.capacity", "100"),
        ("root.a.accessible-node-labels", "*"),
        ("root.a.accessible-node-labels.x.capacity", capacity),
        ("root.a.accessible-node-labels.y.capacity", capacity),
        ("root.a.capacity", capacity),
        ("root.a.minimum-user-limit-percent", "10"),
        ("root.a.user-limit-factor", "1"),
    ]);
    let labels = [("x", false), ("y", true)].map(|(name, exclusive)| PartitionSpec {
        name: name.to_owned(),
        exclusive,
    });
    let mut engine = Sequential::new(settings, &labels).unwrap();
    let master = |number, user, size| AppSpec::new(app(number), "root.a", user).with_master(size);
    let mut shared = NodeSpec::new(node("h2"), of(12_288, 4));
    shared.partition = "x".to_owned();
    let on_y = Ask {
        partition: Some("y".to_owned()),
        ..Ask::anywhere(of(8192, 3), 3)
    };
    engine
        .add_node(&NodeSpec::new(node("h1"), of(24_576, 8)))
        .unwrap();
    engine.submit(&master(2, "ann", of(4096, 1))).unwrap();
    engine
        .submit(&AppSpec::new(app(3), "root.a", "bob"))
        .unwrap();
    engine.beat("h1");
    engine.ask(app(2), &AskCall::asking(vec![on_y])).unwrap();
    // Parked, and yet it makes bob one who asks.
    engine.submit(&master(4, "bob", of(1024, 1))).unwrap();
    engine.beat("h1");
    engine.add_node(&shared).unwrap();
    let mut limits = Vec::new();
    for host in HOSTS {
        engine.beat(host);
        limits.push(last_limit(&engine));
    }
    // Bob's record goes and comes back, and nothing else changes for ann.
    engine.finish_app(app(3)).unwrap();
    engine.beat("h1");
    limits.push(last_limit(&engine));
    assert_eq!(limits, [3072, 2048, 2048]);
}

/// The memory of the limit that ann was handed last.
fn last_limit(engine: &Sequential) -> serde_json::Value {
    let ann = record(engine, "root.a", "ann").unwrap();
    serde_json::to_value(ann).unwrap()["last_limit"][0].clone()
}

const HOSTS: [&str; 2] = ["h1", "h2"];

/// The calls that both kinds of engine take.
trait Calls {
    fn submit(&mut self, app: AppSpec);
    fn ask(&mut self, number: u32, call: AskCall);
    fn beat(&mut self, host: &str);
    fn container_ends(&mut self, container: ContainerId) -> bool;
    fn finish(&mut self, number: u32);
    fn view(&mut self) -> StateView;
}

impl Calls for Sequential {
    fn submit(&mut self, app: AppSpec) {
        Self::submit(self, &app).unwrap();
    }

    fn ask(&mut self, number: u32, call: AskCall) {
        Self::ask(self, app(number), &call).unwrap();
    }

    fn beat(&mut self, host: &str) {
        self.heartbeat(&node(host), &NodeReport::AsExpected)
            .unwrap();
    }

    fn container_ends(&mut self, container: ContainerId) -> bool {
        self.container_finished(container)
    }

    fn finish(&mut self, number: u32) {
        self.finish_app(app(number)).unwrap();
    }

    fn view(&mut self) -> StateView {
        StateView::of(self.ledger())
    }
}

impl Calls for &Threaded {
    fn submit(&mut self, app: AppSpec) {
        Threaded::submit(self, app).unwrap();
    }

    fn ask(&mut self, number: u32, call: AskCall) {
        Threaded::ask(self, app(number), call).unwrap();
    }

    fn beat(&mut self, host: &str) {
        self.heartbeat(node(host), NodeReport::AsExpected).unwrap();
    }

    fn container_ends(&mut self, container: ContainerId) -> bool {
        self.container_finished(container)
    }

    fn finish(&mut self, number: u32) {
        self.finish_app(app(number)).unwrap();
    }

    fn view(&mut self) -> StateView {
        self.inspect(StateView::of).unwrap()
    }
}

/// Heartbeats until nothing more is placed; then active users, and who has a record at all.
fn rest(engine: &mut impl Calls) -> (i32, Vec<String>) {
    for host in HOSTS.iter().cycle().take(40) {
        engine.beat(host);
    }
    let view = engine.view();
    let leaf = view.queues[1].leaf.as_ref().unwrap();
    (leaf.num_active_users, leaf.users.keys().cloned().collect())
}

/// Ann and carol are served in full, bob never is; then their last containers end.
fn ends(engine: &mut impl Calls) -> Vec<(i32, Vec<String>)> {
    let mut seen = Vec::new();
    let asking = |count| AskCall::asking(vec![Ask::anywhere(of(1024, 1), count)]);
    engine.submit(AppSpec::new(app(1), "root.a", "ann").with_master(of(1024, 1)));
    engine.submit(AppSpec::new(app(2), "root.a", "carol"));
    engine.submit(AppSpec::new(app(3), "root.a", "bob"));
    rest(engine);
    engine.ask(1, asking(2));
    engine.ask(2, asking(1));
    rest(engine);
    engine.ask(3, asking(100));
    seen.push(rest(engine));
    engine.ask(1, asking(50));
    seen.push(rest(engine));
    engine.ask(2, AskCall::default());
    let only = |number| ContainerId::new(app(number), 1);
    assert!(engine.container_ends(only(2)));
    seen.push(rest(engine));
    // Her master: the application ends while it asks, and its other containers with it.
    assert!(engine.container_ends(only(1)));
    seen.push(rest(engine));
    engine.finish(2);
    seen.push(rest(engine));
    engine.finish(3);
    seen.push(rest(engine));
    seen
}

#[test]
fn active_users_are_the_same_after_the_last_container_however_the_heartbeats_come() {
    let settings = settings(&[("maximum-am-resource-percent", "1")]);
    let all = ["ann", "bob", "carol"].map(str::to_owned);
    let want = [
        (1, all.to_vec()),
        (2, all.to_vec()),
        (2, all.to_vec()),
        (1, all[1..].to_vec()),
        (1, all[1..2].to_vec()),
        (0, Vec::new()),
    ];
    let nodes = HOSTS.map(|host| NodeSpec::new(node(host), of(8192, 8)));
    let mut engine = Sequential::new(settings.clone(), &[]).unwrap();
    for node in &nodes {
        engine.add_node(node).unwrap();
    }
    assert_eq!(ends(&mut engine), want);

    let engine = Engine::builder(settings).start().unwrap().into_threaded();
    for node in nodes {
        engine.add_node(node).unwrap();
    }
    let found = std::thread::scope(|scope| {
        let script = scope.spawn(|| ends(&mut &engine));
        while !script.is_finished() {
            for host in HOSTS {
                (&mut &engine).beat(host);
                drop(engine.take_events());
            }
        }
        script.join().unwrap()
    });
    assert_eq!(found, want);
}
