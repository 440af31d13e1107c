//! Runs of an engine: clients, onlookers and a reader of events, then what is asked at rest, then
//! the end.

use std::num::NonZeroUsize;

use capsched::api::{Conflict, EngineEnd, Event, Latencies, Mode, Running, Sequential, Threaded};
use capsched::sync::{Arc, AtomicU64, Ordering};

use crate::books::{Books, Seen, Space};
use crate::client::{self, Client, Ending, Known, look_on};
use crate::fault::{Fault, FaultyClock};
use crate::scene::{self, CLIENTS, Rests};

/// One run of an engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) mode: Mode,
    pub(crate) fault: Fault,
    /// How often clocks are read.
    pub(crate) latencies: Latencies,
    /// Readings of the threads at fault in earlier runs: where a run has few, the fault comes in a later one.
    pub(crate) readings: u64,
    /// Looks of the reader of events after which the end is asked for; otherwise all is done.
    pub(crate) stop_after: Option<u32>,
    /// Capacity of every queue between threads, unless it is the usual one.
    pub(crate) capacity: Option<NonZeroUsize>,
    /// Sizes of containers.
    pub(crate) sizes: &'static [[i64; 2]],
    /// Calls of each client.
    pub(crate) steps: u32,
    /// What these calls are drawn from.
    pub(crate) seed: u64,
}

impl Plan {
    pub(crate) fn of(mode: Mode, fault: Fault) -> Self {
        Self {
            mode,
            fault,
            latencies: Latencies::Sampled,
            readings: 0,
            stop_after: None,
            capacity: None,
            sizes: &[[1024, 1], [2048, 1], [5120, 3]],
            steps: client::steps(),
            seed: 1,
        }
    }

    /// No container is larger. What is distorted may be four times as large.
    fn largest(&self) -> [i64; 2] {
        let times = if self.fault.bad_proposals().is_some() {
            4
        } else {
            1
        };
        [0, 1].map(|kind| {
            let sizes = self.sizes.iter().map(|size| size[kind]);
            sizes.max().unwrap_or(0) * times
        })
    }

    fn start(&self, clock: FaultyClock) -> Threaded {
        let engine = Sequential::new(scene::settings(), &[]).unwrap();
        let running = Running {
            latencies: self.latencies,
            capacity: self.capacity,
            faults: self.fault.bad_proposals(),
            ..Running::default()
        };
        Threaded::take_over(engine, self.mode, clock, running).unwrap()
    }
}

/// Says in which run a test failed.
struct Witness(Plan);

impl Drop for Witness {
    #[expect(clippy::print_stderr, reason = "what a failure is repeated with")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {:?}", self.0);
        }
    }
}

/// What some runs came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) placed: u64,
    /// Reservations made.
    pub(crate) reserved: u64,
    /// Reservations that became containers.
    pub(crate) fulfilled: u64,
    /// Proposals refused.
    pub(crate) refused: u64,
    /// Those without room on the node, over the maximum of a queue, over the limit of a user.
    pub(crate) beyond: [u64; 3],
    /// Decisions of proposers that proposed something.
    pub(crate) proposed: u64,
    /// Readings of the clock by the threads at fault.
    pub(crate) readings: u64,
    /// Faults that came.
    pub(crate) hits: u64,
    /// Looks that were answered.
    pub(crate) looks: u64,
    /// Runs that ended before their clients were done.
    pub(crate) cut: u64,
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.placed += other.placed;
        self.reserved += other.reserved;
        self.fulfilled += other.fulfilled;
        self.refused += other.refused;
        for (all, more) in self.beyond.iter_mut().zip(other.beyond) {
            *all += more;
        }
        self.proposed += other.proposed;
        self.readings += other.readings;
        self.hits += other.hits;
        self.looks += other.looks;
        self.cut += other.cut;
    }
}

/// A proposer that looks again after a while may be panicking now: it is counted once it has
/// unwound. One that is never counted is a hang here.
fn panics_are_counted(engine: &Threaded, clock: &FaultyClock) {
    loop {
        let panics = engine.worker_panics().count;
        let hits = clock.hits.load(Ordering::Relaxed);
        assert!(panics <= hits, "{panics} panics were counted, of {hits}");
        if panics == hits {
            return;
        }
        std::thread::yield_now();
    }
}

/// Two clients, two onlookers where the end comes at any moment, and a reader of events; what the
/// clients know then, and what was delivered.
fn meet(engine: &Threaded, plan: &Plan, ending: &Ending, sum: &mut Sum) -> (Known, Vec<Event>) {
    let (over, lost) = (Ending::default(), Arc::<AtomicU64>::default());
    let mut events = Vec::new();
    let known = std::thread::scope(|scope| {
        let (over, lost) = (&over, &lost);
        let clients = CLIENTS.map(|number| {
            let client = Client::new(engine, number, plan.sizes, plan.seed);
            scope.spawn(move || client.run(plan.steps, ending))
        });
        let onlookers = if plan.stop_after.is_some() { 2 } else { 0 };
        let onlookers: Vec<_> = (0..onlookers)
            .map(|_| scope.spawn(move || look_on(engine, over, ending, lost)))
            .collect();
        let mut looks = 0;
        // Received afterwards: were this thread to panic here, the others would wait for a reader.
        while clients.iter().any(|client| !client.is_finished()) {
            engine.append_events(&mut events);
            looks += 1;
            if plan.stop_after == Some(looks) {
                ending.announce();
                engine.request_stop();
                sum.cut += 1;
            }
            std::thread::yield_now();
        }
        over.announce();
        events.extend(scene::rest(engine));
        for onlooker in onlookers {
            sum.looks += onlooker.join().unwrap();
        }
        let known = clients.map(|client| client.join().unwrap());
        known.into_iter().fold(Known::default(), Known::with)
    });
    assert_eq!(lost.load(Ordering::SeqCst), 0, "looks without an answer");
    (known, events)
}

/// One run.
pub(crate) fn run(plan: Plan) -> Sum {
    let _witness = Witness(plan);
    let clock = FaultyClock::new(plan.fault, plan.readings);
    let mut engine = plan.start(clock.clone());
    let (mut books, mut sum) = (scene::books(plan.largest()), Sum::default());
    let ending = Ending::default();
    let (mut known, events) = meet(&engine, &plan, &ending, &mut sum);
    books.know(std::mem::take(&mut known.accepted));
    follow(&mut books, &events);
    if plan.stop_after.is_none() {
        let books = &mut books;
        let engine = &engine;
        let mut rests = Rests {
            engine,
            books,
            known,
        };
        rests.check_at_rest();
        rests.clear();
        rests.crowd();
        known = rests.known;
        if let Fault::ProposerPanics(_) = plan.fault {
            panics_are_counted(engine, &clock);
        }
    }
    ending.announce();
    assert_eq!(engine.end(), EngineEnd::Stopped);
    follow(&mut books, &engine.take_events());
    let last = engine.snapshot();
    let seen = Seen::published(&last);
    books.compare(&seen, Space::Held);
    seen.add_up();
    known.agree(&seen);
    let outcomes = engine.outcomes();
    books.outcomes(&outcomes, &last);
    let beyond = [
        Conflict::DoesNotFit,
        Conflict::OverQueueLimit,
        Conflict::OverUserLimit,
    ];
    Sum {
        beyond: beyond.map(|conflict| outcomes.get(conflict.into())),
        placed: books.placed,
        reserved: books.reservations,
        fulfilled: books.fulfilled,
        refused: books.refusals(),
        proposed: last.taken.iter().sum::<u64>() - last.skipped,
        readings: clock.readings.load(Ordering::Relaxed) - plan.readings,
        hits: clock.hits.load(Ordering::Relaxed),
        ..sum
    }
}

fn follow(books: &mut Books, events: &[Event]) {
    for event in events {
        books.receive(event);
    }
}
