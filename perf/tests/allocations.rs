//! Heap allocations of a decision, from the walk to the committed container, counted.
//!
//! Counted is the steady state of a cluster that fills, gives back and fills again: buffers, slabs and
//! lists have come to their size. What applications ask, fetch and give back is not on the path and not
//! counted. Without threads there is nothing on the path, and with them nothing for a container: what is
//! allocated then is for a snapshot, a call or a pass over a leaf, however many containers it brings.
//!
//! Two proposers are not counted: they see each other's decisions in a snapshot after every 512 of these,
//! and each of them copies the rows that changed, so that no stretch is without a publication.
#![expect(clippy::print_stderr, reason = "the counts are the result")]

use std::alloc::System;
use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Event, Latencies, Mode, NodeName, NodeReport, NodeSpec,
    ResourceVector, Sequential, Threaded,
};
use capsched::commit::{CommitOutcome, Ledger};
use capsched::config;
use capsched::id::NodeSlot;
use capsched::proposer::{Candidates, Observation, propose};
use capsched::queue::{Exclusivity, TreeSettings};
use capsched::sync::{Arc, AtomicBool, AtomicU64, Ordering};
use capsched::time::{Clock, SystemClock};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const NODES: u32 = 1_000;
const LEAVES: u32 = 10;
const APPS: u32 = 100;

/// Containers of an application in each fill. Lists of containers that were not fetched yet keep
/// room for 64.
const EACH: u32 = 60;
const ALL: u32 = APPS * EACH;

/// Fills before the counted one.
const WARM: u32 = 3;

fn settings() -> TreeSettings {
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let names: Vec<String> = (0..LEAVES).map(|i| format!("q{i}")).collect();
    let mut pairs = vec![
        ("resource-calculator".to_owned(), calculator.to_owned()),
        ("maximum-am-resource-percent".to_owned(), "1".to_owned()),
        ("root.queues".to_owned(), names.join(",")),
        (
            "schedule-asynchronously.enable".to_owned(),
            "false".to_owned(),
        ),
        (
            "multi-node-sorting.policy.names".to_owned(),
            "default".to_owned(),
        ),
        (
            "multi-node-sorting.policy.default.sorting-interval.ms".to_owned(),
            "3600000".to_owned(),
        ),
    ];
    for name in &names {
        pairs.push((format!("root.{name}.capacity"), "10".to_owned()));
        pairs.push((format!("root.{name}.maximum-capacity"), "100".to_owned()));
        pairs.push((format!("root.{name}.user-limit-factor"), "10".to_owned()));
    }
    let prefixed = |(key, value)| (format!("yarn.scheduler.capacity.{key}"), value);
    let pairs: BTreeMap<String, String> = pairs.into_iter().map(prefixed).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.expect("a tree of equal leaves").settings
}

fn nodes() -> impl Iterator<Item = NodeSpec> {
    (0..NODES).map(|i| {
        let name = NodeName::new(&format!("host{i}"), 8041).expect("a node's name");
        NodeSpec::new(name, ResourceVector::of(&[128 * 1024, 32]))
    })
}

fn apps() -> impl Iterator<Item = AppSpec> {
    (0..APPS).map(|i| {
        let (leaf, user) = (i % LEAVES, (i + i / LEAVES) % 20);
        let id = ApplicationId::new(i + 1);
        AppSpec::new(id, &format!("root.q{leaf}"), &format!("user{user}"))
    })
}

/// A call that gives containers back and asks for as many as a fill takes.
fn again(release: Vec<u32>) -> AskCall {
    let each = i32::try_from(EACH).expect("some dozen");
    let ask = Ask::anywhere(ResourceVector::of(&[4096, 1]), each);
    AskCall {
        release,
        ..AskCall::asking(vec![ask])
    }
}

/// Decides and commits for nodes in turn, as often as a fill has containers; the number of those.
fn fill(ledger: &mut Ledger, observed: &mut Vec<Observation>) -> u32 {
    let mut placed = 0;
    for i in 0..ALL {
        let candidates = Candidates::node(NodeSlot(i % NODES));
        let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, observed);
        placed += u32::from(ledger.commit(&outcome, observed) == CommitOutcome::Committed);
        observed.clear();
        ledger.drain_follow_ups();
    }
    placed
}

/// Allocations and growths of buffers of each fill without threads.
fn without_threads() {
    let mut ledger = Ledger::new(settings(), &[]).expect("a tree");
    for node in nodes() {
        ledger.add_node(&node).expect("a new node");
    }
    let submitted: Vec<_> = apps()
        .map(|spec| {
            let app = ledger.submit(&spec).expect("an open queue");
            ledger.drain_follow_ups();
            app
        })
        .collect();
    let mut observed = Vec::with_capacity(64);
    let mut events = Vec::new();
    for fills in 0..=WARM {
        for &app in &submitted {
            let fetched = ledger
                .ask(app, &AskCall::default())
                .expect("an application");
            let release = fetched
                .allocated
                .iter()
                .map(|granted| granted.container.number);
            ledger
                .ask(app, &again(release.collect()))
                .expect("an ask in range");
            ledger.drain_follow_ups();
        }
        // Readers of events give their buffers back.
        events = ledger.exchange_events(events);
        let region = Region::new(COUNTING);
        let placed = fill(&mut ledger, &mut observed);
        let counted = region.change();
        assert_eq!(placed, ALL);
        eprintln!(
            "without threads, fill {fills}: {placed} containers, {} allocations, {} growths",
            counted.allocations, counted.reallocations
        );
        if fills == WARM {
            assert_eq!((counted.allocations, counted.reallocations), (0, 0));
        }
    }
}

/// Holds the committer up where it reads the clock: when it reports the outcomes of its last batch, and
/// before it decides by itself.
#[derive(Clone, Debug)]
struct Gate {
    clock: SystemClock,
    /// How often it may pass.
    permits: Arc<AtomicU64>,
}

impl Gate {
    const OPEN: u64 = u64::MAX;

    fn set(&self, permits: u64) {
        self.permits.store(permits, Ordering::Release);
    }

    fn passes(&self) -> bool {
        let take = |permits: u64| match permits {
            Self::OPEN => Some(Self::OPEN),
            permits => permits.checked_sub(1),
        };
        let taken = self
            .permits
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        taken.is_ok()
    }
}

impl Clock for Gate {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn now_ns(&self) -> u64 {
        if std::thread::current().name() == Some("capsched-commit") {
            while !self.passes() {
                std::thread::yield_now();
            }
        }
        self.clock.now_ns()
    }
}

/// Containers among decisions.
fn placed(events: &[Event]) -> u32 {
    events
        .iter()
        .map(|decision| u32::from(matches!(decision, Event::Allocated { .. })))
        .sum()
}

/// The calls of all applications that begin the next fill, with what the last one brought.
fn calls(engine: &Threaded) -> Vec<(ApplicationId, AskCall)> {
    apps()
        .map(|spec| {
            let fetched = engine
                .ask(spec.id, AskCall::default())
                .expect("an application");
            let release = fetched
                .allocated
                .iter()
                .map(|granted| granted.container.number);
            (spec.id, again(release.collect()))
        })
        .collect()
}

/// An engine with all nodes and applications, which asked for nothing yet.
fn sequential() -> Sequential {
    let mut engine = Sequential::new(settings(), &[]).expect("a tree");
    for node in nodes() {
        engine.add_node(&node).expect("a new node");
    }
    for spec in apps() {
        engine.submit(&spec).expect("an open queue");
    }
    engine
}

/// A heartbeat that says that nothing happened on its node.
fn silent(node: NodeSpec) -> (NodeName, NodeReport) {
    let report = NodeReport::Exactly {
        launched: Vec::new(),
        exited: Vec::new(),
    };
    (node.name, report)
}

/// Allocations of heartbeats with a committer's thread, handed over together: with a container on each node no
/// more than with none on any. They are for the call, its answers and the snapshot after it.
fn with_heartbeats() {
    let clock = SystemClock::new();
    let engine = Threaded::take_over(sequential(), Mode::Heartbeat, clock, Latencies::Off);
    let engine = engine.expect("threads start");
    let mut events = Vec::with_capacity(8 * ALL as usize);
    for fills in 0..=WARM {
        let calls = calls(&engine);
        engine.quiesce();
        for answer in engine.ask_all(calls) {
            answer.expect("an ask in range");
        }
        engine.append_events(&mut events);
        let (mut placing, mut idle) = (Vec::new(), Vec::new());
        for turn in 0..ALL / NODES + 3 {
            events.clear();
            let reports: Vec<_> = nodes().map(silent).collect();
            let region = Region::new(COUNTING);
            let replies = engine.heartbeat_all(reports);
            let counted = region.change();
            assert_eq!(replies.len(), NODES as usize);
            engine.quiesce();
            engine.append_events(&mut events);
            let all = counted.allocations + counted.reallocations;
            if turn < ALL / NODES {
                assert_eq!(placed(&events), NODES);
                placing.push(all);
            } else {
                assert_eq!(placed(&events), 0);
                idle.push(all);
            }
        }
        eprintln!("heartbeats, fill {fills}: {placing:?} with containers, {idle:?} without");
        if fills == WARM {
            let least = |counts: Vec<usize>| counts.into_iter().min();
            let [placing, idle] = [placing, idle].map(least);
            assert!(
                placing <= Some(OF_A_CALL) && idle <= Some(OF_A_CALL),
                "{placing:?} {idle:?}"
            );
        }
    }
}

/// Allocations of one call for all nodes: its answers, the buffers of its batch and a snapshot.
const OF_A_CALL: usize = 8;

/// Calls with the gate closed. Mostly the calling thread carries them out. Where the committer's does, it delivers
/// events between parts of them, and is let through for that.
fn ask_behind(gate: &Gate, engine: &Threaded, calls: Vec<(ApplicationId, AskCall)>) {
    let answered = AtomicBool::new(false);
    gate.set(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for answer in engine.ask_all(calls) {
                answer.expect("an ask in range");
            }
            answered.store(true, Ordering::Release);
        });
        let mut looks = 0;
        while !answered.load(Ordering::Acquire) {
            looks += 1;
            if looks > 10_000 {
                gate.set(1);
            }
            std::thread::yield_now();
        }
    });
    gate.set(0);
}

/// Allocations of fills with a proposer, by the whole process: the other threads are this one, which reads
/// events, and that which sorts nodes, which has done so.
///
/// The committer is held up until the proposer has as many batches in the ring as it takes, and then
/// let through batch by batch: it finds one each time, and never the leisure to publish a snapshot,
/// which is a copy of what changed. Where it did all the same, or little was placed, the next fill is counted.
fn with_proposer(mode: Mode) {
    let gate = Gate {
        clock: SystemClock::new(),
        permits: Arc::new(AtomicU64::new(Gate::OPEN)),
    };
    let engine = Threaded::take_over(sequential(), mode, gate.clone(), Latencies::Off);
    let engine = engine.expect("threads start");
    let mut events = Vec::with_capacity(8 * ALL as usize);
    let mut least = None;
    for fills in 0..WARM + ATTEMPTS {
        let calls = calls(&engine);
        engine.quiesce();
        engine.append_events(&mut events);
        events.clear();
        let before = engine.snapshot().version;
        ask_behind(&gate, &engine, calls);
        // The proposer receives the calls, at once where their answers came after a snapshot. The gate never stands open:
        // the whole fill could pass before this thread runs again.
        while engine.snapshot().version == before {
            gate.set(1);
            std::thread::yield_now();
        }
        gate.set(0);
        // The proposer fills the ring. Where it had not the time, the stretch has a snapshot in it.
        for _ in 0..TURNS * (1 + fills % 4) {
            std::thread::yield_now();
        }
        engine.append_events(&mut events);
        let (before, from) = (engine.snapshot().version, events.len());
        let region = Region::new(COUNTING);
        for _ in 0..BATCHES {
            let heard = events.len();
            while events.len() == heard && placed(&events) < ALL {
                gate.set(1);
                engine.append_events(&mut events);
                std::thread::yield_now();
            }
        }
        let counted = region.change();
        let after = engine.snapshot().version;
        let containers = placed(&events[from..]);
        gate.set(Gate::OPEN);
        while placed(&events) < ALL {
            engine.append_events(&mut events);
            std::thread::yield_now();
        }
        let all = counted.allocations + counted.reallocations;
        let published = after.0 - before.0;
        eprintln!(
            "{mode:?}, fill {fills}: {containers} containers, {published} snapshots, {all} allocations"
        );
        // Batches are full but for those that the end of a round left open.
        if fills < WARM || published > 0 || containers < BATCHES * 64 / 2 {
            continue;
        }
        if all <= allowed(mode) {
            return;
        }
        least = least.min(Some(all)).or(Some(all));
    }
    panic!("{mode:?}: {least:?} allocations at least in a stretch without a snapshot");
}

/// Batches that the committer takes while allocations are counted, of up to 64 decisions each. The ring holds 64, and
/// a fill has 94 at least: a proposer that has decided all of it rests, and copies a snapshot.
const BATCHES: u32 = 24;

/// How often the other threads are let go first, up to four times as often in some fills.
const TURNS: u32 = 20_000;

/// Fills after the first ones until a stretch has what it takes: enough containers, which it has not where the fill was
/// over before, and no snapshot, whether published in it or copied in it by a proposer that was late.
const ATTEMPTS: u32 = 200;

/// Allocations that a stretch may take, however many containers it has: none.
///
/// Builds with assertions look at everything twice in global mode, the second time with lists of their own: at the
/// front of each leaf, of which a view has one version until it is refreshed, and at a plain ask of each application.
fn allowed(mode: Mode) -> usize {
    if cfg!(debug_assertions) && matches!(mode, Mode::Global { .. }) {
        return (2 * LEAVES + APPS) as usize;
    }
    0
}

// One test, because the counts are those of the process.
#[test]
fn the_path_from_proposal_to_commit_does_not_allocate() {
    without_threads();
    with_heartbeats();
    with_proposer(Mode::Asynchronous { threads: 1 });
    with_proposer(Mode::Global { threads: 1 });
}
