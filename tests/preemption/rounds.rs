//! What verdicts of preemption do to the live state.
#![expect(
    clippy::unwrap_used,
    reason = "a scene that cannot be set up is a failed test"
)]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, Ask, AskCall, Event, NodeReport, NodeSpec, PreemptionReason as Reason, Rescheduler,
    Sequential, UnreserveReason, WhyNot,
};
use capsched::commit::{PreemptionReason, Verdict, VerdictKind, Verdicts};
use capsched::config;
use capsched::id::{ApplicationId, ContainerId, NodeName, PartitionId};
use capsched::resource::ResourceVector;

const MONITOR: &str = "yarn.resourcemanager.monitor.capacity.preemption.";
const NODES: [&str; 2] = ["h1:1", "h2:1"];

/// Two queues of half the cluster each, two nodes of 10 GiB; application 1 in `a` holds
/// everything, application 2 in `b` wants four containers of 1 GiB.
struct Scene {
    engine: Sequential,
    policy: Rescheduler,
}

fn container(app: u32, number: u32) -> ContainerId {
    ContainerId::new(ApplicationId::new(app), number)
}

fn node(name: &str) -> NodeName {
    name.parse().unwrap()
}

fn asks(count: i32, mib: i64) -> AskCall {
    let ask = Ask {
        priority: 1,
        request_id: 0,
        place: "*".to_owned(),
        size: ResourceVector::of(&[mib, 1]),
        count,
        relax_locality: true,
        partition: None,
    };
    AskCall {
        asks: vec![ask],
        ..AskCall::default()
    }
}

impl Scene {
    fn new(more: &[(&str, &str)]) -> Self {
        Self::with_second(more, "root.b")
    }

    /// The same with application 2 in another queue.
    fn with_second(more: &[(&str, &str)], second: &str) -> Self {
        let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = pairs.iter();
            pairs.map(|&(k, v)| (k.to_owned(), v.to_owned())).collect()
        };
        let mut site = pairs(&[("yarn.resourcemanager.scheduler.monitor.enable", "true")]);
        for (name, value) in [
            ("natural_termination_factor", "1.0"),
            ("max_wait_before_kill", "1000"),
            ("total_preemption_per_round", "1.0"),
        ] {
            site.insert(format!("{MONITOR}{name}"), value.to_owned());
        }
        let mut scheduler = pairs(&[
            (
                "yarn.scheduler.capacity.schedule-asynchronously.enable",
                "false",
            ),
            ("yarn.scheduler.capacity.root.queues", "a,b"),
            ("yarn.scheduler.capacity.root.a.capacity", "50"),
            ("yarn.scheduler.capacity.root.a.user-limit-factor", "10"),
            ("yarn.scheduler.capacity.root.b.capacity", "50"),
            ("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0"),
        ]);
        let of_queues = |key: &str| key.starts_with("yarn.scheduler.capacity.");
        let (queues, others) = pairs(more).into_iter().partition(|(key, _)| of_queues(key));
        scheduler.extend::<BTreeMap<_, _>>(queues);
        site.extend::<BTreeMap<_, _>>(others);
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&site, &scheduler, &types).unwrap();
        let mut scene = Self {
            engine: Sequential::new(loaded.settings, &[]).unwrap(),
            policy: Rescheduler::new(loaded.preemption),
        };
        for name in NODES {
            let size = ResourceVector::of(&[10_240, 10]);
            scene
                .engine
                .add_node(&NodeSpec::new(node(name), size))
                .unwrap();
        }
        scene.submit(1, "root.a");
        scene
            .engine
            .ask(ApplicationId::new(1), &asks(20, 1024))
            .unwrap();
        (0..10).for_each(|_| scene.heartbeats());
        scene.submit(2, second);
        scene
            .engine
            .ask(ApplicationId::new(2), &asks(4, 1024))
            .unwrap();
        scene
    }

    fn submit(&mut self, app: u32, queue: &str) {
        let spec = AppSpec::new(ApplicationId::new(app), queue, "u");
        self.engine.submit(&spec).unwrap();
    }

    fn heartbeats(&mut self) {
        for name in NODES {
            let report = NodeReport::AsExpected;
            self.engine.heartbeat(&node(name), &report).unwrap();
        }
    }

    fn preempt(&mut self) -> capsched::api::PreemptionRound {
        let policy = &mut self.policy;
        self.engine.preempt(|ledger| policy.round(ledger))
    }

    fn live(&self, app: u32) -> usize {
        let ledger = self.engine.ledger();
        let slot = ledger.app(ApplicationId::new(app)).unwrap();
        ledger.live_containers(slot).count()
    }

    fn pending(&self, app: u32) -> i64 {
        let ledger = self.engine.ledger();
        let slot = ledger.app(ApplicationId::new(app)).unwrap();
        ledger.state().apps[slot]
            .part(PartitionId::DEFAULT)
            .pending
            .memory()
    }
}

#[test]
fn what_is_asked_back_is_reported_once_with_the_next_ask() {
    let mut scene = Scene::new(&[]);
    let marks = scene.preempt().marks;
    assert_eq!(marks, [17, 18, 19, 20].map(|number| container(1, number)));
    let first = ApplicationId::new(1);
    let reply = scene.engine.ask(first, &AskCall::default()).unwrap();
    assert_eq!(reply.asked_back, [17, 18, 19, 20]);
    let again = scene.engine.ask(first, &AskCall::default()).unwrap();
    assert_eq!(again.asked_back, [] as [u32; 0]);
}

#[test]
fn after_the_wait_containers_end_and_others_take_their_place() {
    let mut scene = Scene::new(&[]);
    let marks = scene.preempt().marks;
    scene.engine.advance_clock(999);
    assert_eq!(scene.preempt(), Default::default());
    scene.engine.advance_clock(1);
    assert_eq!(scene.preempt().kills, marks);
    assert_eq!(scene.live(1), 16);
    assert_eq!(scene.pending(1), 4 * 1024, "never fetched, so asked again");
    (0..4).for_each(|_| scene.heartbeats());
    assert_eq!((scene.live(1), scene.live(2)), (16, 4));
}

#[test]
fn under_lazy_preemption_containers_end_only_for_others() {
    let lazy = "yarn.scheduler.capacity.lazy-preemption-enabled";
    let mut scene = Scene::new(&[(lazy, "true")]);
    let marks = scene.preempt().marks;
    scene.engine.advance_clock(1000);
    assert_eq!(scene.preempt().kills, marks);
    assert_eq!(scene.live(1), 20, "nobody needed a place yet");
    let killable = |scene: &Scene| {
        let nodes = scene.engine.ledger().state().nodes.iter();
        nodes.map(|node| node.killable.len()).sum::<usize>()
    };
    assert_eq!(killable(&scene), 4);
    (0..4).for_each(|_| scene.heartbeats());
    assert_eq!((scene.live(1), scene.live(2)), (16, 4));
    assert_eq!(killable(&scene), 0);
    assert_eq!(scene.pending(1), 0, "what was killable is not asked again");
}

#[test]
fn killable_containers_count_for_the_leaf_that_their_application_moved_to() {
    let lazy = "yarn.scheduler.capacity.lazy-preemption-enabled";
    let mut scene = Scene::new(&[(lazy, "true")]);
    scene.preempt();
    scene.engine.advance_clock(1000);
    scene.preempt();
    scene
        .engine
        .move_app(ApplicationId::new(1), "root.b")
        .unwrap();
    let ledger = scene.engine.ledger();
    let state = ledger.state();
    let of = |path: &str| {
        let queue = ledger.queue(path).unwrap();
        state
            .killable(queue, capsched::id::PartitionId::DEFAULT)
            .memory()
    };
    assert_eq!((of("root.a"), of("root.b"), of("root")), (0, 4096, 4096));
}

/// What a leaf has pending counts for each queue above it, which gets its ideal share by that.
#[test]
fn what_a_leaf_below_a_parent_wants_is_taken_for_it() {
    let tree = [
        (
            "yarn.scheduler.capacity.schedule-asynchronously.enable",
            "false",
        ),
        ("yarn.scheduler.capacity.root.queues", "a,p"),
        ("yarn.scheduler.capacity.root.p.capacity", "50"),
        ("yarn.scheduler.capacity.root.p.queues", "c,d"),
        ("yarn.scheduler.capacity.root.p.c.capacity", "50"),
        ("yarn.scheduler.capacity.root.p.d.capacity", "50"),
    ];
    for reserved in ["false", "true"] {
        let name = format!("{MONITOR}select_based_on_reserved_containers");
        let more = [tree.as_slice(), &[(name.as_str(), reserved)]].concat();
        let mut scene = Scene::with_second(&more, "root.p.c");
        assert_eq!(scene.preempt().marks.len(), 4, "reserved: {reserved}");
    }
}

#[test]
fn a_policy_that_is_off_decides_nothing() {
    let mut scene = Scene::new(&[]);
    scene.policy.settings.enabled = false;
    assert_eq!(scene.preempt(), Default::default());
}

/// A scene in which each node has 3 GiB free, and a reservation of 5 GiB of application 3 waits on
/// the first one.
fn with_reservation() -> Scene {
    let mut scene = Scene::new(&[]);
    scene.submit(3, "root.b");
    let second = ApplicationId::new(2);
    scene.engine.finish_app(second).unwrap();
    scene
        .engine
        .ask(ApplicationId::new(3), &asks(1, 5 * 1024))
        .unwrap();
    for number in 1..=6 {
        assert!(scene.engine.container_finished(container(1, number)));
    }
    scene.heartbeats();
    scene
}

fn carry_out(scene: &mut Scene, from: &str, kind: impl FnOnce(&Scene) -> VerdictKind) {
    let verdict = Verdict {
        container: container(3, 1),
        node: scene.engine.ledger().node(&node(from)).unwrap(),
        reason: PreemptionReason::QueuePriority,
        kind: kind(scene),
    };
    scene.engine.preempt(|_| Verdicts {
        observations: Vec::new(),
        verdicts: vec![verdict],
    });
}

fn reserved_on(scene: &Scene) -> Vec<&'static str> {
    let ledger = scene.engine.ledger();
    let reserved = |name: &&str| {
        let slot = ledger.node(&node(name)).unwrap();
        let held = ledger.reservation_on(slot).map(|held| held.id);
        held == Some(container(3, 1))
    };
    NODES.into_iter().filter(reserved).collect()
}

#[test]
fn a_reservation_moves_to_a_free_node_only_from_where_it_is() {
    let mut scene = with_reservation();
    assert_eq!(reserved_on(&scene), [NODES[0]]);
    let to = |name: &'static str| {
        move |scene: &Scene| VerdictKind::MoveReservation {
            to: scene.engine.ledger().node(&node(name)).unwrap(),
        }
    };
    carry_out(&mut scene, NODES[1], to(NODES[0]));
    assert_eq!(reserved_on(&scene), [NODES[0]], "it was not there");
    carry_out(&mut scene, NODES[0], to(NODES[1]));
    assert_eq!(reserved_on(&scene), [NODES[1]]);
    let slot = scene.engine.ledger().app(ApplicationId::new(3)).unwrap();
    let reserved = scene.engine.ledger().state().apps[slot]
        .part(PartitionId::DEFAULT)
        .reserved
        .get();
    assert_eq!(reserved.memory(), 5 * 1024);
    scene.engine.finish_app(ApplicationId::new(3)).unwrap();
    assert_eq!(reserved_on(&scene), [] as [&str; 0]);
}

#[test]
fn a_dropped_reservation_relieves_its_queue() {
    let mut scene = with_reservation();
    let used = |scene: &Scene| {
        let ledger = scene.engine.ledger();
        let slot = ledger.queue("root.b").unwrap();
        let part = ledger.state().queues[slot].part(PartitionId::DEFAULT);
        (part.used.memory(), part.reserved.memory())
    };
    assert_eq!(used(&scene), (5 * 1024, 5 * 1024));
    carry_out(&mut scene, NODES[0], |_| VerdictKind::DropReservation);
    assert_eq!(used(&scene), (0, 0));
    carry_out(&mut scene, NODES[0], |_| VerdictKind::DropReservation);
    assert_eq!(used(&scene), (0, 0), "a second time nothing happens");
}

#[test]
fn a_reservation_that_waits_too_long_is_dropped_and_told() {
    let mut scene = with_reservation();
    scene.policy.settings.enabled = false;
    scene.policy.settings.reservation_timeout_ms = Some(5000);
    scene.engine.take_events();
    scene.engine.advance_clock(4999);
    assert_eq!(scene.preempt(), Default::default());
    scene.engine.advance_clock(1);
    assert_eq!(scene.preempt().dropped, [container(3, 1)]);
    assert_eq!(scene.policy.count(Reason::ReservationTimeout), 1);
    assert_eq!(reserved_on(&scene), [] as [&str; 0]);
    let reason_of = |event: &Event| match event {
        Event::Unreserved { reason, .. } => Some(*reason),
        _ => None,
    };
    let events = scene.engine.take_events();
    let reasons: Vec<_> = events.iter().filter_map(reason_of).collect();
    assert_eq!(reasons, [UnreserveReason::Timeout]);
}

/// The one reason why application 2 waits.
fn why(scene: &Scene) -> WhyNot {
    let verdicts = scene.policy.explain(scene.engine.ledger());
    let mine = |verdict: &&capsched::api::AppVerdict| verdict.app == ApplicationId::new(2);
    let mine: Vec<_> = verdicts.iter().filter(mine).collect();
    assert_eq!(mine.len(), 1, "one reason each: {verdicts:?}");
    mine[0].reason
}

#[test]
fn each_reason_why_preemption_does_not_help_shows_in_its_scene() {
    assert_eq!(why(&Scene::new(&[])), WhyNot::AwaitingDeadline);
    type Change = fn(&mut Scene);
    let cases: [(Change, WhyNot); 7] = [
        (|scene| scene.policy.settings.enabled = false, WhyNot::Off),
        (
            |scene| scene.policy.settings.observe_only = true,
            WhyNot::ObserveOnly,
        ),
        (
            |scene| scene.policy.settings.max_ignored_over_capacity = 1.0,
            WhyNot::DeadZone,
        ),
        (
            |scene| scene.policy.settings.natural_termination_factor = 0.0,
            WhyNot::RoundedAway,
        ),
        (
            |scene| scene.policy.settings.total_per_round = 0.01,
            WhyNot::BudgetSpent,
        ),
        (
            |scene| scene.policy.settings.total_per_round = 0.0,
            WhyNot::BudgetSpent,
        ),
        (
            |scene| {
                for number in 1..=12 {
                    assert!(scene.engine.container_finished(container(1, number)));
                }
            },
            WhyNot::NobodyAboveShare,
        ),
    ];
    for (change, reason) in cases {
        let mut scene = Scene::new(&[]);
        change(&mut scene);
        assert_eq!(why(&scene), reason);
    }
    let protected = ("yarn.scheduler.capacity.root.a.disable_preemption", "true");
    assert_eq!(why(&Scene::new(&[protected])), WhyNot::Protected);
    let first = ApplicationId::new(1);
    let mut scene = Scene::new(&[]);
    scene.engine.move_app(first, "root.b").unwrap();
    assert_eq!(why(&scene), WhyNot::UserAtLimit);
    let small = ("yarn.scheduler.minimum-allocation-mb", "256");
    let mut scene = Scene::new(&[small]);
    scene.policy.settings.total_per_round = 0.03;
    assert_eq!(why(&scene), WhyNot::NoSuitableContainer);
    let generous = ("yarn.scheduler.capacity.root.b.user-limit-factor", "10");
    let mut scene = Scene::new(&[generous]);
    scene.engine.move_app(first, "root.b").unwrap();
    assert_eq!(why(&scene), WhyNot::QueueAtGuarantee);
    let lazy = ("yarn.scheduler.capacity.lazy-preemption-enabled", "true");
    let mut scene = Scene::new(&[lazy]);
    scene.preempt();
    scene.engine.advance_clock(1000);
    scene.preempt();
    assert_eq!(why(&scene), WhyNot::Killable);
}

#[test]
fn containers_on_their_way_are_named_with_their_deadline() {
    let mut scene = Scene::new(&[]);
    let marks = scene.preempt().marks;
    let verdicts = scene.policy.explain(scene.engine.ledger());
    let verdict = verdicts
        .iter()
        .find(|verdict| verdict.app == ApplicationId::new(2))
        .unwrap();
    assert_eq!(verdict.token(), "AWAITING_DEADLINE");
    let mut known: Vec<_> = verdict.containers.iter().map(|of| of.container).collect();
    known.sort_unstable();
    assert_eq!(known, marks);
    assert!(
        verdict
            .containers
            .iter()
            .all(|of| of.until_ms == Some(1000))
    );
    assert_eq!(verdict.rules(), [PreemptionReason::OverGuarantee]);
    assert_eq!(verdict.queues.concat(), "root.a");
    assert_eq!(
        scene.preempt(),
        Default::default(),
        "explaining changes nothing"
    );
}

#[test]
fn an_application_that_waits_for_room_for_its_master_is_told_so() {
    let tree = [
        (
            "yarn.scheduler.capacity.schedule-asynchronously.enable",
            "false",
        ),
        ("yarn.scheduler.capacity.root.queues", "a,b,c"),
        ("yarn.scheduler.capacity.root.b.capacity", "25"),
        ("yarn.scheduler.capacity.root.c.capacity", "25"),
        ("yarn.scheduler.capacity.root.a.disable_preemption", "true"),
        (
            "yarn.scheduler.capacity.root.c.maximum-am-resource-percent",
            "0.0",
        ),
    ];
    let mut scene = Scene::new(&tree);
    assert_eq!(why(&scene), WhyNot::Protected);
    for app in [3, 4] {
        let spec = AppSpec::new(ApplicationId::new(app), "root.c", "u");
        let spec = spec.with_master(ResourceVector::of(&[1024, 1]));
        scene.engine.submit(&spec).unwrap();
    }
    let verdicts = scene.policy.explain(scene.engine.ledger());
    let last = verdicts.iter().find(|row| row.app == ApplicationId::new(4));
    assert_eq!(last.map(|row| row.reason), Some(WhyNot::NotActive));
}
