//! Asks: validation, normalization and bookkeeping.
//!
//! Tests: `tests/inputs/requests.rs`.

use super::ask_error::AskError;
use super::checks::Checks;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NameId, PartitionId, QueueSlot, SchedulerKey};
use crate::queue::{Ask, PlaceAsk};
use crate::resource::ResourceVector;

impl Ledger {
    /// Largest allocation: the configured one, bounded by the largest node once there is one, and
    /// by the queue's own.
    #[must_use]
    pub fn largest_allocation(&self, queue: Option<QueueSlot>) -> ResourceVector {
        self.checks().largest_allocation(queue)
    }

    /// What checks read.
    pub(in crate::commit) fn checks(&self) -> Checks<'_> {
        Checks::new(&self.state, &self.registry, &self.history, &self.tags)
    }

    /// Checks an ask of an application and normalizes it, as in a call of its own.
    pub(in crate::commit) fn checked_ask(
        &self,
        app: AppSlot,
        ask: &Ask,
    ) -> Result<PlaceAsk, AskError> {
        let row = &self.state.apps[app];
        let queue = (!self.state.queues[row.leaf].removed).then_some(row.leaf);
        let default = row.submission.default_partition.as_deref();
        let largest = self.largest_allocation(queue);
        let checked = self.checks().checked(queue, ask, default, &largest)?;
        Ok(checked.ask)
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
        let ask = PlaceAsk {
            place: NameId::ANY,
            size: size.into(),
            count: 1,
            relax: true,
            partition,
        };
        self.leaves
            .update_own_asks(&mut self.state, app, SchedulerKey::MASTER, vec![ask]);
    }
}
