//! One call of an application in steps: a call with many items is carried out a bounded number of
//! them at a time, so that others are served in between.
//!
//! 1. Check sizes, labels and counts of all asks and requests; a refusal leaves no trace.
//! 2. Intern the places, take over changes of containers, end what is given back, lower the asks by what was
//!    not fetched.
//! 3. Take over the asks, then the scheduling requests, then the lists of places not to use.
//! 4. Place opportunistic containers that were asked for before.
//! 5. Hand over new containers and changes of containers, and answer.
//!
//! Tests: `tests/inputs/requests.rs`.

use std::sync::Arc;

use super::ask_error::{AskError, MAX_ASKS};
use super::ask_order::AskOrder;
use super::budget::take;
use super::checks::{CheckedRequest, Checks, check_place};
use super::updates::UpdateProgress;
use crate::accounting::{FairChange, mark_moved};
use crate::commit::containers::store::READ_AHEAD;
use crate::commit::leaves::Leaves;
use crate::commit::leaves::demand::{Checked, CheckedAsks, check_key, relabel_places};
use crate::commit::ledger::Ledger;
use crate::commit::registry::Registry;
use crate::id::{AppSlot, ApplicationId, NameId, PartitionId, QueueSlot, SchedulerKey};
use crate::queue::{App, AskCall, AskReply, EndCause, PlaceAsk};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// What is done next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AskStep {
    #[default]
    Begin,
    Check,
    Intern,
    Update,
    Release,
    Correct,
    Asks,
    Requests,
    Shun,
    Opportunistic,
    HandOver,
    Answered,
}

/// The key of the last ask for `*`, with its label, until the other places of the key have that.
type Relabels = Option<(SchedulerKey, Option<PartitionId>)>;

/// Of what is left of a part, the share that is freed of forgotten asks.
pub(super) const FREED: usize = 4;

/// How far a call is carried out.
#[derive(Debug, Default)]
pub struct AskProgress {
    step: AskStep,
    /// Items of the present step that are done.
    done: usize,
    order: AskOrder,
    /// The application's slot and its generation when the call began.
    owner: Option<(AppSlot, u32)>,
    queue: Option<QueueSlot>,
    default: Option<Arc<str>>,
    largest: ResourceVector,
    checked: CheckedAsks,
    requests: Vec<CheckedRequest>,
    /// Nothing where the call changes no container.
    updates: Option<Box<UpdateProgress>>,
    /// Whether an ask for `*` was taken over, or else a request changed its number.
    changed: bool,
    requests_changed: bool,
    relabels: Relabels,
}

impl AskProgress {
    /// A call that has not begun.
    ///
    /// Cost: that of sorting the asks.
    #[must_use]
    pub fn of(call: &AskCall) -> Self {
        let mut progress = Self::default();
        progress.begin(call, AskOrder::of(&call.asks));
        progress
    }

    /// Makes ready for a call that has not begun, with the order of its asks. Lists keep their room.
    pub fn begin(&mut self, call: &AskCall, order: AskOrder) {
        self.go_to(AskStep::Begin);
        (self.order, self.owner, self.queue, self.default) = (order, None, None, None);
        self.checked.clear();
        self.requests.clear();
        self.updates = (!call.updates.is_empty()).then(Box::default);
        (self.changed, self.requests_changed, self.relabels) = (false, false, None);
    }

    fn go_to(&mut self, step: AskStep) {
        (self.step, self.done) = (step, 0);
    }

    /// Checks asks, then requests, then places not to use.
    fn check_asks(
        &mut self,
        checks: Checks<'_>,
        (app, call): (AppSlot, &AskCall),
        budget: &mut usize,
    ) -> Result<(), AskError> {
        let (asks, requests) = (&call.asks, &call.constrained);
        let (added, removed) = (&call.blacklist_add, &call.blacklist_remove);
        let all = asks.len() + requests.len() + added.len() + removed.len();
        for at in take(&mut self.done, all, budget) {
            if let Some(ask) = asks.get(at) {
                let default = self.default.as_deref();
                let checked = checks.checked(self.queue, ask, default, &self.largest)?;
                self.checked.push(checked);
            } else if let Some(request) = requests.get(at - asks.len()) {
                let checked = checks.check_constrained(app, request)?;
                self.requests.push(checked);
            } else {
                let at = at - asks.len() - requests.len();
                check_place(added.get(at).unwrap_or_else(|| &removed[at - added.len()]))?;
            }
        }
        if self.done == all {
            self.go_to(AskStep::Intern);
        }
        Ok(())
    }

    /// Only names of a call that is carried out are remembered.
    fn intern_places(&mut self, registry: &mut Registry, call: &AskCall, budget: &mut usize) {
        for at in take(&mut self.done, call.asks.len(), budget) {
            let place = registry.intern(&call.asks[at].place);
            self.checked[at].ask.place = place;
        }
        if self.done == call.asks.len() {
            self.go_to(AskStep::Update);
        }
    }

    /// Takes over asks; whether one was for `*` decides about the requests that follow. A key that belongs to a
    /// scheduling request ends the call: what came before stays.
    // As AppSchedulingInfo.updateResourceRequests with SingleConstraintAppPlacementAllocator.
    fn take_over_asks(
        &mut self,
        (state, leaves): (&mut State, &mut Leaves),
        app: AppSlot,
        budget: &mut usize,
    ) -> Result<(), AskError> {
        if !go_on_relabelling(&mut self.relabels, &mut state.apps[app], budget) {
            return Ok(());
        }
        let all = self.order.positions.len();
        let (asks, positions) = (&self.checked, &self.order.positions);
        let mut places: Vec<PlaceAsk> = Vec::new();
        while self.done < all && *budget > 0 {
            let Checked { key, ask } = asks[positions[self.done] as usize].clone();
            check_key(state, app, key)?;
            (self.done, *budget) = (self.done + 1, *budget - 1);
            if ask.place == NameId::ANY {
                (self.changed, self.relabels) = (true, Some((key, ask.partition)));
                leaves.ask_anywhere(state, app, key, ask);
                if !go_on_relabelling(&mut self.relabels, &mut state.apps[app], budget) {
                    return Ok(());
                }
                continue;
            }
            places.push(ask);
            let next = positions.get(self.done).filter(|_| *budget > 0);
            let next = next.map(|&at| &asks[at as usize]);
            if next.is_none_or(|next| next.key != key || next.ask.place == NameId::ANY) {
                state.apps[app].put_places(key, std::mem::take(&mut places));
            }
        }
        if self.done == all {
            self.go_to(AskStep::Requests);
        }
        Ok(())
    }

    /// Follows the lists of places not to use.
    fn update_blacklist(
        &mut self,
        registry: &mut Registry,
        row: &mut App,
        call: &AskCall,
        budget: &mut usize,
    ) {
        let (added, removed) = (&call.blacklist_add, &call.blacklist_remove);
        let all = added.len() + removed.len();
        for at in take(&mut self.done, all, budget) {
            match at.checked_sub(added.len()) {
                None => row.blacklist.add(registry.intern(&added[at])),
                Some(at) => row.blacklist.take(registry.intern(&removed[at])),
            }
        }
        if self.done == all {
            self.go_to(AskStep::Opportunistic);
        }
    }
}

/// Goes on with the labels of the places of a key; whether all have them.
fn go_on_relabelling(relabels: &mut Relabels, row: &mut App, budget: &mut usize) -> bool {
    let all = |(key, label)| relabel_places(row, key, label, budget);
    let is_done = relabels.is_none_or(all);
    if is_done {
        *relabels = None;
    }
    is_done
}

impl Ledger {
    /// One call of an application: releases, asks, blacklist, and the answer.
    ///
    /// # Errors
    ///
    /// As [`AskError`]; then nothing changed. Only a key that is in use for something else is met
    /// on the way: what the call gave back and asked before stays.
    pub fn ask(&mut self, app: AppSlot, call: &AskCall) -> Result<AskReply, AskError> {
        let (mut reply, mut progress) = (AskReply::default(), AskProgress::of(call));
        let whole = &mut usize::MAX.clone();
        self.ask_on(app, call, &mut progress, &mut reply, whole)?;
        Ok(reply)
    }

    /// Goes on with a call for at most so many items; whether it is carried out. The answer's lists are empty
    /// at first but may have room: who makes and drops it elsewhere keeps that work from the ledger's
    /// thread.
    ///
    /// # Errors
    ///
    /// As [`Ledger::ask`], and when the application ended since the call began; the answer has no meaning
    /// then.
    pub fn ask_on(
        &mut self,
        app: AppSlot,
        call: &AskCall,
        progress: &mut AskProgress,
        reply: &mut AskReply,
        budget: &mut usize,
    ) -> Result<bool, AskError> {
        if progress.step == AskStep::Begin {
            self.begin_ask(app, call, progress)?;
        } else if progress.owner != Some((app, self.state.apps[app].generation)) {
            return Err(AskError::UnknownApplication(self.state.apps[app].id));
        }
        if !self.go_on_with(app, call, progress, reply, budget)? {
            return Ok(false);
        }
        // It takes no items: others of the same part go on.
        self.leaves.free_some(&mut (*budget / FREED));
        if progress.changed {
            mark_moved(&mut self.state, app, FairChange::Demand);
        }
        Ok(true)
    }

    /// Goes on with the present step of a call and those after it while the budget lasts; whether all are done.
    fn go_on_with(
        &mut self,
        app: AppSlot,
        call: &AskCall,
        progress: &mut AskProgress,
        reply: &mut AskReply,
        budget: &mut usize,
    ) -> Result<bool, AskError> {
        if progress.step == AskStep::Check {
            progress.check_asks(self.checks(), (app, call), budget)?;
        }
        if progress.step == AskStep::Intern {
            progress.intern_places(&mut self.registry, call, budget);
        }
        if progress.step == AskStep::Update {
            self.update_containers(app, call, progress, reply, budget);
        }
        if progress.step == AskStep::Release {
            self.release_containers(app, call, progress, reply, budget);
        }
        if progress.step == AskStep::Correct {
            self.correct_asks(app, progress);
        }
        if progress.step == AskStep::Asks {
            progress.take_over_asks((&mut self.state, &mut self.leaves), app, budget)?;
        }
        if progress.step == AskStep::Requests {
            self.take_over_requests(app, progress, budget)?;
        }
        if progress.step == AskStep::Shun {
            progress.update_blacklist(&mut self.registry, &mut self.state.apps[app], call, budget);
        }
        if progress.step == AskStep::Opportunistic && self.place_opportunistic(app, budget) {
            progress.go_to(AskStep::HandOver);
        }
        if progress.step == AskStep::HandOver {
            self.finish_answer(app, progress, reply, budget);
        }
        Ok(progress.step == AskStep::Answered)
    }

    /// Hands over what is new, and fills the rest of the answer once all of that is in it.
    fn finish_answer(
        &mut self,
        app: AppSlot,
        progress: &mut AskProgress,
        reply: &mut AskReply,
        budget: &mut usize,
    ) {
        if self.hand_over(app, reply, budget) {
            self.answer(app, reply);
            progress.go_to(AskStep::Answered);
        }
    }

    fn begin_ask(
        &mut self,
        app: AppSlot,
        call: &AskCall,
        progress: &mut AskProgress,
    ) -> Result<(), AskError> {
        let row = &self.state.apps[app];
        if !row.may_ask() {
            return Err(AskError::MasterNotRunning(row.id));
        }
        let asks = call.asks.len() + call.constrained.len() + call.updates.len();
        if asks > MAX_ASKS || row.keys.len() + asks > 2 * MAX_ASKS {
            return Err(AskError::TooManyAsks(asks));
        }
        progress.owner = Some((app, row.generation));
        progress.default = row.submission.default_partition.clone();
        // Queues are looked for by name, which finds none that was removed.
        let leaf = row.leaf;
        progress.queue = (!self.state.queues[leaf].removed).then_some(leaf);
        progress.largest = self.largest_allocation(progress.queue);
        progress.checked.reserve(call.asks.len());
        progress.go_to(AskStep::Check);
        Ok(())
    }

    /// Takes over changes of containers.
    fn update_containers(
        &mut self,
        app: AppSlot,
        call: &AskCall,
        progress: &mut AskProgress,
        reply: &mut AskReply,
        budget: &mut usize,
    ) {
        let (of, largest) = (progress.updates.as_deref_mut(), &progress.largest);
        let updates = of.map(|of| (call.updates.as_slice(), largest, of));
        if updates.is_none_or(|of| self.take_over_updates(app, of, reply, budget)) {
            progress.go_to(AskStep::Release);
        }
    }

    /// Reads the containers that calls of applications give back, before they are carried out.
    pub(crate) fn read_released<'a>(
        &self,
        calls: impl Iterator<Item = &'a (ApplicationId, AskCall)>,
    ) {
        let slots = calls.filter_map(|(app, call)| Some((self.app(*app)?, &call.release)));
        let released = slots.flat_map(|(app, numbers)| numbers.iter().map(move |&n| (app, n)));
        self.containers.read_ahead(released);
    }

    /// Ends the containers that an application gives back.
    fn release_containers(
        &mut self,
        app: AppSlot,
        call: &AskCall,
        progress: &mut AskProgress,
        reply: &mut AskReply,
        budget: &mut usize,
    ) {
        let numbers = &call.release;
        let range = take(&mut progress.done, numbers.len(), budget);
        for some in numbers[range].chunks(READ_AHEAD) {
            if some.len() > 1 {
                self.containers
                    .read_ahead(some.iter().map(|&number| (app, number)));
            }
            for &number in some {
                let live = self.containers.live(app, number);
                match live.filter(|&slot| !self.container(slot).is_auxiliary()) {
                    Some(slot) => self.end_container(slot, EndCause::Released),
                    None => reply.unknown.push(number),
                }
            }
        }
        if progress.done == numbers.len() {
            progress.go_to(AskStep::Correct);
        }
    }

    /// Lowers asks by what was not fetched.
    fn correct_asks(&mut self, app: AppSlot, progress: &mut AskProgress) {
        self.correct(app, &mut progress.checked);
        progress.go_to(AskStep::Asks);
    }

    /// Takes over scheduling requests, if no ask for `*` was among the asks.
    fn take_over_requests(
        &mut self,
        app: AppSlot,
        progress: &mut AskProgress,
        budget: &mut usize,
    ) -> Result<(), AskError> {
        let requests = &progress.requests;
        if requests.is_empty() || progress.changed {
            progress.go_to(AskStep::Shun);
            return Ok(());
        }
        for at in take(&mut progress.done, requests.len(), budget) {
            progress.requests_changed |= self.update_constrained(app, &requests[at])?;
        }
        if progress.done == requests.len() {
            progress.changed = progress.requests_changed;
            progress.go_to(AskStep::Shun);
        }
        Ok(())
    }
}
