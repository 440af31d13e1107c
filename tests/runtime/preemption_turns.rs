//! Rounds of preemption that look at a copy, which is made in parts with other commands in between: they see and decide
//! the same as a look at the ledger in one piece.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Desk, GangAsk, Latencies, Mode, NodeName,
    NodeReport, NodeSpec, OpportunisticSettings, PartitionSpec, PreemptionSettings, Rescheduler,
    ResourceVector, Sequential, Threaded, TreeSettings,
};
use capsched::commit::{ContainerState, InPasses, PlacedCopy, RunningCopy, SeenContainer, Verdict};
use capsched::id::{NodeSlot, Set};
use capsched::queue::{ConfiguredState, ContainerChange, ContainerUpdate};
use capsched::rescheduler::{IntraQueueSettings, QueuePrioritySettings};
use capsched::time::ManualClock;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::RngSeed;

use super::trees::settings_at;
use super::turns::alone;

/// Nodes at the start, each with room for sixteen units.
const NODES: u32 = 6;

const QUEUES: [&str; 3] = ["root.a", "root.b", "root.c"];

fn tree(share: &str, rest: &str) -> TreeSettings {
    let label = ["root", "root.a", "root.b", "root.c"].map(|queue| {
        let share = match queue {
            "root" => "100",
            "root.a" => "20",
            _ => "40",
        };
        let key = format!("{queue}.accessible-node-labels");
        [(format!("{key}.gpu.capacity"), share), (key, "gpu")]
    });
    let own = [
        ("root.queues", "a,b,c"),
        ("root.a.capacity", share),
        ("root.b.capacity", rest),
        ("root.c.capacity", "20"),
        ("root.a.ordering-policy", "fair"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("root.c.user-limit-factor", "10"),
        ("root.ordering-policy", "priority-utilization"),
        ("root.c.priority", "3"),
        ("maximum-am-resource-percent", "1"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "100"),
        ("per-node-heartbeat.maximum-container-assignments", "100"),
    ];
    let label = label.iter().flatten().map(|(key, value)| (&**key, *value));
    let monitor = [("yarn.resourcemanager.scheduler.monitor.enable", "true")];
    let mut settings = settings_at(monitor, own.into_iter().chain(label));
    settings.scheduler.opportunistic = Some(OpportunisticSettings::default());
    settings
}

/// Rounds that use every selector, of as much as there is.
fn policy() -> Rescheduler {
    let priority = QueuePrioritySettings {
        reserved_container_delay_ms: 0,
        may_move_reservations: true,
    };
    let settings = PreemptionSettings {
        enabled: true,
        monitoring_interval_ms: 3_600_000,
        max_wait_before_kill_ms: 20,
        total_per_round: 1.0,
        natural_termination_factor: 1.0,
        max_ignored_over_capacity: 0.0,
        for_reservations: true,
        balance: Some(20),
        intra_queue: Some(IntraQueueSettings {
            minimum_threshold: 0.0,
            max_allowable_limit: 1.0,
            ..IntraQueueSettings::default()
        }),
        queue_priority: Some(priority),
        reservation_timeout_ms: Some(40),
        ..PreemptionSettings::default()
    };
    Rescheduler::new(settings).recording()
}

fn name(node: u32) -> NodeName {
    NodeName::new(&format!("n{node}"), 1).unwrap()
}

fn size(units: i64) -> ResourceVector {
    ResourceVector::of(&[1024 * units, units])
}

/// Every fifth node has a label that queues of the default partition may borrow.
fn spec(node: u32) -> NodeSpec {
    let label = if node % 5 == 4 { "gpu" } else { "" };
    NodeSpec {
        partition: label.to_owned(),
        ..NodeSpec::new(name(node), size(16))
    }
}

fn engine(settings: TreeSettings) -> Sequential {
    let label = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: false,
    };
    let mut engine = Sequential::new(settings, &[label]).unwrap();
    for node in 0..NODES {
        engine.add_node(&spec(node)).unwrap();
    }
    engine
}

/// What others do between two parts.
#[derive(Clone, Debug)]
enum Step {
    Submit(u32, usize, usize),
    Ask(u32, i64, i32, bool),
    Release(u32, u32),
    Resize(u32, u32, i64),
    Gang(u32, u32),
    Beat(u32),
    AddNode(u32),
    RemoveNode(u32),
    EndAttempt(u32),
    Finish(u32),
    Move(u32, usize),
    Refresh(bool),
    Stop,
    Pass(u64),
    /// A round in one piece, which is carried out.
    Round,
}

fn steps() -> impl Strategy<Value = Step> {
    let (app, number, node) = (|| 1..7_u32, || 1..40_u32, || 0..NODES + 3);
    prop_oneof![
        3 => (app(), 0..3_usize, 0..3_usize).prop_map(|(app, queue, user)| Step::Submit(app, queue, user)),
        5 => (app(), 1..9_i64, 0..30_i32, any::<bool>())
            .prop_map(|(app, units, count, label)| Step::Ask(app, units, count, label)),
        2 => (app(), number()).prop_map(|(app, number)| Step::Release(app, number)),
        3 => (app(), number(), 1..9_i64).prop_map(|(app, number, units)| Step::Resize(app, number, units)),
        1 => (app(), 1..12_u32).prop_map(|(app, minimum)| Step::Gang(app, minimum)),
        9 => node().prop_map(Step::Beat),
        1 => node().prop_map(Step::AddNode),
        1 => node().prop_map(Step::RemoveNode),
        1 => app().prop_map(Step::EndAttempt),
        1 => app().prop_map(Step::Finish),
        1 => (app(), 0..3_usize).prop_map(|(app, queue)| Step::Move(app, queue)),
        1 => any::<bool>().prop_map(Step::Refresh),
        1 => Just(Step::Stop),
        2 => (1..30_u64).prop_map(Step::Pass),
        2 => Just(Step::Round),
    ]
}

/// A ledger, and the policy that looks at it.
struct World {
    desk: Desk,
    policy: Rescheduler,
}

impl World {
    fn of(engine: Sequential) -> Self {
        Self {
            desk: Desk::of(engine),
            policy: policy(),
        }
    }

    fn call(&mut self, app: u32, call: AskCall) {
        let app = ApplicationId::new(app);
        // Refusals are as good as other answers.
        drop(alone(&mut self.desk, |desk| desk.ask(vec![(app, call)])));
    }

    fn step(&mut self, step: &Step) {
        let app = ApplicationId::new;
        match *step {
            Step::Ask(of, units, count, labelled) => {
                let ask = Ask {
                    partition: labelled.then(|| "gpu".to_owned()),
                    ..Ask::anywhere(size(units), count)
                };
                self.call(of, AskCall::asking(vec![ask]));
            }
            Step::Release(of, number) => {
                let release = vec![number];
                self.call(
                    of,
                    AskCall {
                        release,
                        ..AskCall::default()
                    },
                );
            }
            Step::Resize(of, container, units) => {
                let change = match units {
                    ..3 => ContainerChange::Decrease(size(units)),
                    3 => ContainerChange::Demote,
                    4 => ContainerChange::Promote,
                    _ => ContainerChange::Increase(size(units)),
                };
                let update = ContainerUpdate {
                    container,
                    version: 0,
                    change,
                };
                self.call(of, AskCall::updating(vec![update]));
            }
            Step::Pass(ms) => {
                self.desk.pass(Duration::from_millis(ms));
                self.desk.turn();
            }
            Step::Round => {
                let verdicts = self.policy.round(self.desk.ledger());
                drop(alone(&mut self.desk, |desk| desk.preempt(verdicts)));
            }
            Step::Submit(of, queue, user) => {
                let user = ["ann", "bob", "cy"][user];
                let spec = AppSpec::new(app(of), QUEUES[queue], user).with_master(size(1));
                drop(alone(&mut self.desk, |desk| desk.submit(spec)));
            }
            _ => self.change(step),
        }
    }

    /// What concerns whole applications, nodes or queues.
    fn change(&mut self, step: &Step) {
        let (desk, app) = (&mut self.desk, ApplicationId::new);
        match *step {
            Step::Gang(of, minimum) => {
                let gang = GangAsk::of(minimum, size(2), 50);
                drop(alone(desk, |desk| desk.ask_gang(app(of), gang)));
            }
            Step::Beat(node) => {
                let report = vec![(name(node), NodeReport::AsExpected)];
                drop(alone(desk, |desk| desk.heartbeat_all(report)));
            }
            Step::AddNode(node) => drop(alone(desk, |desk| desk.add_node(spec(node)))),
            Step::RemoveNode(node) => drop(alone(desk, |desk| desk.remove_node(name(node)))),
            Step::EndAttempt(of) => drop(alone(desk, |desk| desk.end_attempt(app(of)))),
            Step::Finish(of) => drop(alone(desk, |desk| desk.finish_app(app(of)))),
            Step::Move(of, to) => {
                drop(alone(desk, |desk| desk.move_app(app(of), QUEUES[to])));
            }
            Step::Refresh(first) => {
                let next = if first {
                    tree("30", "50")
                } else {
                    tree("50", "30")
                };
                drop(alone(desk, |desk| desk.reconfigure(next)));
            }
            _ => {
                let mut next = tree("40", "40");
                for queue in &mut next.queues {
                    if &*queue.path == "root.a" {
                        queue.state = Some(ConfiguredState::Stopped);
                    }
                }
                drop(alone(desk, |desk| desk.reconfigure(next)));
            }
        }
    }

    /// A copy that is finished shows what the ledger has, and a round on it decides the same; its verdicts.
    fn compare(&self, copy: &PlacedCopy) -> Vec<Verdict> {
        let ledger = self.desk.ledger();
        let state = ledger.state();
        for node in (0..state.nodes.len()).map(NodeSlot::at) {
            let placed = ledger.containers_of_node(node).map(SeenContainer::from);
            assert_eq!(copy.on_node(node), placed.collect::<Vec<_>>());
            let reserved = ledger.reservation_on(node).map(SeenContainer::from);
            assert_eq!(copy.reservation_on(node), reserved.as_ref());
        }
        let whole: Set<ContainerId> = ledger.whole_gangs().flatten().copied().collect();
        assert_eq!(copy.whole_gang_members(), whole);
        let mut registered = ledger.nodes_by_registration();
        assert!(registered.is_sorted_by_key(|&node| copy.position(node)));
        registered.dedup_by_key(|node| copy.position(*node));
        assert_eq!(registered.len(), state.node_count);
        assert_eq!(copy.now_ms(), ledger.now_ms());

        let (mut expected, mut found) = (self.policy.clone(), self.policy.clone());
        let verdicts = expected.round(ledger).verdicts;
        let on_copy = found.round_on_copy(&state.clone(), copy);
        assert_eq!(on_copy.verdicts, verdicts);
        assert!(on_copy.observations.is_empty());
        for app in (1..10).map(ApplicationId::new) {
            assert_eq!(found.last_verdict(app), expected.last_verdict(app));
        }
        verdicts
    }

    /// A copy that is finished shows every live container of every application once, as it is now.
    fn compare_running(&self, copy: &RunningCopy) {
        let ledger = self.desk.ledger();
        let in_one_piece = InPasses::<RunningCopy>::in_one_piece(ledger);
        assert!(copy.by_node().eq(in_one_piece.by_node()));
        assert_eq!(copy.place_names(), ledger.place_names());
        assert_eq!(copy.whole_gangs(), ledger.whole_gangs().count());
        let mut copied: Vec<_> = copy.by_node().flat_map(|(_, live)| live).collect();
        copied.sort_unstable_by_key(|live| live.running.id);
        let copied = copied
            .iter()
            .map(|live| (live.running.id, live.launched, live.borrowed));
        let apps = ledger.apps_by_id().into_iter();
        let live = apps.flat_map(|(_, app)| ledger.live_containers(app));
        let live = live.filter(|of| !of.is_auxiliary());
        let live = live.map(|of| (of.id, of.state == ContainerState::Running, of.borrowed));
        assert_eq!(copied.collect::<Vec<_>>(), live.collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(41),
        ..ProptestConfig::default()
    })]

    /// Whatever goes between the parts.
    #[test]
    fn a_copy_in_parts_shows_what_a_look_in_one_piece_does(
        before in vec(steps(), 10..80),
        parts in vec((1..9_usize, vec(steps(), 0..4)), 1..12),
        after in vec(steps(), 0..20),
    ) {
        let mut world = World::of(engine(tree("40", "40")));
        before.iter().for_each(|step| world.step(step));
        let (mut copy, mut running) = (InPasses::<PlacedCopy>::default(), InPasses::<RunningCopy>::default());
        for (most, steps) in &parts {
            copy.go_on(world.desk.ledger(), *most);
            running.go_on(world.desk.ledger(), *most);
            steps.iter().for_each(|step| world.step(step));
        }
        let verdicts = world.compare(copy.finish(world.desk.ledger()));
        world.compare_running(running.finish(world.desk.ledger()));
        // A copy may be finished again later, and verdicts are carried out whatever changes before.
        after.iter().for_each(|step| world.step(step));
        world.compare(copy.finish(world.desk.ledger()));
        let verdicts = capsched::commit::Verdicts { verdicts, ..Default::default() };
        drop(alone(&mut world.desk, |desk| desk.preempt(verdicts)));
        world.compare(copy.finish(world.desk.ledger()));
        world.compare_running(running.finish(world.desk.ledger()));
    }
}

/// One leaf has all containers, and another one waits for more than there is.
fn contended() -> World {
    let mut world = World::of(engine(tree("40", "40")));
    for step in [Step::Submit(1, 0, 0), Step::Submit(2, 1, 1)] {
        world.step(&step);
    }
    (0..NODES).for_each(|node| world.step(&Step::Beat(node)));
    world.step(&Step::Ask(1, 1, 200, false));
    (0..NODES).for_each(|node| world.step(&Step::Beat(node)));
    // It fetches them, and nodes report them.
    world.step(&Step::Ask(1, 1, 0, false));
    (0..NODES).for_each(|node| world.step(&Step::Beat(node)));
    world.step(&Step::Ask(2, 1, 200, false));
    world
}

/// Each change between the first pass and the last one has the round decide otherwise than on the first one.
#[test]
fn a_round_decides_on_what_there_is_at_last() {
    let of_first = {
        let world = contended();
        let mut copy = InPasses::<PlacedCopy>::default();
        assert!(copy.go_on(world.desk.ledger(), usize::MAX));
        world.compare(copy.finish(world.desk.ledger()))
    };
    assert!(of_first.len() > 10, "{of_first:?}");
    // The first choice, unless it ends.
    let numbers = of_first.iter().map(|verdict| verdict.container.number);
    let youngest = numbers.max().unwrap();
    let changes: [&[Step]; 8] = [
        &[Step::Release(1, youngest)],
        &[Step::RemoveNode(5)],
        &[Step::Finish(1)],
        &[Step::Refresh(false)],
        &[
            Step::Release(1, 20),
            Step::Ask(1, 1, 3, false),
            Step::Beat(0),
            Step::Beat(1),
        ],
        &[Step::Release(1, 20), Step::Gang(1, 1)],
        &[Step::Move(1, 1)],
        &[Step::Stop],
    ];
    for steps in changes {
        let mut world = contended();
        let mut copy = InPasses::<PlacedCopy>::default();
        assert!(copy.go_on(world.desk.ledger(), usize::MAX));
        steps.iter().for_each(|step| world.step(step));
        let verdicts = world.compare(copy.finish(world.desk.ledger()));
        let is_stop = matches!(steps, [Step::Stop]);
        assert_eq!(verdicts == of_first, is_stop, "{steps:?} {verdicts:?}");
        // What was decided before the change has no effect on what is gone, and none on others.
        let before = capsched::commit::Verdicts {
            verdicts: of_first.clone(),
            ..Default::default()
        };
        drop(alone(&mut world.desk, |desk| desk.preempt(before)));
        world.compare(copy.finish(world.desk.ledger()));
    }
}

/// Each part copies so many containers, and later passes those of nodes that changed.
#[test]
fn a_copy_has_parts_and_passes() {
    let mut world = contended();
    let mut copy = InPasses::<PlacedCopy>::default();
    let mut parts = 1;
    while !copy.go_on(world.desk.ledger(), 16) {
        assert!(!copy.is_near(usize::MAX), "the first pass is under way");
        world.step(&Step::Pass(1));
        parts += 1;
    }
    assert!(parts >= 5, "{parts}");
    assert!(!copy.is_near(50) && copy.is_near(200));
    assert!(copy.go_on(world.desk.ledger(), 16) && copy.is_near(0));
    world.step(&Step::Release(1, 20));
    let nodes = (0..NODES).map(Step::Beat);
    nodes.for_each(|beat| world.step(&beat));
    assert!(copy.go_on(world.desk.ledger(), 100));
    assert!(!copy.is_near(0) && copy.is_near(40));
}

/// Builds with assertions compare each look in parts with one in one piece of the same moment.
#[test]
fn rounds_beside_calls_of_other_threads_see_the_state_of_one_moment() {
    for mode in [
        Mode::Heartbeat,
        Mode::Asynchronous { threads: 2 },
        Mode::Global { threads: 2 },
    ] {
        let clock = ManualClock::at(0);
        let engine = engine(tree("40", "40"));
        let mut engine = Threaded::take_over(engine, mode, clock.clone(), Latencies::Off).unwrap();
        let policy = Box::new(policy());
        engine.start_monitor(policy, clock.clone()).unwrap();
        let _first = engine.preempt_if_due();
        std::thread::scope(|scope| {
            let rounds = scope.spawn(|| {
                for _ in 0..60 {
                    clock.advance(Duration::from_millis(7));
                    assert!(engine.preempt_now().is_some());
                    let _ = engine.explain_preemption();
                }
            });
            let mut turn = 0;
            while !rounds.is_finished() {
                beside_rounds(&engine, turn);
                turn += 1;
            }
        });
        let panics = engine.worker_panics();
        assert_eq!((panics.count, panics.last), (0, None), "{mode:?}");
        assert!(engine.monitor_rounds() >= 61);
    }
}

/// Refusals are as good as other answers.
fn beside_rounds(engine: &Threaded, turn: u32) {
    let app = ApplicationId::new(1 + turn % 6);
    match turn % 97 {
        96 => drop(engine.finish_app(app)),
        90 => drop(engine.remove_node(name(turn % NODES))),
        91 => drop(engine.add_node(spec(turn % NODES))),
        50 => drop(engine.reconfigure(tree("50", "30"))),
        10 => drop(engine.reconfigure(tree("30", "50"))),
        30..36 => {
            let queue = QUEUES[turn as usize % 3];
            drop(engine.submit(AppSpec::new(app, queue, "ann")));
        }
        rest if rest % 3 == 0 => {
            let ask = Ask::anywhere(size(1 + i64::from(turn % 5)), 10);
            drop(engine.ask(app, AskCall::asking(vec![ask])));
        }
        rest if rest % 3 == 1 => {
            let release = vec![turn % 60, turn % 31];
            let call = AskCall {
                release,
                ..AskCall::default()
            };
            drop(engine.ask(app, call));
        }
        _ => drop(engine.heartbeat(name(turn % NODES), NodeReport::AsExpected)),
    }
}
