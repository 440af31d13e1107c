//! Changes of a running engine: the committer carries them out, and the caller waits for the answer.
//!
//! Tests: `tests/runtime/turns.rs`, `tests/runtime/node_turns.rs`.

use super::handles::command::Command;
use super::handles::looks::CallError;
use super::ledger_change::{LedgerChange, Writes};
use super::node_changes::NodeChange;
use super::{Sequential, Threaded};

impl Threaded {
    /// Has a change carried out by the committer.
    pub(super) fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Sequential) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let mut change = Some(change);
        self.change_in_parts(move |engine, _| change.take().map(|change| change(engine)))
    }

    /// Has a change carried out by the committer in parts of so many items, until one comes to an answer. Others
    /// are served in between.
    pub(super) fn change_in_parts<T: Send + 'static>(
        &self,
        part: impl FnMut(&mut Sequential, &mut usize) -> Option<T> + Send + 'static,
    ) -> Result<T, CallError> {
        self.change_as(Writes::Named, part)
    }

    /// The same for a change of which parts write every queue.
    pub(super) fn change_queues<T: Send + 'static>(
        &self,
        part: impl FnMut(&mut Sequential, &mut usize) -> Option<T> + Send + 'static,
    ) -> Result<T, CallError> {
        self.change_as(Writes::AllQueues, part)
    }

    fn change_as<T: Send + 'static>(
        &self,
        writes: Writes,
        part: impl FnMut(&mut Sequential, &mut usize) -> Option<T> + Send + 'static,
    ) -> Result<T, CallError> {
        self.call(|reply| Command::Change(LedgerChange::in_parts(writes, reply, part)))
    }

    /// The same for a change of which the first part may write every queue, and each one says what the next one writes.
    pub(super) fn change_in_phases<T: Send + 'static>(
        &self,
        part: impl FnMut(&mut Sequential, &mut usize) -> Result<T, Writes> + Send + 'static,
    ) -> Result<T, CallError> {
        self.call(|reply| Command::Change(LedgerChange::in_phases(Writes::AllQueues, reply, part)))
    }

    /// Has a change of nodes carried out by the committer, and what follows from it in parts.
    pub(super) fn change_nodes<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Sequential) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let mut change = NodeChange::of(change);
        self.change_queues(move |engine, budget| change.go_on(engine, budget))
    }
}
