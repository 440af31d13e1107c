//! Every fast path decides as its slow path does, and the comparison notices every planted flaw.
//!
//! The seeds of the simulation play whole engines, step by step. The same seed is played with all fast
//! paths, with each slow path alone and with all slow paths: the hashes of the decisions are equal.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use capsched::api::{AppSpec, ApplicationId, NodeSpec, Sequential};
use capsched::config;
use capsched::fast_path::{AllFast, FastPath, PlantedFlaw, with_flaw, with_slow};
use capsched::id::NodeSlot;
use capsched::proposer::FitIndex;
use capsched::resource::{Calculator, NARROW, ResourceVector};
use capsched::simulator::faults::{self, Action, GameOutcome, Setup};

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

/// Whether a leaf activates another number of applications once a node gives their masters room.
fn activates_wrongly() -> bool {
    let pairs = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("maximum-am-resource-percent", "0.5"),
    ];
    let own =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    let pairs = pairs.into_iter().map(own).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    let active = || {
        let mut engine = Sequential::new(loaded.settings.clone(), &[]).unwrap();
        let node =
            |name: &str| NodeSpec::new(name.parse().unwrap(), ResourceVector::of(&[4096, 16]));
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

/// Whether a planted flaw is noticed: by another hash, by a broken invariant, or by an assertion.
fn is_noticed(flaw: PlantedFlaw, sound: &[(u64, Option<&'static str>)]) -> bool {
    let activates = || catch_unwind(activates_wrongly).unwrap_or(true);
    with_flaw(flaw, || divides_wrongly() || finds_wrongly() || activates())
        || games().zip(sound).any(|((_, setup, actions), sound)| {
            let flawed = || with_flaw(flaw, || result(&faults::run(&setup, &actions)));
            // A panic outside of a step is noticed as well.
            catch_unwind(AssertUnwindSafe(flawed)).map_or(true, |flawed| flawed != *sound)
        })
}

/// Each flaw is noticed by another hash, by a broken invariant, by an assertion, or by a direct comparison.
#[test]
fn every_flaw_of_a_fast_path_is_noticed() {
    let _fast = AllFast::begin();
    assert!(!divides_wrongly() && !finds_wrongly() && !activates_wrongly());
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
