//! The tree of queues: building, capacities and refreshes.

pub(super) mod build;
pub(super) mod capacity;
mod configured_queue;
mod effective;
pub(super) mod fractions;
pub(super) mod managed;
pub(super) mod prepared;
pub(super) mod refresh;
pub(super) mod refresh_checks;
pub(super) mod refresh_error;
mod row_copies;
pub(super) mod strays;
pub(super) mod vector_capacities;
pub(super) mod visited_queues;

use std::sync::Arc;

use super::leaves::Leaves;
use super::registry::Registry;
use crate::queue::Templates;
use crate::snapshot::State;
use visited_queues::VisitedQueues;

/// The tree of queues, while it is changed: its rows and names, the leaves, and the templates of created queues.
pub(super) struct Tree<'a> {
    state: &'a mut State,
    registry: &'a mut Registry,
    leaves: &'a mut Leaves,
    templates: &'a mut Arc<dyn Templates>,
}

impl<'a> Tree<'a> {
    /// The tree in the parts of a ledger.
    pub(super) fn new(
        state: &'a mut State,
        registry: &'a mut Registry,
        leaves: &'a mut Leaves,
        templates: &'a mut Arc<dyn Templates>,
    ) -> Self {
        Self {
            state,
            registry,
            leaves,
            templates,
        }
    }
}

/// A tree that is changed goes without a pause.
impl VisitedQueues for Tree<'_> {
    fn rows(&mut self) -> (&mut State, &mut Leaves) {
        (self.state, self.leaves)
    }
}
