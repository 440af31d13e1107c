//! Nothing that fits on an idle node within its limits waits for ever: random clusters, queues and workloads with
//! labels, whole-node asks and services that never end, in every mode, sequential and with threads.
//!
//! `CAPSCHED_LIVENESS_SEEDS` sets the runs of each mode: a number, or seeds as `69..70`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::ops::Range;

use capsched::api::{
    AppError, AppSpec, ApplicationId, AskCall, AskError, AskReply, ContainerError, ContainerId,
    Event, HeartbeatReply, Latencies, Mode, ModeKind, NodeError, NodeName, NodeReport, NodeSorting,
    NodeSpec, PartitionSpec, Reason, Running, Scheduler, Sequential, Stepped, SubmitError,
    Submitted, Threaded, UserLimits, waiting,
};
use capsched::cluster::{Node, NodeState};
use capsched::commit::Ledger;
use capsched::id::{AppSlot, NameId};
use capsched::queue::{App, KeyAsks, Queue};
use capsched::resource::ResourceVector;
use capsched::simulator::{
    Driver, DriverSettings, Ready, RunReport, rounds_for_opportunities, rounds_for_reservations,
};
use capsched::snapshot::State;
use capsched::time::SystemClock;

use crate::cases::{Case, MODES, case};

/// Runs in each mode in an ordinary run of the tests.
const SEEDS: u64 = 60;

/// Period of heartbeats and rounds in virtual ms.
const PERIOD_MS: u64 = 1000;

/// An engine with threads, of which every event of a call is there when the call returns.
struct Rested(Threaded);

impl Scheduler for Rested {
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.0.add_node(node)
    }

    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.0.remove_node(node.clone())
    }

    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError> {
        self.0.submit(app)
    }

    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        self.0.ask(app, call)
    }

    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        self.0.heartbeat(node.clone(), report)
    }

    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError> {
        Scheduler::container_finished(&mut self.0, container)
    }

    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        self.0.finish_app(app)
    }

    fn events(&mut self, into: &mut Vec<Event>) {
        self.0.quiesce();
        self.0.events(into);
    }

    fn schedule(&mut self) -> usize {
        self.0.schedule()
    }

    fn looks_may_bring(&mut self) -> bool {
        self.0.looks_may_bring()
    }

    fn pass_rounds(&mut self, most: u64) -> u64 {
        self.0.pass_rounds(most)
    }

    fn advance(&mut self, to_ms: u64) {
        self.0.advance(to_ms);
    }
}

/// Whether a queue stops an ask, or the ask fits nowhere.
fn is_of_queue(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::LabelNotAccessible
            | Reason::NoNodeWithLabel
            | Reason::LargerThanAnyNode
            | Reason::ExceedsQueueMax
            | Reason::QueueMaxCapacity
            | Reason::ParentHeadroom
    )
}

/// What waits though it fits on an idle node within its limits, and no limit of a user stops what stands before it in
/// its leaf. Nothing where a queue holds room back: an ask beyond the headroom of a queue stops what stands behind it,
/// and the headroom is taken from the limits of the queue's siblings. Of an application only the first ask of each
/// partition is judged: where that one does not fit on a node, the node serves none of the others.
// As AbstractParentQueue.assignContainersToChildQueues with its blocked headroom, and as
// RegularContainerAllocator.assignContainersOnNode, which skips the application there.
fn stuck(ledger: &Ledger) -> Option<Vec<String>> {
    let state = ledger.state();
    let waits = waiting(ledger);
    let reasons = |app: AppSlot| -> Vec<Reason> {
        let id = state.apps[app].id;
        let found = waits.iter().find(|(known, _)| *known == id);
        let waits = found.map_or(&[][..], |(_, waits)| waits);
        waits.iter().map(|wait| wait.finding.reason).collect()
    };
    let mut stuck = Vec::new();
    for leaf in state.queues.iter().filter_map(|queue| queue.leaf.as_ref()) {
        // A user's limit passes over one application. Those behind it are served, and may be stopped by a queue.
        let mut behind_user_limit = false;
        let open = leaf.active.iter().flat_map(|&app| {
            let keys = state.apps[app].keys.iter();
            let open = keys.filter(|asks| asks.is_outstanding());
            let mut seen = BTreeSet::new();
            open.zip(reasons(app))
                .filter(move |(asks, _)| seen.insert(asks.partition))
                .map(move |(asks, reason)| (app, asks, reason))
        });
        for (app, asks, reason) in open {
            let Some(any) = asks.at(NameId::ANY) else {
                continue;
            };
            let (size, row) = (any.size.get(), &state.apps[app]);
            let used = state.queues[State::ROOT].part(asks.partition).used.get();
            // Where no reservation is given up for another node, it counts against the limits: `check` warns.
            let held = if state.settings.continue_looking {
                row.part(asks.partition).reserved.get()
            } else {
                ResourceVector::NONE
            };
            let room = state.total(asks.partition) - used + held;
            if is_of_queue(reason) || !state.calculator.fits_in(&size, &room) {
                return None;
            }
            behind_user_limit |= reason == Reason::UserLimit;
            if behind_user_limit {
                continue;
            }
            let idle = state.nodes.iter().find(|node| {
                node.state == NodeState::Running
                    && node.containers == 0
                    && node.reserved.is_none_or(|held| held.app == app)
                    && node.partition == asks.partition
                    && state.calculator.fits_in(&size, &node.total.get())
            });
            if let Some(node) = idle {
                stuck.push(format!("{} fits on {}: {reason:?}", row.id, node.name));
            }
        }
    }
    if !stuck.is_empty() {
        stuck.extend(scene(ledger));
    }
    Some(stuck)
}

/// What a reader needs to see why something is stuck: nodes, and what each application holds and waits for.
fn scene(ledger: &Ledger) -> Vec<String> {
    let state = ledger.state();
    let node = |node: &Node| {
        let held = node
            .reserved
            .map(|held| (state.apps[held.app].id, held.size));
        let (free, total) = (node.free.get(), node.total.get());
        let (name, partition) = (&node.name, node.partition);
        format!("{name}: {free:?} of {total:?} free, {partition:?}, reserved for {held:?}")
    };
    let waits = waiting(ledger);
    let app = |app: &App| {
        let (_, waits) = waits.iter().find(|(id, _)| *id == app.id)?;
        let path = &state.queues[app.leaf].settings.path;
        let key = |asks: &KeyAsks| {
            let places = asks.places.iter().map(|ask| (ask.size.get(), ask.count));
            let places: Vec<_> = places.collect();
            let (opportunities, kept) = (asks.opportunities, asks.re_reservations);
            let partition = asks.partition;
            format!("{places:?} {partition:?} {opportunities} looks, {kept} kept; ")
        };
        let open = app.keys.iter().filter(|asks| asks.is_outstanding());
        let open: String = open.map(key).collect();
        let (id, user) = (app.id, &app.submission.user_name);
        let limit = UserLimits::of(ledger, path, user);
        Some(format!(
            "{id} of {user}, {limit:?}, in {path}: {open}{waits:?}"
        ))
    };
    let queue = |queue: &Queue| {
        let parts = state.partition_ids().map(|partition| queue.part(partition));
        let parts = parts.map(|part| (part.used.get(), part.limit.get(), part.absolute_maximum));
        format!("{}: {:?}", queue.settings.path, parts.collect::<Vec<_>>())
    };
    let nodes = state.nodes.iter().map(node);
    let queues = state.queues.iter().map(queue);
    nodes
        .chain(queues)
        .chain([tried(ledger)])
        .chain(state.apps.iter().filter_map(app))
        .collect()
}

/// What the sequential engine makes of a copy of the ledger.
fn tried(ledger: &Ledger) -> String {
    let mut trial = Sequential::trial_of(ledger);
    let names = ledger.state().nodes.iter().map(|node| node.name.clone());
    let alone: Vec<_> = names.map(|name| trial.schedule_node(&name)).collect();
    format!(
        "each node: {alone:?}; together: {:?}",
        trial.schedule_partition("", 3)
    )
}

/// Settings under which nothing that others reserved is proposed again and again.
fn live(case: &Case) -> Sequential {
    let mut settings = case.loaded.settings.clone();
    settings.scheduler.skip_reserved_nodes = true;
    settings.scheduler.mends.reserved_last_node = true;
    let partition = PartitionSpec {
        name: "x".to_owned(),
        exclusive: case.exclusive,
    };
    Sequential::new(settings, &[partition]).unwrap()
}

fn run<S: Scheduler>(case: &Case, engine: S) -> (Driver<S>, RunReport) {
    let nodes = u64::try_from(case.nodes.len()).unwrap();
    let patience_ms = rounds_for_opportunities(nodes, !case.exclusive) * PERIOD_MS;
    let settings = DriverSettings {
        round_ms: (case.mode != ModeKind::Heartbeat).then_some(PERIOD_MS),
        heartbeat_ms: PERIOD_MS,
        quiet_ms: Some(patience_ms),
        patience_ms,
        memory_only: case.loaded.settings.scheduler.calculator.fitting_types() == 1,
        looks_ms: rounds_for_reservations(&case.loaded.settings) * PERIOD_MS,
        ..DriverSettings::default()
    };
    let mut driver = Driver::new(engine, settings);
    for node in &case.nodes {
        driver.node_arrives(0, node.clone());
    }
    for (at_ms, name) in &case.leaves {
        driver.node_leaves(at_ms + 21_000, name.clone());
    }
    let jobs = &mut Ready::new(case.jobs.clone());
    let report = driver.run(jobs, &mut ()).unwrap();
    (driver, report)
}

fn seeds() -> Range<u64> {
    let Ok(set) = std::env::var("CAPSCHED_LIVENESS_SEEDS") else {
        return 0..SEEDS;
    };
    let (first, end) = set.split_once("..").unwrap_or(("0", &set));
    first.parse().unwrap()..end.parse().unwrap()
}

/// Judges the end of a run; whether it could be judged and something waits.
fn judge(what: &str, stuck: Option<Vec<String>>, report: &RunReport) -> bool {
    let reserved = report.violations.contains_key("R4");
    assert!(!reserved, "{what}: {report}");
    let Some(stuck) = stuck else {
        return false;
    };
    assert!(stuck.is_empty(), "{what}: {stuck:#?}\n{report}");
    report.counts.waiting > 0
}

#[test]
fn nothing_that_fits_on_idle_nodes_waits_for_ever_without_threads() {
    let mut judged = 0;
    for mode in MODES {
        for seed in seeds() {
            let case = case(seed, mode);
            let (mut driver, report) = run(&case, Stepped::new(live(&case), mode));
            let stuck = stuck(driver.scheduler().engine().ledger());
            judged += u64::from(judge(&format!("{mode:?} {seed}"), stuck, &report));
        }
    }
    assert!(judged > 0, "some runs end with work that waits");
}

/// Fewer runs with threads: there are more modes of them, and each run is slower.
fn few() -> Range<u64> {
    let Range { start, end } = seeds();
    start..start + (end - start).div_ceil(15)
}

#[test]
fn nothing_that_fits_on_idle_nodes_waits_for_ever_with_threads() {
    let modes = [
        (ModeKind::Heartbeat, Mode::Heartbeat),
        (ModeKind::Asynchronous, Mode::Asynchronous { threads: 1 }),
        (ModeKind::Asynchronous, Mode::Asynchronous { threads: 2 }),
        (ModeKind::Global, Mode::Global { threads: 1 }),
        (ModeKind::Global, Mode::Global { threads: 2 }),
    ];
    for (kind, mode) in modes {
        for seed in few() {
            let case = case(seed, kind);
            for sorting in [NodeSorting::Thread, NodeSorting::Caller] {
                let running = Running {
                    sorting,
                    ..Running::from(Latencies::Off)
                };
                let engine = Threaded::take_over(live(&case), mode, SystemClock::new(), running);
                let (mut driver, report) = run(&case, Rested(engine.unwrap()));
                let stuck = driver.scheduler().0.inspect(stuck).unwrap();
                judge(&format!("{mode:?} {sorting:?} {seed}"), stuck, &report);
            }
        }
    }
}
