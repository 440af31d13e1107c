//! Laws of the sequential engine that hold after every call, whatever the calls are.
#![expect(clippy::unwrap_used, reason = "test code")]

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Event, NodeName, NodeReport, NodeSpec,
    ResourceVector, Restarts, Sequential, StateView, TreeSettings,
};
use capsched::config;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;

const LEAVES: [&str; 4] = ["root.a.x", "root.a.y", "root.b", "root.c"];

fn settings() -> TreeSettings {
    let p = "yarn.scheduler.capacity.";
    let pairs: BTreeMap<String, String> = [
        (
            "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b,c"),
        ("root.a.queues", "x,y"),
        ("root.a.capacity", "50"),
        ("root.a.maximum-capacity", "70"),
        ("root.a.x.capacity", "30"),
        ("root.a.y.capacity", "70"),
        ("root.b.capacity", "30"),
        ("root.b.maximum-capacity", "60"),
        ("root.b.user-limit-factor", "3"),
        ("root.c.capacity", "20"),
        ("root.c.ordering-policy", "fair"),
        ("root.c.user-limit-factor", "-1"),
        ("maximum-am-resource-percent", "0.6"),
        ("node-locality-delay", "0"),
    ]
    .into_iter()
    .map(|(key, value)| (format!("{p}{key}"), value.to_owned()))
    .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

/// One call. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Call {
    AddNode(u8, i64, i64),
    RemoveNode(u8),
    Submit {
        leaf: usize,
        user: u8,
        managed: bool,
        restarts: Restarts,
    },
    Ask {
        app: u32,
        memory: i64,
        vcores: i64,
        count: i32,
    },
    Release(u32, u32),
    Finish(u32, u32),
    FinishApp(u32),
    EndAttempt(u32),
    StartAttempt(u32),
    Priority(u32, i32),
    Move(u32, usize),
    Heartbeat(u8),
    Attempt(u8),
}

fn calls() -> impl Strategy<Value = Call> {
    prop_oneof![
        1 => (0u8..6, 1i64..13, 0i64..13).prop_map(|(n, gib, cores)| {
            Call::AddNode(n, gib * 1024, cores)
        }),
        1 => (0u8..6).prop_map(Call::RemoveNode),
        3 => (0usize..4, 0u8..3, proptest::bool::ANY, 0usize..4).prop_map(|(leaf, user, managed, rule)| {
            let restarts = [Restarts::Never, Restarts::WithoutContainers, Restarts::KeepingContainers];
            let restarts = restarts[rule.min(2)];
            Call::Submit { leaf, user, managed, restarts }
        }),
        6 => (0u32..8, 0i64..6000, 0i64..5, -1i32..9).prop_map(|(app, memory, vcores, count)| {
            Call::Ask { app, memory, vcores, count }
        }),
        1 => (0u32..8, 0u32..8).prop_map(|(app, number)| Call::Release(app, number)),
        3 => (0u32..8, 0u32..8).prop_map(|(app, number)| Call::Finish(app, number)),
        1 => (0u32..8).prop_map(Call::FinishApp),
        1 => (0u32..8).prop_map(Call::EndAttempt),
        2 => (0u32..8).prop_map(Call::StartAttempt),
        1 => (0u32..8, -3i32..12).prop_map(|(app, p)| Call::Priority(app, p)),
        1 => (0u32..8, 0usize..4).prop_map(|(app, leaf)| Call::Move(app, leaf)),
        4 => (0u8..6).prop_map(Call::Heartbeat),
        8 => (0u8..6).prop_map(Call::Attempt),
        1 => Just(Call::Attempt(0)),
    ]
}

struct World {
    engine: Sequential,
    submitted: u32,
}

fn name(n: u8) -> NodeName {
    NodeName::new(&format!("h{n}"), 1).unwrap()
}

impl World {
    fn new() -> Self {
        let mut engine = Sequential::new(settings(), &[]).unwrap();
        for n in 0..2 {
            let total = ResourceVector::of(&[8192, 8]);
            engine.add_node(&NodeSpec::new(name(n), total)).unwrap();
        }
        Self {
            engine,
            submitted: 0,
        }
    }

    fn app(&self, back: u32) -> ApplicationId {
        ApplicationId::new(self.submitted.saturating_sub(back))
    }

    fn view(&self) -> StateView {
        StateView::of(self.engine.ledger())
    }

    /// Moves an application to another leaf; whether that was refused.
    ///
    /// A move to its own leaf is left out: it forgets what the user holds there, as in the
    /// original (see the test of that), and from then on the sums of users say nothing.
    fn move_app(&mut self, app: ApplicationId, leaf: &str) -> bool {
        let ledger = self.engine.ledger();
        let own = ledger.app(app).is_some_and(|slot| {
            let state = ledger.state();
            &*state.queues[state.apps[slot].leaf].settings.path == leaf
        });
        !own && self.engine.move_app(app, leaf).is_err()
    }

    /// Carries out a call; whether it was refused as a whole.
    fn carry_out(&mut self, call: &Call) -> bool {
        match *call {
            Call::AddNode(n, memory, vcores) => {
                let total = ResourceVector::of(&[memory, vcores]);
                self.engine
                    .add_node(&NodeSpec::new(name(n), total))
                    .is_err()
            }
            Call::RemoveNode(n) => self.engine.remove_node(&name(n)).is_err(),
            Call::Submit {
                leaf,
                user,
                managed,
                restarts,
            } => {
                self.submitted += 1;
                let spec = AppSpec {
                    master: managed.then(|| ResourceVector::of(&[1024, 1])),
                    restarts,
                    ..AppSpec::new(
                        ApplicationId::new(self.submitted),
                        LEAVES[leaf],
                        &format!("u{user}"),
                    )
                };
                self.engine.submit(&spec).is_err()
            }
            Call::Ask {
                app,
                memory,
                vcores,
                count,
            } => {
                let size = ResourceVector::of(&[memory, vcores]);
                let call = AskCall {
                    asks: vec![Ask::anywhere(size, count)],
                    ..AskCall::default()
                };
                self.engine.ask(self.app(app), &call).is_err()
            }
            Call::Release(app, number) => {
                let call = AskCall {
                    release: vec![number],
                    ..AskCall::default()
                };
                self.engine.ask(self.app(app), &call).is_err()
            }
            Call::Finish(app, number) => {
                let id = ContainerId::new(self.app(app), number);
                !self.engine.container_finished(id)
            }
            Call::EndAttempt(app) => self.engine.end_attempt(self.app(app)).is_err(),
            Call::StartAttempt(app) => self.engine.start_attempt(self.app(app)).is_err(),
            Call::FinishApp(app) => self.engine.finish_app(self.app(app)).is_err(),
            Call::Priority(app, p) => self.engine.change_priority(self.app(app), p).is_err(),
            Call::Move(app, leaf) => self.move_app(self.app(app), LEAVES[leaf]),
            Call::Heartbeat(n) => {
                let report = NodeReport::AsExpected;
                self.engine.heartbeat(&name(n), &report).is_err()
            }
            Call::Attempt(n) => self.engine.schedule_node(&name(n)).is_none(),
        }
    }
}

type Amounts = Vec<i64>;

fn sum<'a>(amounts: impl Iterator<Item = &'a Amounts>) -> Amounts {
    amounts.fold(vec![0, 0], |sum, more| {
        sum.iter().zip(more).map(|(a, b)| a + b).collect()
    })
}

fn on_default(amounts: &BTreeMap<String, Amounts>) -> Amounts {
    amounts.get("").cloned().unwrap_or_else(|| vec![0, 0])
}

/// Everything that is counted twice must be counted alike.
fn check_sums(view: &StateView) {
    assert_eq!(view.cluster, sum(view.nodes.iter().map(|node| &node.total)));
    for node in &view.nodes {
        let parts = sum([&node.allocated, &node.available].into_iter());
        assert_eq!(node.total, parts, "{}", node.node);
        assert!(
            node.available.iter().all(|&free| free >= 0),
            "{}",
            node.node
        );
    }
    let zero = vec![0, 0];
    for queue in &view.queues {
        let part = &queue.labels[""];
        let used = part.used.as_ref().unwrap_or(&zero);
        let pending = part.pending.as_ref().unwrap_or(&zero);
        assert!(
            used.iter().chain(pending).all(|&v| v >= 0),
            "{}",
            queue.path
        );
        let Some(leaf) = &queue.leaf else {
            let inside = |path: &str| {
                path.rsplit_once('.')
                    .is_some_and(|(parent, _)| parent == queue.path)
            };
            let children = || view.queues.iter().filter(|child| inside(&child.path));
            let of = |amounts: &Option<Amounts>| amounts.clone().unwrap_or_else(|| vec![0, 0]);
            let below: Vec<_> = children().map(|c| of(&c.labels[""].used)).collect();
            assert_eq!(used, &sum(below.iter()), "used of {}", queue.path);
            let below: Vec<_> = children().map(|c| of(&c.labels[""].pending)).collect();
            assert_eq!(pending, &sum(below.iter()), "pending of {}", queue.path);
            continue;
        };
        let users: Vec<_> = leaf.users.values().map(|u| on_default(&u.used)).collect();
        assert_eq!(used, &sum(users.iter()), "users of {}", queue.path);
        let apps = || view.apps.iter().filter(|app| app.queue == queue.path);
        let held: Vec<_> = apps()
            .flat_map(|app| [on_default(&app.used), on_default(&app.reserved)])
            .collect();
        assert_eq!(used, &sum(held.iter()), "applications of {}", queue.path);
        let asked: Vec<_> = apps().map(|app| on_default(&app.pending)).collect();
        assert_eq!(pending, &sum(asked.iter()), "asks of {}", queue.path);
        let active = apps().filter(|app| app.state == "active").count();
        assert_eq!(leaf.active_apps, active, "active of {}", queue.path);
    }
}

/// What an attempt placed anew keeps every queue above it within its maximum, type by type.
fn check_limits(view: &StateView, decisions: &[Event]) {
    for decision in decisions {
        let Event::Allocated {
            queue: leaf,
            from_reservation: false,
            ..
        } = decision
        else {
            continue;
        };
        for queue in &view.queues {
            let above = **leaf == *queue.path || leaf.starts_with(&format!("{}.", queue.path));
            let part = &queue.labels[""];
            let Some(used) = part.used.as_ref().filter(|_| above) else {
                continue;
            };
            let within = used
                .iter()
                .zip(&part.eff_max)
                .all(|(used, most)| used <= most);
            assert!(within, "{}: {used:?} of {:?}", queue.path, part.eff_max);
        }
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(11),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn sums_agree_and_limits_hold_after_every_call(calls in vec(calls(), 1..120)) {
        let mut world = World::new();
        for call in &calls {
            world.carry_out(call);
            let decisions = world.engine.take_events();
            let view = world.view();
            check_sums(&view);
            if matches!(call, Call::Attempt(_)) {
                check_limits(&view, &decisions);
            }
        }
    }

    #[test]
    fn a_refused_call_changes_nothing(calls in vec(calls(), 1..100)) {
        let mut world = World::new();
        for call in &calls {
            let before = world.view();
            // A refused submission leaves the user's record behind, as in the original.
            if world.carry_out(call) && !matches!(call, Call::Submit { .. }) {
                assert_eq!(before, world.view(), "{call:?}");
                assert_eq!(world.engine.take_events(), [], "{call:?}");
            }
            world.engine.take_events();
        }
    }

    #[test]
    fn nothing_is_left_when_all_applications_ended(calls in vec(calls(), 1..100)) {
        let mut world = World::new();
        for call in &calls {
            world.carry_out(call);
        }
        for app in 1..=world.submitted {
            // Some ended before.
            let _ended = world.engine.finish_app(ApplicationId::new(app)).is_err();
        }
        for node in 0..6 {
            world.carry_out(&Call::Heartbeat(node));
        }
        let view = world.view();
        assert!(view.apps.is_empty());
        for node in &view.nodes {
            assert_eq!((node.allocated.as_slice(), node.reserved), (&[0, 0][..], None));
        }
        for queue in &view.queues {
            let part = &queue.labels[""];
            assert_eq!((&part.used, &part.reserved, &part.pending), (&None, &None, &None));
        }
    }
}

/// Recorded: scenario churn-22, step 142 and the states after it.
// As CapacityScheduler.moveApplication: the containers leave and come back before the attempt
// leaves, whose end drops the record of a user without other applications.
#[test]
fn a_move_to_its_own_leaf_forgets_what_a_user_without_other_applications_holds() {
    let mut world = World::new();
    let submit = Call::Submit {
        leaf: 2,
        user: 0,
        managed: true,
        restarts: Restarts::Never,
    };
    world.carry_out(&submit);
    world.carry_out(&Call::Heartbeat(0));
    let users = |world: &World| {
        let view = world.view();
        let queue = view.queues.iter().find(|queue| &*queue.path == "root.b");
        let leaf = queue.unwrap().leaf.clone().unwrap();
        (
            queue.unwrap().labels[""].used.clone(),
            on_default(&leaf.users["u0"].used),
        )
    };
    assert_eq!(users(&world), (Some(vec![1024, 1]), vec![1024, 1]));
    world
        .engine
        .move_app(ApplicationId::new(1), "root.b")
        .unwrap();
    assert_eq!(users(&world), (Some(vec![1024, 1]), vec![0, 0]));
}

// As AbstractLeafQueue.removeApplicationAttempt, which counts a parked application as one that
// waits, and CachedUserLimit, which is kept by the user's name.
#[test]
fn what_a_pass_found_about_a_user_outlives_the_record() {
    let p = "yarn.scheduler.capacity.";
    let pairs = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "10"),
        ("root.b.capacity", "90"),
        ("root.a.max-parallel-apps", "1"),
    ];
    let pairs = pairs.map(|(key, value)| (format!("{p}{key}"), value.to_owned()));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs.into(), &types).unwrap();
    let mut engine = Sequential::new(loaded.settings, &[]).unwrap();
    let total = ResourceVector::of(&[8192, 8]);
    engine.add_node(&NodeSpec::new(name(0), total)).unwrap();
    let submit = |engine: &mut Sequential, number| {
        let spec = AppSpec::new(ApplicationId::new(number), "root.a", "u");
        engine.submit(&spec).unwrap();
    };
    submit(&mut engine, 1);
    let asks = vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 9)];
    engine
        .ask(ApplicationId::new(1), &AskCall::asking(asks))
        .unwrap();
    let held = |engine: &mut Sequential| {
        for _ in 0..9 {
            engine.heartbeat(&name(0), &NodeReport::AsExpected).unwrap();
        }
        StateView::of(engine.ledger()).nodes[0].containers
    };
    assert_eq!(
        held(&mut engine),
        2,
        "one container may go beyond the limit"
    );
    submit(&mut engine, 2);
    engine.finish_app(ApplicationId::new(2)).unwrap();
    submit(&mut engine, 3);
    let leaf = StateView::of(engine.ledger()).queues[1]
        .leaf
        .clone()
        .unwrap();
    assert!(leaf.users["u"].used.is_empty(), "the record is a new one");
    assert_eq!(held(&mut engine), 2, "the limit is found reached as before");
}
