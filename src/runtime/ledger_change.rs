//! A change of the ledger that is carried out in parts.
//!
//! Tests: `tests/runtime/turns.rs`, `tests/runtime/node_turns.rs`.

use super::Sequential;
use super::handles::reply::{Reply, answer};

/// A part of a change: as many items as the budget has; what the next one writes, or nothing after the last one, which
/// answered.
type Part = dyn FnMut(&mut Sequential, &mut usize) -> Option<Writes> + Send;

/// What a part of a change writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    /// The row of every queue.
    AllQueues,
    /// The same, unless another call carried out what was left.
    Rest,
    /// The rows of what is named.
    Named,
}

/// A change that an outsider asks for, which answers by itself.
pub(super) struct LedgerChange {
    part: Box<Part>,
    /// What the next part writes.
    writes: Writes,
}

impl std::fmt::Debug for LedgerChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LedgerChange")
    }
}

impl LedgerChange {
    /// A change of parts, of which the last one comes to an answer. They write the same.
    pub(super) fn in_parts<T: Send + 'static>(
        writes: Writes,
        reply: Reply<T>,
        mut part: impl FnMut(&mut Sequential, &mut usize) -> Option<T> + Send + 'static,
    ) -> Self {
        Self::in_phases(writes, reply, move |engine, budget| {
            part(engine, budget).ok_or(writes)
        })
    }

    /// A change of which each part but the last one says what the next one writes. `writes`: what the first one writes at
    /// most.
    pub(super) fn in_phases<T: Send + 'static>(
        writes: Writes,
        reply: Reply<T>,
        mut part: impl FnMut(&mut Sequential, &mut usize) -> Result<T, Writes> + Send + 'static,
    ) -> Self {
        let mut reply = Some(reply);
        let part = Box::new(move |engine: &mut Sequential, budget: &mut usize| {
            let value = match part(engine, budget) {
                Ok(value) => value,
                Err(next) => return Some(next),
            };
            if let Some(reply) = reply.take() {
                answer(reply, value);
            }
            None
        });
        Self { part, writes }
    }

    /// What a change left to its next parts: all queues are computed anew. It came to an answer.
    pub(super) fn rest<T: Send + 'static>(reply: Reply<T>, came_to: T) -> Self {
        let mut came_to = Some(came_to);
        Self::in_parts(Writes::Rest, reply, move |engine, budget| {
            engine.recompute_on(budget).then(|| came_to.take())?
        })
    }

    /// What its next part writes.
    pub(super) const fn writes(&self) -> Writes {
        self.writes
    }

    /// Goes on; whether it is carried out.
    pub(super) fn go_on(&mut self, engine: &mut Sequential, budget: &mut usize) -> bool {
        let next = (self.part)(engine, budget);
        self.writes = next.unwrap_or(self.writes);
        next.is_none()
    }
}
