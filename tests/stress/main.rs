//! Real threads under injected faults: every call has one answer, every proposal one outcome, and
//! the sums hold, at rest and after an end at any moment. `cargo test --profile stress --test stress`
//! runs it long and optimised.
#![expect(clippy::unwrap_used, reason = "test code")]

mod books;
mod client;
mod fault;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use capsched::api::{Latencies, Mode, Running, Sequential, Threaded, TreeSettings};
use capsched::config;
use capsched::sync::{Arc, Ended, Ordering};

use books::{Books, Found, live_state, outcomes_hold, sums_hold};
use client::{Client, Ending, look_on};
use fault::{Fault, FaultyClock};

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

/// One run of an engine.
#[derive(Clone, Copy, Debug)]
struct Plan {
    mode: Mode,
    fault: Fault,
    /// How often clocks are read.
    latencies: Latencies,
    /// Looks of the reader of events after which the end is asked for; otherwise all is done.
    stop_after: Option<u32>,
    /// Capacity of every queue between threads, unless it is the usual one.
    capacity: Option<NonZeroUsize>,
    /// Sizes of containers.
    sizes: &'static [[i64; 2]],
}

impl Plan {
    fn of(mode: Mode, fault: Fault) -> Self {
        Self {
            mode,
            fault,
            latencies: Latencies::Sampled,
            stop_after: None,
            capacity: None,
            sizes: &[[1024, 1], [2048, 1], [5120, 3]],
        }
    }

    fn start(&self, clock: FaultyClock) -> Threaded {
        let engine = Sequential::new(settings(), &[]).unwrap();
        let running = Running {
            latencies: self.latencies,
            capacity: self.capacity,
            ..Running::default()
        };
        Threaded::take_over(engine, self.mode, clock, running).unwrap()
    }
}

/// A proposer that looks again after a while may be panicking now: it is counted once it has
/// unwound. One that is never counted is a hang here.
fn panics_are_counted(engine: &Threaded, clock: &FaultyClock) {
    loop {
        let panics = engine.worker_panics();
        let hits = clock.hits.load(Ordering::Relaxed);
        assert!(panics <= hits, "{panics} panics were counted, of {hits}");
        if panics == hits {
            return;
        }
        std::thread::yield_now();
    }
}

/// What some runs came to.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    placed: u64,
    /// Reservations made.
    reserved: u64,
    /// Faults that came.
    hits: u64,
    /// Looks that were answered.
    looks: u64,
    /// Runs that ended before their clients were done.
    cut: u64,
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.placed += other.placed;
        self.reserved += other.reserved;
        self.hits += other.hits;
        self.looks += other.looks;
        self.cut += other.cut;
    }
}

/// Two clients, two onlookers, a reader of events, and an end: at a given number of looks, or when
/// all is done.
fn run(plan: Plan) -> Sum {
    let clock = FaultyClock::new(plan.fault);
    let mut engine = plan.start(clock.clone());
    let (mut books, mut sum) = (Books::default(), Sum::default());
    let (over, ending, lost) = (Ending::default(), Ending::default(), Arc::default());
    let mut told = Vec::new();
    let clients = std::thread::scope(|scope| {
        let (engine, over, ending, lost) = (&engine, &over, &ending, &lost);
        let clients = [1, 2].map(|number| {
            scope.spawn(move || {
                let client = Client::new(engine, number, plan.sizes);
                client.run(ending)
            })
        });
        let onlookers = if plan.stop_after.is_some() { 2 } else { 0 };
        let onlookers: Vec<_> = (0..onlookers)
            .map(|_| scope.spawn(move || look_on(engine, over, ending, lost)))
            .collect();
        let mut looks = 0;
        // Heard afterwards: were this thread to panic here, the others would wait for a reader.
        while clients.iter().any(|client| !client.is_finished()) {
            engine.append_events(&mut told);
            looks += 1;
            if plan.stop_after == Some(looks) {
                ending.announce();
                engine.request_stop();
                sum.cut += 1;
            }
            std::thread::yield_now();
        }
        over.announce();
        let quiet = scope.spawn(|| engine.quiesce());
        while !quiet.is_finished() {
            engine.append_events(&mut told);
            std::thread::yield_now();
        }
        for onlooker in onlookers {
            sum.looks += onlooker.join().unwrap();
        }
        clients.map(|client| client.join().unwrap())
    });
    books.hear_all(&told);
    if plan.stop_after.is_none() {
        books.hear_out(&engine);
        let live = live_state(&engine, &books);
        sums_hold(&live, &books, &clients);
        assert_eq!(Found::published(&engine), live, "what is shown at rest");
        outcomes_hold(&engine, &books);
        if let Fault::ProposerPanics(_) = plan.fault {
            panics_are_counted(&engine, &clock);
        }
    }
    ending.announce();
    assert_eq!(engine.end(), Ended::Stopped);
    // Events that find no room at the end are gone.
    if plan.capacity.is_none() {
        books.hear_all(&engine.take_events());
        sums_hold(&Found::published(&engine), &books, &clients);
        outcomes_hold(&engine, &books);
    }
    assert_eq!(lost.load(Ordering::SeqCst), 0, "looks without an answer");
    sum.placed = books.placed;
    sum.reserved = books.reserved;
    sum.hits = clock.hits.load(Ordering::Relaxed);
    sum
}

const MODES: [Mode; 3] = [
    Mode::Asynchronous { threads: 2 },
    Mode::Global { threads: 1 },
    Mode::Global { threads: 3 },
];

/// Runs in every mode with some faults, each until it came: a proposer reads its clock for a few
/// decisions only, so that a run may end before.
fn run_all(plans: impl Fn(Mode) -> Vec<Plan>) {
    for mode in MODES {
        for plan in plans(mode) {
            let came = (0..50).any(|_| {
                let sum = run(plan);
                assert!(sum.placed > 0, "{plan:?}");
                sum.hits > 0 || plan.fault == Fault::None
            });
            assert!(came, "no fault in fifty runs of {plan:?}");
        }
    }
}

#[test]
fn the_sums_hold_without_faults() {
    run_all(|mode| vec![Plan::of(mode, Fault::None)]);
}

#[test]
fn every_commit_is_told_once_where_nobody_reserves() {
    // This mode takes nodes one by one, and passes by what has no room for the least.
    for mode in [1, 2].map(|threads| Mode::Asynchronous { threads }) {
        let sum = run(Plan {
            sizes: &[[1024, 1]],
            ..Plan::of(mode, Fault::None)
        });
        assert_eq!((sum.placed > 0, sum.reserved), (true, 0), "{mode:?}");
    }
}

#[test]
fn a_proposer_that_panics_starts_afresh_and_nothing_is_lost() {
    // A batch has 64 decisions, so that one without a panic comes in either case.
    run_all(|mode| {
        let often = Plan::of(mode, Fault::ProposerPanics(5));
        let within_decisions = Plan {
            latencies: Latencies::All,
            ..Plan::of(mode, Fault::ProposerPanics(331))
        };
        vec![often, within_decisions]
    });
}

#[test]
fn a_proposer_that_stalls_on_an_old_snapshot_harms_nobody() {
    run_all(|mode| {
        let often = Plan::of(mode, Fault::ProposerStalls(3));
        let within_decisions = Plan {
            latencies: Latencies::All,
            ..Plan::of(mode, Fault::ProposerStalls(13))
        };
        vec![often, within_decisions]
    });
}

#[test]
fn a_slow_committer_answers_everything() {
    run_all(|mode| vec![Plan::of(mode, Fault::CommitterIsSlow(3))]);
}

#[test]
fn queues_of_one_lose_nothing() {
    run_all(|mode| {
        let faults = [
            Fault::None,
            Fault::ProposerPanics(5),
            Fault::ProposerStalls(3),
            Fault::CommitterIsSlow(3),
        ];
        let cramped = |fault| Plan {
            capacity: NonZeroUsize::new(1),
            ..Plan::of(mode, fault)
        };
        faults.map(cramped).to_vec()
    });
}

#[test]
fn an_end_at_any_moment_answers_every_call() {
    let mut sum = Sum::default();
    for mode in MODES {
        for looks in [1, 3, 10, 40, 150] {
            for fault in [Fault::None, Fault::ProposerStalls(2)] {
                for capacity in [None, NonZeroUsize::new(1)] {
                    sum += run(Plan {
                        stop_after: Some(looks),
                        capacity,
                        ..Plan::of(mode, fault)
                    });
                }
            }
        }
    }
    // An end at the first looks finds nothing yet; that all do would be another matter.
    assert!(sum.placed > 0 && sum.hits > 0 && sum.looks > 0, "{sum:?}");
    assert!(sum.cut > 0, "every run was over before its end: {sum:?}");
}
