//! Real threads under injected faults: every call has one answer, every proposal one outcome, and
//! the sums hold. `cargo test --profile stress --test stress` runs it long and optimised.
//!
//! Faults come in through the clock, which every thread reads: a proposer's reading panics or
//! stalls while it holds a snapshot, the committer's stalls between two batches.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Decision, Fate, Mode, NodeName, NodeReport,
    NodeSpec, ResourceVector, Threaded, TreeSettings,
};
use capsched::config;
use capsched::metrics::Closed;
use capsched::sync::{Arc, AtomicU64, Ended, Ordering};
use capsched::time::{Clock, SystemClock};

/// Steps of each client, unless `CAPSCHED_STRESS_STEPS` says otherwise.
const STEPS: u32 = 400;

fn steps() -> u32 {
    let wished = std::env::var("CAPSCHED_STRESS_STEPS");
    wished.map_or(STEPS, |steps| steps.parse().unwrap())
}

fn settings() -> TreeSettings {
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    let mut set = |key: &str, value: &str| {
        pairs.insert(format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    };
    let dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    set("resource-calculator", dominant);
    set("maximum-am-resource-percent", "1");
    set("multi-node-placement-enabled", "true");
    set("root.queues", "a,b");
    for (leaf, most) in [("a", "100"), ("b", "70")] {
        set(&format!("root.{leaf}.capacity"), "50");
        set(&format!("root.{leaf}.maximum-capacity"), most);
        set(&format!("root.{leaf}.user-limit-factor"), "10");
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

/// What goes wrong when a thread reads its clock for the n-th time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Every so many readings of a proposer panic.
    ProposerPanics(u64),
    /// Every so many readings of a proposer stall, while it holds its snapshot.
    ProposerStalls(u64),
    /// Every so many readings of the committer stall.
    CommitterIsSlow(u64),
}

#[derive(Clone, Debug)]
struct FaultyClock {
    clock: SystemClock,
    fault: Fault,
    readings: Arc<AtomicU64>,
    hits: Arc<AtomicU64>,
}

impl FaultyClock {
    fn new(fault: Fault) -> Self {
        Self {
            clock: SystemClock::new(),
            fault,
            readings: Arc::default(),
            hits: Arc::default(),
        }
    }

    fn disturb(&self) {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        let (victim, every) = match self.fault {
            Fault::None => return,
            Fault::ProposerPanics(every) | Fault::ProposerStalls(every) => {
                ("capsched-propose", every)
            }
            Fault::CommitterIsSlow(every) => ("capsched-commit", every),
        };
        if !name.starts_with(victim) {
            return;
        }
        let reading = self.readings.fetch_add(1, Ordering::Relaxed);
        if reading % every != every - 1 {
            return;
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        assert!(
            !matches!(self.fault, Fault::ProposerPanics(_)),
            "a fault was injected"
        );
        for _ in 0..2_000 {
            std::thread::yield_now();
        }
    }
}

impl Clock for FaultyClock {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn now_ns(&self) -> u64 {
        self.disturb();
        self.clock.now_ns()
    }
}

/// A xorshift generator: the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 40).unwrap() % n
    }
}

fn node(i: u32) -> NodeName {
    format!("n{i}:1").parse().unwrap()
}

const TOTAL: [i64; 2] = [8192, 8];

/// Calls of one client until it is done or the engine has shut down; the calls that were answered.
fn client(engine: &Threaded, number: u32) -> u32 {
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ u64::from(number));
    let mut answered = 0;
    let mut apps = Vec::new();
    let mut live: Vec<ContainerId> = Vec::new();
    for step in 0..steps() {
        if !engine.is_running() {
            break;
        }
        match random.below(12) {
            0 => {
                let total = ResourceVector::of(&TOTAL);
                let name = node(number * 10 + random.below(4));
                let _known = engine.add_node(NodeSpec::new(name, total)).is_err();
            }
            1 => {
                let name = node(number * 10 + random.below(4));
                let _unknown = engine.remove_node(name).is_err();
            }
            2 => {
                let app = ApplicationId::new(number * 100_000 + step + 1);
                let leaf = ["root.a", "root.b"][random.below(2) as usize];
                if engine.submit(AppSpec::new(app, leaf, "u")).is_ok() {
                    apps.push(app);
                }
            }
            3 if apps.len() > 3 => {
                let app = apps.swap_remove(random.below(3) as usize);
                let _closed = engine.finish_app(app).is_err();
            }
            4..=7 if !apps.is_empty() => {
                let app = apps[random.below(u32::try_from(apps.len()).unwrap()) as usize];
                let size = [[1024, 1], [2048, 1], [5120, 3]][random.below(3) as usize];
                let count = i32::try_from(random.below(6)).unwrap();
                let ask = Ask::anywhere(ResourceVector::of(&size), count);
                if let Ok(reply) = engine.ask(app, AskCall::asking(vec![ask])) {
                    live.extend(reply.allocated.iter().map(|granted| granted.container));
                }
            }
            8 | 9 if !live.is_empty() => {
                let at = random.below(u32::try_from(live.len()).unwrap());
                let id = live.swap_remove(at as usize);
                let _gone = engine.container_finished(id);
                assert!(!engine.container_finished(id), "{id} ended twice");
            }
            _ => {
                let name = node(number * 10 + random.below(4));
                let _unknown = engine.heartbeat(name, NodeReport::AsExpected).is_err();
            }
        }
        answered += 1;
    }
    answered
}

/// Follows the decisions: what is live, and where.
#[derive(Default)]
struct Books {
    live: BTreeMap<ContainerId, (NodeName, ResourceVector)>,
    ended: BTreeSet<ContainerId>,
    placed: u64,
    /// Refusals told, by the fate that they are counted as.
    refused: BTreeMap<usize, u64>,
}

impl Books {
    fn hear(&mut self, decision: &Decision) {
        match decision {
            Decision::Allocated {
                container,
                node,
                size,
                ..
            } => {
                self.placed += 1;
                assert!(
                    !self.ended.contains(container),
                    "{container} was used before"
                );
                let before = self.live.insert(*container, (node.clone(), *size));
                assert_eq!(before, None, "{container} was placed twice");
            }
            Decision::Ended {
                container, node, ..
            } => {
                let (on, _) = self.live.remove(container).unwrap();
                assert_eq!(&on, node, "{container} ended elsewhere");
                assert!(self.ended.insert(*container), "{container} ended twice");
            }
            Decision::Rejected { conflict, .. } => {
                let fate = Fate::from(*conflict).index();
                *self.refused.entry(fate).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// Two clients, a reader of events, and an end: at a given number of looks, or when all is done.
fn run(mode: Mode, fault: Fault, stop_after: Option<u32>) -> (Books, u64) {
    let clock = FaultyClock::new(fault);
    let mut engine = Threaded::start(settings(), &[], mode, clock.clone()).unwrap();
    let mut books = Books::default();
    std::thread::scope(|scope| {
        let engine = &engine;
        let clients: Vec<_> = (1..=2)
            .map(|number| scope.spawn(move || client(engine, number)))
            .collect();
        let mut looks = 0;
        while clients.iter().any(|client| !client.is_finished()) {
            for event in engine.take_events() {
                books.hear(&event);
            }
            looks += 1;
            if stop_after == Some(looks) {
                engine.request_stop();
            }
            std::thread::yield_now();
        }
    });
    if stop_after.is_none() {
        engine.quiesce();
        for event in engine.take_events() {
            books.hear(&event);
        }
        sums_hold(&engine, &books);
        let fates = engine.fates();
        let counted = fates.get(Fate::Committed) + fates.get(Fate::CommittedElsewhere);
        assert!(counted >= books.placed, "{counted} of {}", books.placed);
        if let Fault::ProposerPanics(_) = fault {
            // A proposer that looks again after a while may be panicking now: it is counted once
            // it has unwound. One that is never counted is a hang here.
            loop {
                let panics = engine.worker_panics();
                let hits = clock.hits.load(Ordering::Relaxed);
                assert!(panics <= hits, "{panics} panics were counted, of {hits}");
                if panics == hits {
                    break;
                }
                std::thread::yield_now();
            }
        }
    }
    assert_eq!(engine.end(), Ended::Stopped);
    // Proposers may look again and be refused until the end.
    for event in engine.take_events() {
        books.hear(&event);
    }
    let fates = engine.fates();
    for (fate, counted) in fates.iter().filter(|(fate, _)| fate.is_refused()) {
        let told = books.refused.get(&fate.index()).copied().unwrap_or(0);
        assert_eq!(counted, told, "{}", fate.name());
    }
    (books, clock.hits.load(Ordering::Relaxed))
}

/// Use of every node and of the root is the sum of what the decisions left live. Nodes may still
/// hold the space of containers that ended and whose nodes have not said so.
fn sums_hold(engine: &Threaded, books: &Books) {
    let live = books.live.clone();
    let used = live
        .values()
        .fold(ResourceVector::NONE, |sum, (_, size)| sum + *size);
    engine
        .inspect(move |ledger| {
            let state = ledger.state();
            let root = state.queues.iter().next().unwrap();
            let reserved = root.parts[0].reserved.get();
            assert_eq!(root.parts[0].used, used + reserved);
            for (name, slot) in ledger.nodes_by_name() {
                let on_it = live.values().filter(|(on, _)| on == name);
                let sum = on_it.fold(ResourceVector::NONE, |sum, (_, size)| sum + *size);
                let row = &state.nodes[slot];
                assert!(sum.fits_in(&row.allocated.get()), "{name}");
                let free = row.total.get() - row.allocated.get();
                assert_eq!(row.free, free, "{name}");
            }
        })
        .unwrap();
}

const MODES: [Mode; 3] = [
    Mode::Asynchronous { threads: 2 },
    Mode::Global { threads: 1 },
    Mode::Global { threads: 3 },
];

/// Runs with a fault in every mode until it came. A proposer reads its clock for a few decisions only, so
/// that a run may end before it does.
fn goes_on_in_every_mode(fault: Fault) {
    for mode in MODES {
        let came = (0..50).any(|_| {
            let (books, hits) = run(mode, fault, None);
            assert!(books.placed > 0, "{mode:?}");
            hits > 0
        });
        assert!(came, "{mode:?}: no fault in fifty runs");
    }
}

#[test]
fn the_sums_hold_without_faults() {
    for mode in MODES {
        let (books, _) = run(mode, Fault::None, None);
        assert!(books.placed > 0, "{mode:?}");
    }
}

#[test]
fn a_proposer_that_panics_starts_afresh_and_nothing_is_lost() {
    goes_on_in_every_mode(Fault::ProposerPanics(5));
}

#[test]
fn a_proposer_that_stalls_on_an_old_snapshot_harms_nobody() {
    goes_on_in_every_mode(Fault::ProposerStalls(3));
}

#[test]
fn a_slow_committer_answers_everything() {
    goes_on_in_every_mode(Fault::CommitterIsSlow(3));
}

#[test]
fn an_end_at_any_moment_answers_every_call() {
    for mode in MODES {
        for looks in [1, 3, 10, 40, 150] {
            run(mode, Fault::None, Some(looks));
            run(mode, Fault::ProposerStalls(2), Some(looks));
        }
    }
}
