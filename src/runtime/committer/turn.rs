//! The committer: the only writer. Takes proposals and commands in turn, publishes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::time::Duration;

use crate::commit::{CommitOutcome, Conflict, Event, Freed};
use crate::metrics::{CounterWriter, Phase, Recorder};
use crate::snapshot::Snapshot;
use crate::sync::{
    Arc, AtomicBool, InboxReceiver, Mutant, Parker, ProposerStatus, Publisher, Received,
    RingReceiver, RingSender, SPINS, ShutdownOwner, TrySendError, Waker, injected, spin_loop,
};
use crate::time::Clock;

use super::caller_runs::CallerRuns;
use super::fate::Fate;
use super::idle::Sleep;
use super::inline_scheduling::{InlineScheduling, Served};
use super::publish_backoff::patience;
use crate::runtime::Sequential;
use crate::runtime::handles::command::{Command, Reply, answer};
use crate::runtime::handles::event_reader::{Rest, Telling};
use crate::runtime::proposer::batch::Batch;

/// Commands that are carried out before proposals get their turn again.
const COMMANDS: usize = 256;

/// What was taken from the inbox in one turn, besides looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    None,
    /// Calls of applications and reports of nodes alone.
    Calls,
    /// Others among them.
    Others,
}

impl Taken {
    /// Whether the committer may decide by itself what they brought about, or go on with that.
    fn may_be_served(self, goes_on: bool) -> bool {
        self == Self::Calls || (goes_on && self == Self::None)
    }
}

/// What the committer owns, whatever thread it is on.
pub(in crate::runtime) struct Committer<C> {
    pub(in crate::runtime) engine: Sequential,
    /// Whether heartbeats schedule their node.
    pub(in crate::runtime) heartbeats_schedule: bool,
    pub(in crate::runtime) rings: Vec<RingReceiver<std::sync::Arc<Batch>>>,
    /// Decisions that it made by itself, and how many of them were refused.
    pub(in crate::runtime) served: (u64, u64),
    /// What it needs to decide by itself, where the mode looks at all nodes.
    pub(in crate::runtime) spot: Option<InlineScheduling>,
    /// Whether it decides by itself in the next turn, too: the last one ended by its length.
    pub(in crate::runtime) goes_on: bool,
    /// Decisions taken from each of them.
    pub(in crate::runtime) taken: Vec<u64>,
    /// How many of them were refused.
    pub(in crate::runtime) refused: Vec<u64>,
    /// How many of all of them proposed nothing.
    pub(in crate::runtime) skipped: u64,
    /// Counts what changed the state other than accepted proposals.
    pub(in crate::runtime) outside: u64,
    /// Counts what changed the state: commands and accepted proposals.
    pub(in crate::runtime) changes: u64,
    /// Decisions, and turns in which outsiders changed something, that no snapshot shows yet.
    pub(in crate::runtime) unpublished: u64,
    /// Whether somebody waits for a snapshot of all that was answered.
    pub(in crate::runtime) wanted: Arc<AtomicBool>,
    /// While rows are copied ahead: how many the last turn left.
    pub(in crate::runtime) copying: Option<usize>,
    pub(in crate::runtime) inbox: InboxReceiver<Command>,
    pub(in crate::runtime) publisher: Publisher<Snapshot>,
    pub(in crate::runtime) snapshot: std::sync::Arc<Snapshot>,
    pub(in crate::runtime) proposers: Vec<Waker>,
    /// Where each of them stands.
    pub(in crate::runtime) standings: Vec<Arc<ProposerStatus>>,
    pub(in crate::runtime) parker: Parker,
    pub(in crate::runtime) shutdown: ShutdownOwner,
    pub(in crate::runtime) events: RingSender<Telling>,
    /// Empty buffers that readers of events gave back.
    pub(in crate::runtime) spent: RingReceiver<Vec<Event>>,
    /// Where those are left that found no room until the end.
    pub(in crate::runtime) rest: Rest,
    /// Events that nobody has made room for. While there are any, no proposal is taken.
    pub(in crate::runtime) untold: Vec<Event>,
    pub(in crate::runtime) fates: CounterWriter<Fate>,
    pub(in crate::runtime) recorder: Recorder,
    pub(in crate::runtime) clock: C,
    pub(in crate::runtime) quiet: Vec<Reply<()>>,
    /// Since when slots are what they are; observations made before are not applied.
    pub(in crate::runtime) freed: Freed,
    /// Whether something happened since the last publication besides looks at reservations.
    pub(in crate::runtime) news: bool,
    /// How long it looks out for commands before it sleeps.
    pub(in crate::runtime) awake: Duration,
    /// What its thread sleeps for while it rests.
    pub(in crate::runtime) sleep: Sleep,
    /// Whether a call came while its thread slept, which shall stay awake for the next one.
    pub(in crate::runtime) roused: bool,
}

impl<C: Clock> Committer<C> {
    /// Runs until shutdown; every accepted command has its answer then. While it rests, it lies
    /// where callers find it and let it take its turns on their threads.
    pub(in crate::runtime) fn run(mut self: Box<Self>, lending: &CallerRuns<C>) {
        while !self.shutdown.is_requested() {
            if catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
                return lending.lose(self);
            }
            if self.shutdown.is_requested() {
                break;
            }
            match lending.rest(self) {
                Some(back) => self = back,
                // It panicked on the thread of a caller.
                None => return,
            }
        }
        lending.keep();
        if catch_unwind(AssertUnwindSafe(|| self.end())).is_err() {
            return lending.lose(self);
        }
        self.shutdown.finish();
    }

    /// Gives every accepted command its answer, and shows what they came to.
    fn end(&mut self) {
        self.drain();
        for reply in self.quiet.drain(..) {
            answer(&reply, ());
        }
        self.publish();
        // Before the ring is finished, as it is when this committer is dropped.
        if !self.untold.is_empty() {
            let rest = Telling {
                at_ns: self.clock.now_ns(),
                events: std::mem::take(&mut self.untold),
            };
            *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(rest);
        }
        self.recorder.hand_over();
    }

    /// Takes turns until there is nothing to do, or the end is asked for: looked at every time,
    /// since callers who never pause must not keep the engine alive.
    fn work(&mut self) {
        let mut fruitless = 0;
        while !self.shutdown.is_requested() {
            if self.turn() {
                fruitless = 0;
                continue;
            }
            fruitless += 1;
            if fruitless < self.patience() {
                spin_loop();
                continue;
            }
            fruitless = 0;
            if self.owes_snapshot() {
                self.publish();
                continue;
            }
            self.recorder.hand_over();
            self.answer_quiet();
            self.sleep = self.sleep();
            self.roused = false;
            return;
        }
    }

    /// A turn of every kind of work; whether there was any.
    pub(in crate::runtime) fn turn(&mut self) -> bool {
        self.tell();
        self.expire();
        let before = self.outside;
        let proposals = self.untold.is_empty() && self.take_proposals();
        let at_rest = !proposals && self.is_at_rest();
        let commands = self.take_commands();
        let goes_on = std::mem::take(&mut self.goes_on);
        let served = if at_rest && commands.may_be_served(goes_on) {
            self.serve()
        } else {
            Served::NotAll
        };
        self.goes_on = served == Served::Some;
        let left = served == Served::NotAll && (goes_on || self.outside != before);
        self.news |= left && goes_on;
        // Without proposers nobody waits for it.
        self.unpublished += u64::from(left);
        if (left && !self.standings.is_empty()) || self.is_due() {
            self.publish();
        }
        proposals || self.goes_on || commands != Taken::None
    }

    /// Refuses what comes from now on, and carries out all that was accepted before.
    fn drain(&mut self) {
        for ring in &mut self.rings {
            ring.close();
        }
        let mut late = Vec::new();
        self.inbox
            .finish(&self.parker, |command| late.push(command));
        for command in late {
            self.carry_out(command);
        }
        while self.take_proposals() {}
    }

    /// Whether somebody waits for what no snapshot shows yet. Without proposers only those do who ask.
    fn owes_snapshot(&self) -> bool {
        let proposes = !self.standings.is_empty();
        self.is_wanted() || (self.unpublished > 0 && (proposes || !self.quiet.is_empty()))
    }

    /// Looks for work in vain before it publishes, or rests where there is nothing to publish. While
    /// every proposer rests, or there is none, only callers bring work, who find it at rest: what it
    /// waited they would wait asleep, and come just too late to find it so.
    fn patience(&self) -> u32 {
        if self.standings.is_empty() || self.is_at_rest() {
            return 0;
        }
        if self.unpublished == 0 {
            return SPINS;
        }
        let shown = &self.snapshot.taken;
        let landed = |i: usize| shown.get(i) != self.taken.get(i);
        patience(&self.standings, landed, self.snapshot.news)
    }

    /// Commits one batch of every proposer in turn; whether there was one.
    fn take_proposals(&mut self) -> bool {
        let mut any = false;
        for i in 0..self.rings.len() {
            if let Received::Item(batch) = self.rings[i].try_recv() {
                any = true;
                self.commit(i, &batch, |_, _| {});
            }
        }
        if any {
            self.engine.ledger_mut().settle();
        }
        any
    }

    /// Commits a batch; `told` hears what became of each decision. Batches of a proposer come in their
    /// order, and none is missing.
    pub(in crate::runtime) fn commit(
        &mut self,
        proposer: usize,
        batch: &Batch,
        mut told: impl FnMut(&mut Sequential, CommitOutcome),
    ) {
        debug_assert_eq!(
            self.taken[proposer] + batch.len() as u64,
            batch.end,
            "a batch of proposer {proposer} is missing or came twice"
        );
        let sent_ns = batch.sent_ns.filter(|_| self.recorder.is_active());
        let timed = sent_ns.is_some();
        let before = if timed { self.clock.now_ns() } else { 0 };
        if let Some(sent_ns) = sent_ns {
            let stay = before.saturating_sub(sent_ns);
            self.recorder.record(Phase::HandOff, stay);
        }
        let mut checked_ns = 0;
        let stale = self.freed.outdates(batch.version);
        let (mut committed, mut elsewhere, mut refused, mut kept) = (0, 0, 0, 0);
        self.engine.ledger_mut().defer(true);
        for (outcome, seen) in batch.iter() {
            let seen = if stale { &[] } else { seen };
            let keeps = outcome.keeps_reservation();
            self.news |= !keeps;
            let clock = (timed && checked_ns == 0).then_some(&self.clock);
            let ledger = self.engine.ledger_mut();
            let outcome = ledger.commit_watched(outcome, seen, || {
                checked_ns = clock.map_or(checked_ns, Clock::now_ns);
            });
            if let Some(clock) = clock.filter(|_| outcome.is_committed()) {
                let (check, all) = (checked_ns.max(before), clock.now_ns());
                self.recorder.record(Phase::Validate, check - before);
                self.recorder
                    .record(Phase::Apply, all.saturating_sub(check));
            }
            told(&mut self.engine, outcome);
            match outcome {
                CommitOutcome::Committed => {
                    committed += 1;
                    kept += u64::from(keeps);
                }
                CommitOutcome::CommittedElsewhere => elsewhere += 1,
                CommitOutcome::Rejected(conflict) => {
                    refused += 1;
                    count_refusal(&mut self.fates, conflict);
                }
                CommitOutcome::Nothing => self.skipped += 1,
            }
        }
        self.engine.ledger_mut().defer(false);
        self.fates.count_n(Fate::Committed, committed);
        self.fates.count_n(Fate::CommittedElsewhere, elsewhere);
        // Its proposer foresees neither. Only refusals count for its restraint: elsewhere is progress, too.
        self.outside += refused + elsewhere;
        // That a reservation is kept changes nothing: who is refused beside it would try for ever.
        self.changes += committed - kept + elsewhere;
        self.taken[proposer] = batch.end;
        self.refused[proposer] += refused;
        self.unpublished += batch.len() as u64;
    }

    fn take_commands(&mut self) -> Taken {
        let mut taken = Taken::None;
        for _ in 0..COMMANDS {
            let Received::Item(command) = self.inbox.try_recv() else {
                break;
            };
            taken = match taken {
                _ if command.is_look() => taken,
                Taken::None | Taken::Calls if command.is_call() => Taken::Calls,
                _ => Taken::Others,
            };
            self.carry_out(command);
        }
        taken
    }

    /// Decides by itself what calls have brought about while the proposers rest. Where nothing is
    /// left for them they sleep on, and the snapshot waits for a pause.
    fn serve(&mut self) -> Served {
        let Some(spot) = self.spot.as_mut().filter(|_| self.untold.is_empty()) else {
            return Served::NotAll;
        };
        if !spot.is_willing() {
            return Served::NotAll;
        }
        self.engine.ledger_mut().catch_up();
        let (mut committed, fates, recorder) = (0, &mut self.fates, &mut self.recorder);
        let served = spot.serve(&mut self.engine, &self.clock, |outcome, took_ns| {
            match outcome {
                // What is decided on the live state has no alternate.
                CommitOutcome::Committed | CommitOutcome::CommittedElsewhere => committed += 1,
                CommitOutcome::Rejected(conflict) => {
                    count_refusal(fates, conflict);
                    self.served.1 += 1;
                }
                CommitOutcome::Nothing => return,
            }
            self.served.0 += 1;
            if let Some(took_ns) = took_ns {
                recorder.record(Phase::Propose, took_ns);
            }
        });
        self.fates.count_n(Fate::Committed, committed);
        self.changes += committed;
        self.unpublished += committed + 1;
        self.news &= served == Served::NotAll;
        served
    }

    fn carry_out(&mut self, command: Command) {
        let command = match command {
            Command::Quiesce(reply) => return self.quiet.push(reply),
            Command::CopyAhead(reply) => {
                // While proposals keep it busy it publishes by itself. What came just before this is
                // not yet served, which is no work of theirs.
                let few = !self.are_idle() || self.copy_ahead();
                return answer(&reply, few);
            }
            command => command,
        };
        if !command.is_look() {
            self.outside += 1;
            self.changes += 1;
            self.news = true;
        }
        let schedules = self.heartbeats_schedule;
        self.change(|engine| command.carry_out(engine, schedules));
    }

    /// Carries out one change of an outsider. It may free slots, so observations made before it
    /// count no more.
    pub(in crate::runtime) fn change<T>(&mut self, change: impl FnOnce(&mut Sequential) -> T) -> T {
        let ledger = self.engine.ledger_mut();
        ledger.set_time(self.clock.now_ms());
        ledger.catch_up();
        let result = change(&mut self.engine);
        self.freed = Freed::behind(self.snapshot.version);
        result
    }

    /// Ends applications whose lifetime is over.
    fn expire(&mut self) {
        let due = |deadline: u64| deadline <= self.clock.now_ms();
        if self.engine.ledger().next_deadline().is_some_and(due) {
            self.engine.ledger_mut().catch_up();
            self.engine.advance_to(self.clock.now_ms());
            self.freed = Freed::behind(self.snapshot.version);
            self.outside += 1;
            self.news = true;
            self.changes += 1;
            self.publish();
        }
    }

    /// Hands events over as far as there is room. That a reservation still waits is not told:
    /// it would be, for as long as it waits.
    pub(in crate::runtime) fn tell(&mut self) {
        let count = self.engine.ledger().event_count();
        if count > 0 {
            self.collect(count);
        }
        if self.untold.is_empty() {
            return;
        }
        let telling = Telling {
            at_ns: self.clock.now_ns(),
            events: std::mem::take(&mut self.untold),
        };
        match self.events.try_send(telling) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(back)) => self.untold = back.events,
        }
    }

    /// Takes over the events since the last time, in a buffer that was used before.
    fn collect(&mut self, count: usize) {
        let buffer = match self.spent.try_recv() {
            Received::Item(buffer) => buffer,
            // As many as now may come next; a buffer that grows is copied each time.
            Received::Empty | Received::Finished => Vec::with_capacity(count),
        };
        let mut events = self.engine.ledger_mut().exchange_events(buffer);
        events.retain(|event| !matches!(event, Event::Reserved { again: true, .. }));
        if self.untold.is_empty() {
            self.untold = events;
        } else {
            self.untold.append(&mut events);
        }
    }
}

/// Counts a proposal that did not hold.
fn count_refusal(fates: &mut CounterWriter<Fate>, conflict: Conflict) {
    if !injected(Mutant::RefusalNotCounted) {
        fates.count(conflict.into());
    }
    if injected(Mutant::RefusalCountedTwice) {
        fates.count(conflict.into());
    }
}
