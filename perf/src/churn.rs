//! Churn in a closed loop: each application gives back a container at random and asks for one.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Result, ensure};
use capsched::api::{
    ApplicationId, Ask, AskCall, AskReply, Awaited, CommitOutcome, Event, NodeName, ResourceVector,
    Sequential, Threaded,
};
use capsched::metrics::{Closed, Histogram};
use capsched::time::{Clock, SystemClock};

use crate::beside::Beside;
use crate::conserve::{Containers, Totals};
use crate::rounds::{self, How, Round};
use crate::shape::Shape;
use crate::tally::Tally;
use crate::{ModeName, machine};

/// Of all numbers that are drawn.
pub(crate) const SEED: u64 = 11;

/// A small generator of numbers (xorshift).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new() -> Self {
        Self(SEED)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap_or(0) % bound.max(1)
    }
}

/// One application as its master sees it.
#[derive(Clone, Debug)]
pub(crate) struct Master {
    pub(crate) id: ApplicationId,
    size: ResourceVector,
    /// Numbers of its containers.
    live: Vec<u32>,
}

/// All applications of a round.
#[derive(Debug)]
pub(crate) struct Masters {
    pub(crate) all: Vec<Master>,
    random: Random,
    released: Containers,
}

impl Masters {
    pub(crate) fn of(shape: &Shape) -> Self {
        let master = |app: crate::shape::AppPlan| Master {
            id: app.spec.id,
            size: app.size,
            live: Vec::new(),
        };
        Self {
            all: shape.app_plans().into_iter().map(master).collect(),
            random: Random::new(),
            released: Containers::default(),
        }
    }

    /// A call that gives back up to `count` containers at random and asks for `open` in all.
    pub(crate) fn call(&mut self, app: usize, count: usize, open: usize) -> AskCall {
        let master = &mut self.all[app];
        let mut release = Vec::with_capacity(count);
        while release.len() < count && !master.live.is_empty() {
            let at = self.random.below(master.live.len());
            release.push(master.live.swap_remove(at));
            self.released.add(&master.size);
        }
        let asks = vec![Ask::anywhere(
            master.size,
            i32::try_from(open).unwrap_or(i32::MAX),
        )];
        AskCall {
            release,
            ..AskCall::asking(asks)
        }
    }

    /// Containers that an application has to give back.
    pub(crate) fn live(&self, app: usize) -> usize {
        self.all[app].live.len()
    }

    /// Remembers what was handed over.
    pub(crate) fn learn(&mut self, app: usize, reply: &AskReply) {
        let numbers = reply.allocated.iter().map(|got| got.container.number);
        self.all[app].live.extend(numbers);
    }

    /// Checks that what was placed and not given back is everywhere accounted for.
    pub(crate) fn check(&self, placed: &Containers, totals: &Totals) -> Result<()> {
        let gone = &self.released;
        totals.check(placed.count - gone.count, &(placed.sum - gone.sum))
    }
}

/// Applications whose calls are handed to the engine together.
const TOGETHER: usize = 64;

/// The engine of a churn with or without threads.
#[derive(Debug)]
pub(crate) enum Driven {
    Stepped(Box<Sequential>),
    Threaded(Box<Threaded>),
}

impl Driven {
    pub(crate) fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply> {
        Ok(match self {
            Self::Stepped(engine) => engine.ask(app, &call)?,
            Self::Threaded(engine) => engine.ask(app, call)?,
        })
    }

    /// Calls of several applications; with threads they are handed over together.
    pub(crate) fn ask_all(
        &mut self,
        calls: Vec<(ApplicationId, AskCall)>,
    ) -> Result<Vec<AskReply>> {
        let replies = match self {
            Self::Stepped(engine) => {
                let replies = calls.iter().map(|(app, call)| engine.ask(*app, call));
                replies.collect::<Result<_, _>>()
            }
            Self::Threaded(engine) => engine.ask_all(calls).into_iter().collect(),
        };
        Ok(replies?)
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        match self {
            Self::Stepped(engine) => engine.take_events(),
            Self::Threaded(engine) => engine.take_events(),
        }
    }
}

/// How long the driver sleeps at most until threads decide something.
const PATIENCE: Duration = Duration::from_millis(10);

/// Gives the engine its turn: a step on the caller's thread, or time where threads work.
pub(crate) struct Turns {
    how: How,
    nodes: Vec<NodeName>,
    next: usize,
}

impl Turns {
    pub(crate) fn new(how: How, shape: &Shape) -> Result<Self> {
        Ok(Self {
            how,
            nodes: shape.node_names()?,
            next: 0,
        })
    }

    /// Lets the engine decide, and hands over what it decided.
    fn decisions(&mut self, engine: &mut Driven) -> Result<Vec<Event>> {
        let mut decisions = Vec::new();
        match engine {
            Driven::Threaded(engine) if self.how.mode != ModeName::Heartbeat => {
                let _: Awaited = engine.await_events(&mut decisions, PATIENCE);
            }
            _ => {
                self.step(engine)?;
                decisions = engine.take_events();
            }
        }
        Ok(decisions)
    }

    pub(crate) fn step(&mut self, engine: &mut Driven) -> Result<()> {
        let node = &self.nodes[self.next];
        self.next = (self.next + 1) % self.nodes.len();
        match (engine, self.how.mode) {
            (Driven::Stepped(engine), ModeName::Heartbeat) => {
                engine.heartbeat(node, &rounds::silence())?;
            }
            (Driven::Stepped(engine), ModeName::Asynchronous) => {
                engine.schedule_node(node);
            }
            (Driven::Stepped(engine), ModeName::Global) => {
                engine.schedule_partition("", 1);
            }
            (Driven::Threaded(engine), ModeName::Heartbeat) => {
                engine.heartbeat(node.clone(), rounds::silence())?;
            }
            (Driven::Threaded(_), _) => std::hint::spin_loop(),
        }
        Ok(())
    }
}

/// Fills the cluster as far as the shape says and hands every container to its application.
pub(crate) fn filled(shape: &Shape, how: How) -> Result<(Driven, Turns, Masters, Containers)> {
    let mut engine = shape.engine(how.mode)?;
    let turns = Turns::new(how, shape)?;
    let target = u64::from(shape.target());
    let mut tally = Tally::new();
    // Filling is not measured, so it goes by heartbeats in every mode.
    let mut idle = 0;
    for node in turns.nodes.iter().cycle() {
        engine.schedule_node(node);
        let placed = tally.take(engine.take_events());
        idle = if placed > 0 { 0 } else { idle + 1 };
        if tally.placed() >= target {
            break;
        }
        ensure!(
            idle <= turns.nodes.len(),
            "only {} of {target} could be placed",
            tally.placed()
        );
    }
    let placed = tally.containers();
    let mut masters = Masters::of(shape);
    let mut driven = if how.threads == 0 {
        Driven::Stepped(Box::new(engine))
    } else {
        let clock = SystemClock::new();
        Driven::Threaded(Box::new(Threaded::take_over(
            engine,
            how.engine_mode(),
            clock,
            how.running(),
        )?))
    };
    for app in 0..masters.all.len() {
        let reply = driven.ask(masters.all[app].id, AskCall::default())?;
        masters.learn(app, &reply);
    }
    drop(driven.take_events());
    Ok((driven, turns, masters, placed))
}

/// Runs a round of some seconds.
pub(crate) fn run(shape: &Shape, how: How, seconds: u64) -> Result<Round> {
    machine::on_its_own(|| drive(shape, how, seconds))
}

/// Drives a round, on a thread that ends with it.
fn drive(shape: &Shape, how: How, seconds: u64) -> Result<Round> {
    let (mut engine, mut turns, mut masters, mut placed) = filled(shape, how)?;
    how.stand_aside();
    let window = masters.all.len();
    let mut ready: VecDeque<usize> = (0..window).collect();
    let (clock, mut latency) = (SystemClock::new(), Histogram::new());
    let mut asked_at = vec![0; window];
    let mut conflicts = std::collections::BTreeMap::new();
    let (mut open, mut n, mut asking_ns) = (0, 0, 0);
    let began = clock.now_ns();
    let mut beside = Beside::new(shape, how, began, seconds * 1_000_000_000)?;
    let mut now = began;
    while now - began < seconds * 1_000_000_000 {
        let before = now;
        open += ask_ready(&mut engine, &mut masters, &mut ready, &mut asked_at, &clock)?;
        asking_ns += clock.now_ns() - before;
        while open > window / 2 {
            beside.tend(&mut engine, now)?;
            let decisions = turns.decisions(&mut engine)?;
            now = clock.now_ns();
            if decisions.is_empty() && now - began > (seconds + 1) * 1_000_000_000 {
                break;
            }
            for decision in &decisions {
                match decision {
                    Event::Allocated {
                        container, size, ..
                    } => {
                        placed.add(size);
                        let app = container.app.sequence as usize - 1;
                        latency.record(now.saturating_sub(asked_at[app]));
                        ready.push_back(app);
                        (open, n) = (open - 1, n + 1);
                    }
                    Event::Rejected { conflict, .. } => {
                        *conflicts.entry(conflict.name()).or_default() += 1;
                    }
                    _ => {}
                }
            }
        }
        now = clock.now_ns();
    }
    let elapsed_ns = now - began;
    let rss_kib = machine::status_kib("VmRSS");
    let totals = finish(&mut engine, &masters, &mut placed, &mut conflicts)?;
    let aside = beside.finish(now, rss_kib, &totals);
    Ok(Round {
        placed: n,
        complete: true,
        counted: n,
        elapsed_ns,
        scheduling_ns: Some(elapsed_ns - asking_ns),
        latency,
        latency_of: "ask to container, closed loop",
        conflicts,
        retries: retries(&engine),
        unplaced: None,
        hash: String::new(),
        aside: Some(aside),
    })
}

/// Lets every application that is ready give back a container and ask for one; how many did.
fn ask_ready(
    engine: &mut Driven,
    masters: &mut Masters,
    ready: &mut VecDeque<usize>,
    asked_at: &mut [u64],
    clock: &SystemClock,
) -> Result<usize> {
    let mut asked = 0;
    while !ready.is_empty() {
        let apps: Vec<usize> = ready.drain(..ready.len().min(TOGETHER)).collect();
        let mut calls = Vec::with_capacity(apps.len());
        for &app in &apps {
            let call = masters.call(app, 1, 1);
            asked_at[app] = clock.now_ns();
            calls.push((masters.all[app].id, call));
        }
        for (&app, reply) in apps.iter().zip(engine.ask_all(calls)?) {
            masters.learn(app, &reply);
            asked += 1;
        }
    }
    Ok(asked)
}

/// Proposals that went to their second node.
fn retries(engine: &Driven) -> u64 {
    match engine {
        Driven::Stepped(_) => 0,
        Driven::Threaded(engine) => engine.outcomes().get(CommitOutcome::CommittedElsewhere),
    }
}

/// Lets the engine come to rest and checks that nothing was lost.
pub(crate) fn finish(
    engine: &mut Driven,
    masters: &Masters,
    placed: &mut Containers,
    conflicts: &mut std::collections::BTreeMap<&'static str, u64>,
) -> Result<Totals> {
    let totals = match engine {
        Driven::Stepped(engine) => rounds::totals(engine),
        Driven::Threaded(engine) => {
            let mut tally = Tally::new();
            let totals = rounds::settle(engine, &mut tally);
            placed.join(tally.containers());
            *conflicts = rounds::conflicts(engine);
            totals
        }
    };
    masters.check(placed, &totals)?;
    Ok(totals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_churn_of_several_sizes_adds_up_in_every_mode() {
        let mut shape = Shape::named("W9-mixed").unwrap();
        shape.cluster.nodes = 50;
        for (mode, threads) in [
            (ModeName::Heartbeat, 0),
            (ModeName::Asynchronous, 1),
            (ModeName::Global, 0),
        ] {
            let round = run(&shape, How::of(mode, threads), 1).unwrap();
            assert!(round.placed > 0, "{}", mode.name());
        }
    }
}
