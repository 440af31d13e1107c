//! Changes of nodes, after which all queues are computed anew: each visit of them is a part.
//!
//! 1. What is left of another call is carried out before.
//! 2. The change is a part, with a visit of all queues.
//! 3. The label manager then sends the labels of the node, and each is a part with a visit.
//!
//! The report of a node that shrinks goes the same way, but for its first step: it does not wait.
//!
//! Tests: `tests/runtime/node_turns.rs`.

use super::Sequential;
use super::ledger_change::Writes;
use crate::commit::NodeError;
use crate::id::NodeName;

/// What a change left to its next parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Nothing,
    /// All queues are to be computed anew, which may go on.
    Left,
}

/// A change of nodes after which all queues are computed anew, each time in a part of its own.
///
/// As in YARN the label manager sends the labels of a changed node after the change, and others may come between. The
/// answer waits for all of it.
pub(super) struct NodeChange<F, T> {
    /// Until it is carried out.
    change: Option<F>,
    has_waited: bool,
    /// What it came to.
    result: Option<T>,
}

impl<T, F: FnOnce(&mut Sequential) -> T> NodeChange<F, T> {
    pub(super) const fn of(change: F) -> Self {
        Self {
            change: Some(change),
            has_waited: false,
            result: None,
        }
    }

    /// Goes on; what it came to once nothing more follows from it. It begins once nothing is left of another one.
    pub(super) fn go_on(&mut self, engine: &mut Sequential, budget: &mut usize) -> Option<T> {
        if self.is_to_begin() && !self.can_begin(engine, budget) {
            return None;
        }
        if let Some(change) = self.change.take() {
            self.result = Some(engine.change_in_parts(change));
            engine.ledger().take_recomputing_off(budget);
        }
        engine.recompute_on(budget).then(|| self.result.take())?
    }

    const fn is_to_begin(&self) -> bool {
        self.change.is_some()
    }

    /// Whether nothing is left of another call. It waits for one part: reports may leave more in each turn.
    fn can_begin(&mut self, engine: &mut Sequential, budget: &mut usize) -> bool {
        if std::mem::replace(&mut self.has_waited, true) {
            return engine.recompute_on(&mut { usize::MAX });
        }
        engine.recompute_on(budget) && *budget > 0
    }
}

/// The removal of a node in parts: its containers end before.
pub(super) fn node_removal(
    node: NodeName,
) -> impl FnMut(&mut Sequential, &mut usize) -> Result<Result<(), NodeError>, Writes> + Send + 'static
{
    let name = node.clone();
    let mut removing = NodeChange::of(move |engine: &mut Sequential| engine.remove_node(&name));
    let mut had_containers = false;
    move |engine, budget| {
        if removing.is_to_begin() {
            if !engine.end_part_on(&node, budget) {
                had_containers = true;
                return Err(Writes::Named);
            }
            // This part was to end containers: the next one may write every queue.
            if std::mem::take(&mut had_containers) {
                return Err(Writes::AllQueues);
            }
        }
        removing.go_on(engine, budget).ok_or(Writes::AllQueues)
    }
}

impl Sequential {
    /// Ends containers of a node that is about to be removed, as many as the budget has; whether there were none.
    pub(super) fn end_part_on(&mut self, node: &NodeName, budget: &mut usize) -> bool {
        self.note_nodes();
        let none = self.ledger.end_containers_on(node, budget);
        self.follow_up();
        none
    }

    /// Carries out a change; [`Self::recompute_on`] goes on.
    fn change_in_parts<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        self.ledger.set_in_parts(true);
        let result = change(self);
        self.ledger.set_in_parts(false);
        result
    }

    /// Takes a report of a node; whether there is something to go on with, which is so where the node shrinks. What
    /// another call left comes before: what waits is of one call.
    pub(super) fn report_in_parts<T>(
        &mut self,
        node: &NodeName,
        take: impl FnOnce(&mut Self) -> T,
    ) -> (T, Rest) {
        if !self.ledger.is_followed_up() {
            if !self.ledger.is_decommissioning(node) {
                return (take(self), Rest::Nothing);
            }
            self.recompute_on(&mut { usize::MAX });
        }
        let came_to = self.change_in_parts(take);
        let rest = if self.ledger.is_followed_up() {
            Rest::Nothing
        } else {
            Rest::Left
        };
        (came_to, rest)
    }

    /// Goes on computing queues anew, as often as the budget has all of them; whether nothing is left.
    pub(super) fn recompute_on(&mut self, budget: &mut usize) -> bool {
        self.note_nodes();
        let done = self.ledger.recompute_on(budget);
        self.follow_up();
        done
    }
}
