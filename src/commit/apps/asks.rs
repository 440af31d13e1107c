//! Asks: validation, normalization and bookkeeping.
//!
//! Tests: `tests/inputs/requests.rs`.

use smallvec::smallvec;

use super::ask_error::{AskError, MAX_ASKS};
use super::checks::Checks;
use crate::accounting::{FairChange, mark_moved};
use crate::commit::event::Ending;
use crate::commit::leaves::demand::{Checked, CheckedAsks};
use crate::commit::ledger::Ledger;
use crate::commit::registry::Registry;
use crate::id::{AppSlot, NameId, PartitionId, QueueSlot, SchedulerKey};
use crate::queue::{AskCall, AskReply, PlaceAsk};
use crate::resource::ResourceVector;
use crate::snapshot::State;

impl Ledger {
    /// Largest allocation: the configured one, bounded by the largest node once there is one, and
    /// by the queue's own.
    #[must_use]
    pub fn largest_allocation(&self, queue: Option<QueueSlot>) -> ResourceVector {
        self.checks().largest_allocation(queue)
    }

    /// What checks read.
    pub(super) fn checks(&self) -> Checks<'_> {
        Checks::new(&self.state, &self.registry, &self.history, &self.tags)
    }

    /// One call of an application: releases, asks, blacklist, and the answer.
    ///
    /// # Errors
    ///
    /// As [`AskError`]; then nothing changed. Only a key that is in use for something else is met
    /// on the way: what the call gave back and asked before stays.
    pub fn ask(&mut self, app: AppSlot, call: &AskCall) -> Result<AskReply, AskError> {
        let mut reply = AskReply::default();
        self.ask_into(app, call, &mut reply)?;
        Ok(reply)
    }

    /// The same as [`Ledger::ask`] with an answer whose lists are empty but may have room: who makes and
    /// drops it elsewhere keeps that work from the ledger's thread.
    ///
    /// # Errors
    ///
    /// As [`Ledger::ask`]; the answer is as it was then.
    pub fn ask_into(
        &mut self,
        app: AppSlot,
        call: &AskCall,
        reply: &mut AskReply,
    ) -> Result<(), AskError> {
        let row = &self.state.apps[app];
        if !row.unmanaged && row.master.is_none() {
            return Err(AskError::MasterNotRunning(row.id));
        }
        let asks = call.asks.len() + call.constrained.len();
        if asks > MAX_ASKS || row.keys.len() + asks > 2 * MAX_ASKS {
            return Err(AskError::TooManyAsks(asks));
        }
        let mut checked = CheckedAsks::with_capacity(call.asks.len());
        self.checks().check_asks(app, &call.asks, &mut checked)?;
        let constrained = self.checks().check_constrained(app, &call.constrained)?;
        // Only names of a call that is carried out are remembered.
        for (checked, ask) in checked.iter_mut().zip(&call.asks) {
            checked.place = self.registry.intern(&ask.place);
        }
        self.release_containers(app, &call.release);
        self.correct(app, &mut checked);
        let mut changed = self.leaves.update_asks(&mut self.state, app, checked)?;
        if !changed {
            changed = self.update_constrained(app, constrained)?;
        }
        let Self {
            registry, state, ..
        } = self;
        update_blacklist(registry, state, app, call);
        self.answer(app, reply);
        if changed {
            mark_moved(&mut self.state, app, FairChange::Demand);
        }
        Ok(())
    }

    /// Ends the containers that an application gives back.
    fn release_containers(&mut self, app: AppSlot, numbers: &[u32]) {
        for &number in numbers {
            if let Some(slot) = self.containers.live(app, number) {
                self.end_container(slot, Ending::Released);
            }
        }
    }

    /// Asks for the container of a waiting application's master.
    pub(in crate::commit) fn ask_for_master(
        &mut self,
        app: AppSlot,
        partition: Option<PartitionId>,
    ) {
        // As RMAppAttemptImpl.ScheduleTransition: the leaf may have been created for the application.
        let of_leaf = || self.checks().default_partition(self.state.apps[app].leaf);
        let partition = partition.or_else(of_leaf);
        let minimum = self.state.minimum;
        let largest = self.checks().largest_allocation(None);
        let size = &self.state.apps[app].submission.master_size;
        let calculator = self.state.calculator;
        let size = calculator.normalize(size, &minimum, &largest, &minimum);
        let ask = Checked {
            key: SchedulerKey::MASTER,
            place: NameId::ANY,
            ask: PlaceAsk {
                place: NameId::ANY,
                size: size.into(),
                count: 1,
                relax: true,
                partition,
            },
        };
        self.leaves
            .update_own_asks(&mut self.state, app, smallvec![ask]);
    }
}

fn update_blacklist(registry: &mut Registry, state: &mut State, app: AppSlot, call: &AskCall) {
    for name in &call.blacklist_add {
        let name = registry.intern(name);
        let blacklist = &mut state.apps[app].blacklist;
        if !blacklist.contains(&name) {
            blacklist.push(name);
        }
    }
    for name in &call.blacklist_remove {
        let name = registry.intern(name);
        state.apps[app].blacklist.retain(|&other| other != name);
    }
}
