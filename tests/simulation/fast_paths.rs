//! Every fast path decides as its slow path does, and the comparison notices every planted flaw.
//!
//! The seeds of the simulation play whole engines, step by step. The same seed is played with all fast
//! paths, with each slow path alone and with all slow paths: the hashes of the decisions are equal.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Desk, GangAsk, Mode, NodeSpec,
    PartitionSpec, Pipeline, Sequential, StateView, TreeSettings,
};
use capsched::commit::{InPasses, PlacedCopy, TreeCopy};
use capsched::config;
use capsched::fast_path::{AllFast, FastPath, PlantedFlaw, with_flaw, with_slow};
use capsched::id::NodeSlot;
use capsched::proposer::FitIndex;
use capsched::resource::{Calculator, NARROW, ResourceVector};
use capsched::simulator::faults::{self, Action, GameOutcome, Setup};
use capsched::time::ManualClock;

use crate::cases::{MODES, case};
use crate::skipping::{Outcome, play};

/// Seeds that the quick form plays.
const SEEDS: u64 = 24;

/// Steps of each seed, before the calm end.
const STEPS: usize = 300;

fn games() -> impl Iterator<Item = (u64, Setup, Vec<Action>)> {
    (0..SEEDS).map(|seed| {
        let setup = Setup::of(seed);
        let actions = faults::draw(&setup, STEPS);
        (seed, setup, actions)
    })
}

/// What one game came to: the hash of its decisions, or the invariant that broke.
fn result(outcome: &GameOutcome) -> (u64, Option<&'static str>) {
    let failure = outcome.failure.as_ref();
    (outcome.digest, failure.map(|(_, violation)| violation.id))
}

#[test]
fn all_slow_paths_together_decide_alike() {
    let _fast = AllFast::begin();
    for (seed, setup, actions) in games() {
        let fast = result(&faults::run(&setup, &actions));
        let slow = with_slow(FastPath::ALL, || result(&faults::run(&setup, &actions)));
        assert_eq!(fast, slow, "seed {seed}");
        assert_eq!(fast.1, None, "seed {seed}");
    }
}

#[test]
fn each_slow_path_alone_decides_alike() {
    let _fast = AllFast::begin();
    for (seed, setup, actions) in games() {
        let path = FastPath::ALL[usize::try_from(seed).unwrap_or(0) % FastPath::ALL.len()];
        let fast = result(&faults::run(&setup, &actions));
        let slow = with_slow(&[path], || result(&faults::run(&setup, &actions)));
        assert_eq!(fast, slow, "seed {seed}, {path:?}");
    }
}

/// Whether a quotient differs from its division where the exact one lies between two floats.
fn divides_wrongly() -> bool {
    let calculator = Calculator::Dominant { types: NARROW };
    let between = (1 << 25) - 1;
    (3..4000).any(|whole: i64| {
        let total = ResourceVector::of(&[whole, whole]);
        let amount = ResourceVector::of(&[whole * between, 0]);
        let prepared = calculator.divisor(&total, &total);
        let quotient = calculator.quotient(&total, &amount, &prepared);
        quotient.to_bits() != calculator.divide(&total, &amount, &total).to_bits()
    })
}

/// Whether an index misses room that was freed on a full node in the midst of many.
fn finds_wrongly() -> bool {
    let nodes: Vec<_> = (0..600).map(NodeSlot::at).collect();
    let mut index = FitIndex::new(nodes.clone(), NARROW);
    for &node in &nodes {
        index.set(node, Some(&ResourceVector::of(&[1, 1])));
    }
    let size = ResourceVector::of(&[8, 1]);
    assert_eq!(index.first_fit(&size), None);
    index.set(nodes[400], Some(&ResourceVector::of(&[9, 9])));
    // A size that was not looked for yet begins at the first node.
    let size = ResourceVector::of(&[7, 1]);
    let scanned = with_slow(&[FastPath::FitIndexBounds], || index.first_fit(&size));
    index.first_fit(&size) != scanned
}

/// A tree of one leaf, `root.a`.
fn one_leaf(pairs: &[(&str, &str)]) -> TreeSettings {
    let common = [("root.queues", "a"), ("root.a.capacity", "100")];
    let own =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    let pairs = common.iter().chain(pairs).copied().map(own).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.unwrap().settings
}

/// A node of 4 GiB.
fn node(name: &str) -> NodeSpec {
    NodeSpec::new(name.parse().unwrap(), ResourceVector::of(&[4096, 16]))
}

/// One proposer for all nodes, step by step, over one leaf and four nodes.
fn pipeline(pairs: &[(&str, &str)]) -> Pipeline {
    let (mode, clock) = (Mode::Global { threads: 1 }, ManualClock::at(1_000_000));
    let mut pipeline = Pipeline::new(one_leaf(pairs), &[], mode, 8, clock).unwrap();
    for name in ["n0:1", "n1:1", "n2:1", "n3:1"] {
        pipeline
            .call(|engine| engine.add_node(&node(name)))
            .unwrap();
    }
    pipeline
}

/// An application asks for containers of so many MiB, with a priority of their own.
fn ask(pipeline: &mut Pipeline, app: ApplicationId, asks: &[(i32, i64, i32)]) {
    let asks = asks.iter().map(|&(priority, memory, count)| Ask {
        priority,
        ..Ask::anywhere(ResourceVector::of(&[memory, 1]), count)
    });
    let call = AskCall::asking(asks.collect());
    pipeline.call(|engine| engine.ask(app, &call)).unwrap();
}

/// The decisions that a proposer had made when it died before the first, the second and so on.
fn lost_by_deaths() -> Vec<Option<usize>> {
    let lost = |decision| {
        let mut pipeline = pipeline(&[]);
        let app = ApplicationId::new(1);
        let spec = AppSpec::new(app, "root.a", "ann");
        pipeline.call(|engine| engine.submit(&spec)).unwrap();
        ask(
            &mut pipeline,
            app,
            &[(1, 1024, 2), (2, 1024, 5), (3, 1024, 3)],
        );
        pipeline.publish();
        pipeline.sort_nodes();
        pipeline.catch_up(0, true);
        pipeline.die_in_turn(0, decision)
    };
    (1..=11).map(lost).collect()
}

/// What is known of a leaf whose user is granted each of five containers that a batch commits.
fn granted_in_batch() -> StateView {
    let mut pipeline = pipeline(&[("root.a.minimum-user-limit-percent", "25")]);
    let app = ApplicationId::new(1);
    let spec = AppSpec::new(app, "root.a", "ann");
    pipeline.call(|engine| engine.submit(&spec)).unwrap();
    ask(&mut pipeline, app, &[(1, 1024, 9)]);
    pipeline.publish();
    pipeline.sort_nodes();
    pipeline.catch_up(0, true);
    pipeline.turn(0);
    pipeline.hand_over(0);
    pipeline.commit(0).unwrap();
    pipeline.call(|engine| StateView::of(engine.ledger()))
}

/// Active users of a leaf after a pass over the live state that finds nothing for a user who is granted what it
/// uses, while another user's application waits for room for its master.
fn counted_by_live_pass() -> i32 {
    let mut pipeline = pipeline(&[("maximum-am-resource-percent", "0.06")]);
    let app = ApplicationId::new;
    let submit = |pipeline: &mut Pipeline, number, user| {
        let spec = AppSpec::new(app(number), "root.a", user);
        let spec = spec.with_master(ResourceVector::of(&[1024, 1]));
        pipeline.call(|engine| engine.submit(&spec)).unwrap();
    };
    submit(&mut pipeline, 1, "ann");
    pipeline.call(|engine| engine.schedule_partition("", 1));
    ask(&mut pipeline, app(1), &[(2, 1024, 1)]);
    pipeline.call(|engine| engine.schedule_partition("", 1));
    // A host that is not there, and nothing else will do.
    let places = ["*", "/default-rack", "n9"].map(|place| Ask {
        place: place.to_owned(),
        relax_locality: false,
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)
    });
    let call = AskCall::asking(places.to_vec());
    pipeline.call(|engine| engine.ask(app(1), &call)).unwrap();
    // The answer computed the limit of the version of the users, which the end of a container ends.
    submit(&mut pipeline, 2, "bob");
    let second = ContainerId::new(app(1), 2);
    assert!(pipeline.call(|engine| engine.container_finished(second)));
    pipeline.call(|engine| engine.schedule_partition("", 1));
    let view = pipeline.call(|engine| StateView::of(engine.ledger()));
    let leaf = view.queues[1].leaf.as_ref().unwrap();
    assert_eq!((leaf.active_apps, leaf.pending_apps), (1, 1));
    leaf.num_active_users
}

/// Whether a proposer dies at another decision, or users are counted otherwise, than on slow paths.
fn counts_wrongly() -> bool {
    let on = |path, counts: fn() -> i32| with_slow(&[path], counts);
    let lost = with_slow(&[FastPath::BulkPlacement], lost_by_deaths);
    lost_by_deaths() != lost
        || counted_by_live_pass() != on(FastPath::GrantedUser, counted_by_live_pass)
}

#[test]
fn a_proposer_dies_at_the_same_decision_on_each_path() {
    let _fast = AllFast::begin();
    let fast = lost_by_deaths();
    assert!(fast.iter().copied().eq((0..=10).map(Some)), "{fast:?}");
    for &path in FastPath::ALL {
        assert_eq!(with_slow(&[path], lost_by_deaths), fast, "{path:?}");
    }
}

#[test]
fn users_are_noted_and_counted_alike_on_each_path() {
    let _fast = AllFast::begin();
    let (view, count) = (granted_in_batch(), counted_by_live_pass());
    let users = &view.queues[1].leaf.as_ref().unwrap().users;
    assert!(users["ann"].last_limit.is_some());
    for &path in FastPath::ALL {
        assert_eq!(with_slow(&[path], granted_in_batch), view, "{path:?}");
        assert_eq!(with_slow(&[path], counted_by_live_pass), count, "{path:?}");
    }
}

/// Whether a leaf activates another number of applications once a node gives their masters room.
fn activates_wrongly() -> bool {
    let settings = one_leaf(&[("maximum-am-resource-percent", "0.5")]);
    let active = || {
        let mut engine = Sequential::new(settings.clone(), &[]).unwrap();
        engine.add_node(&node("n0:1")).unwrap();
        for number in 1..=6 {
            let spec = AppSpec::new(ApplicationId::new(number), "root.a", "ann");
            let spec = spec.with_master(ResourceVector::of(&[1024, 1]));
            engine.submit(&spec).unwrap();
        }
        engine.add_node(&node("n1:1")).unwrap();
        let queues = engine.ledger().state().queues.iter();
        let leaves = queues.filter_map(|queue| queue.leaf.as_ref());
        leaves.map(|leaf| leaf.active.len()).sum::<usize>()
    };
    let slow = with_slow(&[FastPath::WaitingClasses], active);
    assert_eq!(slow, 4, "half of two nodes are four masters");
    active() != slow
}

/// Whether a refresh is taken over though a leaf counts on a partition since it was prepared.
fn refreshes_wrongly() -> bool {
    let settings = one_leaf(&[
        ("root.accessible-node-labels", "gpu"),
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
        ("root.queues", "a,b"),
        ("root.b.capacity", "0"),
        // By the share of the cluster it would be none.
        ("root.b.maximum-applications", "10"),
    ]);
    let label = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let mut desk = Desk::of(Sequential::new(settings.clone(), &[label]).unwrap());
    let app = ApplicationId::new(1);
    let mut submitted = desk.submit(AppSpec::new(app, "root.b", "ann"));
    desk.turn();
    assert!(submitted.take().unwrap().is_ok());
    let mut copy = TreeCopy::of(desk.ledger());
    assert!(copy.go_on(desk.ledger(), &mut { usize::MAX }));
    let ask = Ask {
        partition: Some("gpu".to_owned()),
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)
    };
    let mut asked = desk.ask(vec![(app, AskCall::asking(vec![ask]))]);
    desk.turn();
    assert!(asked.take().unwrap()[0].is_ok());
    let mut installed = desk.install(copy.prepare(Box::new(settings)).unwrap());
    desk.turn();
    installed.take().unwrap().0.is_some()
}

/// Whether a gang is placed or counted otherwise than member by member.
fn places_wrongly() -> bool {
    let place = || {
        let mut engine = Sequential::new(one_leaf(&[]), &[]).unwrap();
        for name in ["n0:1", "n1:1"] {
            engine.add_node(&node(name)).unwrap();
        }
        let app = ApplicationId::new(1);
        engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
        let gang = GangAsk {
            elastic: 1,
            ..GangAsk::of(6, ResourceVector::of(&[1024, 1]), 60_000)
        };
        engine.ask_gang(app, &gang).unwrap();
        let apps = engine.ledger().state().apps.iter();
        let looks = apps.flat_map(|app| &app.keys).map(|key| key.opportunities);
        (StateView::of(engine.ledger()), looks.collect::<Vec<_>>())
    };
    let slow = with_slow(&[FastPath::GangTogether], place);
    assert_eq!(slow.1, [6], "each member is one opportunity");
    place() != slow
}

/// Whether a copy shows another number of containers on a node than there are once one ended.
fn copies_wrongly() -> bool {
    let mut engine = Sequential::new(one_leaf(&[]), &[]).unwrap();
    engine.add_node(&node("n0:1")).unwrap();
    let app = ApplicationId::new(1);
    engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 3);
    engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    engine.schedule_partition("", 3);
    let mut copy = InPasses::<PlacedCopy>::default();
    assert!(copy.go_on(engine.ledger(), usize::MAX));
    assert!(engine.container_finished(ContainerId::new(app, 2)));
    let copy = copy.finish(engine.ledger());
    let on_node = engine.ledger().containers_of_node(NodeSlot::at(0));
    copy.on_node(NodeSlot::at(0)).len() != on_node.count()
}

/// Whether a fetch in a pause of a refresh leaves bounds that do not hold.
fn fetches_wrongly() -> bool {
    // The first pause is before the 64th queue, which has the application.
    let empty: Vec<_> = (0..62).map(|leaf| format!("e{leaf}")).collect();
    let settings = |capacity: u32| {
        let others = empty
            .iter()
            .map(|name| (format!("root.{name}.capacity"), "0".to_owned()));
        let pairs = [
            ("root.queues".to_owned(), format!("{},a,b", empty.join(","))),
            ("root.a.capacity".to_owned(), capacity.to_string()),
            ("root.b.capacity".to_owned(), (100 - capacity).to_string()),
        ];
        let pairs: Vec<_> = pairs.into_iter().chain(others).collect();
        let pairs = pairs
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        one_leaf(&pairs.collect::<Vec<_>>())
    };
    let mut engine = Sequential::new(settings(60), &[]).unwrap();
    let app = ApplicationId::new(1);
    engine.add_node(&node("n0:1")).unwrap();
    engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    engine.add_node(&node("n1:1")).unwrap();
    let mut desk = Desk::publishing(engine);
    let mut copy = TreeCopy::of(desk.ledger());
    assert!(copy.go_on(desk.ledger(), &mut { usize::MAX }));
    let mut fetch = desk.fetch_in_part(app, 0);
    let mut installed = desk.install(copy.prepare(Box::new(settings(20))).unwrap());
    desk.turn();
    desk.turn();
    assert!(fetch.take().unwrap().is_ok());
    installed.take().unwrap().0 != Some(Ok(()))
}

/// Whether replays without threads decide or count otherwise than when every attempt is carried out.
fn skips_wrongly() -> bool {
    let counters = |(report, counters): Outcome| (report.decisions, counters);
    let mut runs = (0..12).flat_map(|seed| MODES.map(|mode| (seed, mode)));
    runs.any(|(seed, mode)| {
        let case = case(seed, mode);
        let plain = with_slow(&[FastPath::FruitlessAttempts], || play(&case, false));
        counters(play(&case, false)) != counters(plain)
    })
}

/// Whether a planted flaw is noticed: by another hash, by a broken invariant, or by an assertion.
fn is_noticed(flaw: PlantedFlaw, sound: &[(u64, Option<&'static str>)]) -> bool {
    let activates = || catch_unwind(activates_wrongly).unwrap_or(true);
    let counts = || catch_unwind(counts_wrongly).unwrap_or(true);
    let finds = || catch_unwind(finds_wrongly).unwrap_or(true);
    let refreshes = || catch_unwind(refreshes_wrongly).unwrap_or(true);
    let places = || catch_unwind(places_wrongly).unwrap_or(true);
    let copies = || catch_unwind(copies_wrongly).unwrap_or(true);
    let fetches = || catch_unwind(fetches_wrongly).unwrap_or(true);
    with_flaw(flaw, || {
        let divides = divides_wrongly() || finds();
        let of_calls = || refreshes() || places() || copies() || fetches();
        divides || activates() || counts() || of_calls()
    }) || games().zip(sound).any(|((_, setup, actions), sound)| {
        let flawed = || with_flaw(flaw, || result(&faults::run(&setup, &actions)));
        // A panic outside of a step is noticed as well.
        catch_unwind(AssertUnwindSafe(flawed)).map_or(true, |flawed| flawed != *sound)
    }) || with_flaw(flaw, || catch_unwind(skips_wrongly).unwrap_or(true))
}

/// Each flaw is noticed by another hash, by a broken invariant, by an assertion, or by a direct comparison.
#[test]
fn every_flaw_of_a_fast_path_is_noticed() {
    let _fast = AllFast::begin();
    assert!(!divides_wrongly() && !finds_wrongly() && !activates_wrongly() && !counts_wrongly());
    assert!(!skips_wrongly() && !refreshes_wrongly() && !places_wrongly());
    assert!(!copies_wrongly());
    std::panic::set_hook(Box::new(|_| {}));
    let sound: Vec<_> = games()
        .map(|(_, setup, actions)| result(&faults::run(&setup, &actions)))
        .collect();
    let flaws = PlantedFlaw::ALL.iter().map(|&(_, flaw)| flaw);
    let unnoticed: Vec<_> = flaws.filter(|&flaw| !is_noticed(flaw, &sound)).collect();
    let _hook = std::panic::take_hook();
    // A scene of `tests/commit/deferred_charges.rs` notices it.
    assert_eq!(unnoticed, [PlantedFlaw::DeferredChargesIgnoreRoom]);
}

#[test]
fn every_fast_path_has_a_flaw() {
    // Narrow vectors are the same code, compiled for two types; what breaks one breaks both.
    let missing: Vec<_> = FastPath::ALL
        .iter()
        .filter(|path| PlantedFlaw::ALL.iter().all(|(broken, _)| broken != *path))
        .collect();
    assert_eq!(missing, [&FastPath::NarrowVectors]);
}
