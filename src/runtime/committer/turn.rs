//! Turns of the committer: the loop of its thread, one turn, a visit on a caller's thread, the end.
//!
//! Tests: `tests/runtime/callers.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::caller_runs::CallerRuns;
use super::inline_scheduling::Served;
use super::{Committer, Measures};
use crate::commit::Fetch;
use crate::metrics::Phase;
use crate::runtime::handles::command::{Command, ShowCall};
use crate::runtime::handles::reply::answer;
use crate::sync::{Received, SPINS, spin_loop};
use crate::time::Clock;

/// Commands that are carried out before proposals get their turn again. Of those that write every queue there is one in a
/// turn, and the others wait.
const COMMANDS: usize = 256;

/// Items of one command that are carried out before other callers get their turn: containers, asks, places.
/// Each takes some microseconds at most.
const ITEMS: usize = 256;

/// Turns on the thread of a caller before the committer's own goes on: its own call, what came of it
/// and the calls that came meanwhile.
const VISIT: u32 = 4;

/// Which commands were taken from the inbox in one turn, besides looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CommandKinds {
    None,
    /// Calls of applications and reports of nodes alone.
    Calls,
    /// Others among them.
    Others,
}

impl CommandKinds {
    fn of(command: &Command) -> Self {
        match command {
            look if look.is_look() => Self::None,
            call if call.is_call() => Self::Calls,
            _ => Self::Others,
        }
    }

    /// Whether the committer may place by itself what they ask for, or go on with that.
    fn allow_inline(self, goes_on: bool) -> bool {
        self == Self::Calls || (goes_on && self == Self::None)
    }
}

impl<C: Clock> Committer<C> {
    /// Runs until shutdown; every accepted command has its answer then. While there is nothing to do, it is
    /// released to callers, who run its turns on their threads.
    pub(in crate::runtime) fn run(mut self: Box<Self>, handoff: &CallerRuns<C>) {
        while !self.shutdown.is_requested() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.work())) {
                return handoff.lose(self, &*payload);
            }
            if self.shutdown.is_requested() {
                break;
            }
            match handoff.release_and_sleep(self) {
                Some(back) => self = back,
                // It panicked on the thread of a caller.
                None => return,
            }
        }
        handoff.retain();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.end())) {
            return handoff.lose(self, &*payload);
        }
        self.shutdown.finish();
    }

    /// Gives every accepted command its answer, and shows what they came to.
    fn end(&mut self) {
        self.drain();
        self.idle.answer_all();
        self.publish();
        // Before the ring is finished, as it is when this committer is dropped.
        self.delivery.finish(self.clock.now_ns());
        self.measures.recorder.hand_over();
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
            if self.has_to_publish() {
                self.publish_in_parts();
                continue;
            }
            self.measures.recorder.hand_over();
            self.answer_quiet();
            self.prepare_sleep();
            return;
        }
    }

    /// A turn of every kind of work; whether there was any.
    pub(in crate::runtime) fn turn(&mut self) -> bool {
        self.turn_of(&|| true)
    }

    /// The same on the thread of a caller. One that fetched, and waits for nothing else, does not go on with the long call
    /// of another one.
    fn turn_of(&mut self, is_awaited: &dyn Fn() -> bool) -> bool {
        self.begin_part();
        let worked = self.take_turn(is_awaited);
        if worked {
            self.end_part();
        }
        worked
    }

    fn begin_part(&mut self) {
        if let Some(began) = &mut self.measures.part_began {
            *began = self.clock.now_ns();
            self.engine.fetches().take_pauses().for_each(drop);
        }
    }

    /// Measures a part, and the stretches of which it is made where it paused for fetches; the next one begins.
    fn end_part(&mut self) {
        let Measures {
            recorder,
            part_began: Some(began),
            ..
        } = &mut self.measures
        else {
            return;
        };
        let now = self.clock.now_ns();
        recorder.record(Phase::Part, now.saturating_sub(*began));
        for ended in self.engine.fetches().take_pauses().chain([now]) {
            let took = ended.saturating_sub(std::mem::replace(began, ended));
            recorder.record(Phase::Stretch, took);
        }
    }

    fn take_turn(&mut self, is_awaited: &dyn Fn() -> bool) -> bool {
        if self.expire() {
            self.publish();
        }
        self.deliver();
        self.engine.free_large();
        let before = self.publication.outside();
        let proposals = self.delivery.is_complete() && self.take_proposals();
        let quiet = !proposals && self.is_quiet();
        let commands = self.take_commands(is_awaited);
        let went_on = self.idle.take_goes_on();
        let served = if quiet && commands.allow_inline(went_on) {
            self.place_inline()
        } else {
            Served::NotAll
        };
        let goes_on = served == Served::Some;
        self.idle.set_goes_on(goes_on);
        let changed = went_on || self.publication.outside() != before;
        let left = served == Served::NotAll && changed;
        if left {
            self.publication.note_left(went_on);
        }
        let preparing = self.publication.is_preparing();
        // Without proposers nobody waits for it.
        if preparing || (left && !self.proposers.is_empty()) || self.is_due() {
            self.publish_in_parts();
        }
        let unfinished = !self.unfinished.is_empty();
        proposals || goes_on || unfinished || preparing || commands != CommandKinds::None
    }

    fn is_due(&mut self) -> bool {
        self.publication.is_due(&mut self.engine, &self.proposers)
    }

    /// Delivers events as far as there is room.
    pub(super) fn deliver(&mut self) {
        let clock = &self.clock;
        self.delivery.deliver(&mut self.engine, || clock.now_ns());
    }

    /// Refuses what comes from now on, and carries out all that was accepted before.
    fn drain(&mut self) {
        self.begin_part();
        self.proposers.close();
        let mut late: Vec<Command> = self.unfinished.drain(..).collect();
        let parker = self.idle.parker();
        let fetches = self.engine.fetches();
        fetches.finish(parker, |fetch| late.push(Command::Fetch(fetch)));
        self.inbox.finish(parker, |command| late.push(command));
        for command in late {
            let mut left = Some(command);
            while let Some(command) = left {
                left = self.carry_out(command, &mut { usize::MAX });
            }
        }
        while self.take_proposals() {}
    }

    /// Whether somebody waits for what no snapshot shows yet. Without proposers only those do who ask.
    fn has_to_publish(&self) -> bool {
        let waits = !self.proposers.is_empty() || self.idle.is_awaited();
        self.publication.is_wanted() || (self.publication.is_behind() && waits)
    }

    /// Looks for work in vain before it publishes, or sleeps where there is nothing to publish. While
    /// every proposer is idle, or there is none, only callers bring work, and they find the committer
    /// released: a wait would only delay that.
    fn patience(&self) -> u32 {
        if self.proposers.is_empty() || self.is_quiet() {
            return 0;
        }
        if !self.publication.is_behind() {
            return SPINS;
        }
        self.proposers.patience(self.publication.snapshot())
    }

    fn take_commands(&mut self, is_awaited: &dyn Fn() -> bool) -> CommandKinds {
        let mut kinds = self.take_fetches();
        if kinds != CommandKinds::None && self.is_long() && !is_awaited() {
            return kinds;
        }
        kinds = kinds.max(self.go_on());
        let writes_all = |command: &Command| command.writes_all_queues(&self.engine);
        let mut had_long = self.unfinished.iter().any(writes_all);
        for _ in 0..COMMANDS {
            let Received::Item(command) = self.inbox.try_recv() else {
                break;
            };
            let kind = CommandKinds::of(&command);
            let is_long = command.writes_all_queues(&self.engine);
            // One of these takes as long as many others, which are served before the next one. They keep their order.
            let left = if is_long && had_long {
                Some(command)
            } else {
                self.go_on_with(command)
            };
            had_long |= is_long;
            match left {
                Some(left) => self.unfinished.push_back(left),
                None => kinds = kinds.max(kind),
            }
        }
        kinds
    }

    /// Carries fetches out before other commands: a visit of all queues does so, too. Those that are begun go on by one
    /// budget.
    fn take_fetches(&mut self) -> CommandKinds {
        let (mut kinds, mut budget) = (CommandKinds::None, ITEMS);
        while budget > 0
            && let Some(begun) = self.engine.fetches().pop_begun()
        {
            kinds = self.fetch(begun, &mut budget);
        }
        for _ in 0..COMMANDS {
            let Some(fetch) = self.engine.fetches().pop() else {
                break;
            };
            kinds = self.fetch(fetch, &mut { ITEMS });
        }
        kinds
    }

    fn fetch(&mut self, fetch: Box<Fetch>, budget: &mut usize) -> CommandKinds {
        let left = self.carry_out(Command::Fetch(fetch), budget);
        *budget = budget.saturating_sub(1);
        if let Some(Command::Fetch(left)) = left {
            self.engine.fetches().go_on_with(left);
        }
        CommandKinds::Calls
    }

    /// Goes on with the oldest of the commands that have many items and do not wait. It counts when it is carried out.
    fn go_on(&mut self) -> CommandKinds {
        let (publication, engine) = (&self.publication, &self.engine);
        let goes_on =
            |command: &Command| publication.may_begin_again() || !command.writes_all_queues(engine);
        let Some(at) = self.unfinished.iter().position(goes_on) else {
            return CommandKinds::None;
        };
        let Some(command) = self.unfinished.remove(at) else {
            return CommandKinds::None;
        };
        let kind = CommandKinds::of(&command);
        match self.go_on_with(command) {
            Some(left) => {
                self.unfinished.insert(at, left);
                CommandKinds::None
            }
            None => kind,
        }
    }

    /// Carries out a part of a command; what is left. That is all of one that writes every queue where a snapshot would
    /// never be ready.
    fn go_on_with(&mut self, command: Command) -> Option<Command> {
        if command.writes_all_queues(&self.engine) {
            if !self.publication.may_begin_again() {
                return Some(command);
            }
            self.publication.begin_again();
        }
        self.carry_out(command, &mut { ITEMS })
    }

    /// Carries a command out as far as the budget has items for it; what is left.
    fn carry_out(&mut self, command: Command, budget: &mut usize) -> Option<Command> {
        let left = self.carry_out_part(command, budget);
        self.end_part();
        left
    }

    fn carry_out_part(&mut self, command: Command, budget: &mut usize) -> Option<Command> {
        let command = match command {
            Command::Quiesce(reply) => {
                self.idle.await_quiet(reply);
                return None;
            }
            Command::Show(call, reply) => {
                answer(reply, self.shows(call));
                return None;
            }
            Command::View(query, reply) => {
                self.publish();
                query.run(self.engine.settled_ledger());
                answer(reply, self.publication.shared());
                return None;
            }
            command => command,
        };
        let look = command.is_look();
        let schedules = self.heartbeats_schedule;
        let left = self.change(|engine| command.go_on(engine, schedules, budget));
        // Of a command with many items the last ones are the news: what proposers decide between two others
        // is as if it had been asked for one after the other.
        if !look && left.is_none() {
            self.publication.note_change();
        }
        left
    }

    fn shows(&mut self, call: ShowCall) -> bool {
        match call {
            ShowCall::MayLookAgain => self.publication.is_counting(),
            ShowCall::LookAgain => self.publication.look_again(),
            // While proposals keep it busy it publishes by itself. What came just before this is
            // not yet placed inline, which is no work for the proposers.
            ShowCall::CopyAhead => !self.are_proposers_idle() || self.copy_ahead(),
        }
    }

    fn copy_ahead(&mut self) -> bool {
        self.publication.copy_ahead(&mut self.engine)
    }

    /// Takes a few turns on the thread of a caller, and goes on with long commands while it waits for its answer; whether
    /// its own thread has to go on. A snapshot that nobody waits for is left to whoever asks for it.
    pub(in crate::runtime) fn visit(&mut self, is_awaited: &dyn Fn() -> bool) -> bool {
        let mut turns = 0;
        let goes_on = |committer: &Self, turns| {
            if committer.is_long() {
                is_awaited()
            } else {
                turns < VISIT
            }
        };
        // In the first turn its own call is carried out.
        while !self.shutdown.is_requested()
            && (turns == 0 || goes_on(self, turns))
            && self.turn_of(is_awaited)
        {
            self.idle.note_visit();
            turns += 1;
        }
        let awaited = self.has_landed() || self.idle.is_awaited();
        self.begin_part();
        if self.publication.is_wanted() {
            self.show();
            self.end_part();
        } else if awaited && self.publication.is_behind() {
            self.publish_in_parts();
            self.end_part();
        }
        self.deliver();
        self.measures.recorder.hand_over();
        self.answer_quiet();
        self.has_work()
    }

    /// Whether what goes on takes more than a few turns.
    fn is_long(&self) -> bool {
        let goes_on = !self.unfinished.is_empty() || self.engine.has_begun_fetch();
        goes_on || self.publication.is_preparing()
    }

    /// Publishes what no snapshot shows yet; whether its own thread has something to do.
    pub(super) fn show(&mut self) -> bool {
        if self.publication.is_behind() {
            self.publish();
        } else {
            self.publication.withdraw_wish();
        }
        self.has_work()
    }
}
