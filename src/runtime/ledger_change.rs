//! A change of the ledger that is carried out in parts.

use super::Sequential;
use super::handles::reply::{Reply, answer};

/// A part of a change: as many items as the budget has; whether it was the last one, which answered.
type Part = dyn FnMut(&mut Sequential, &mut usize) -> bool + Send;

/// A change that an outsider asks for, which answers by itself.
pub(super) struct LedgerChange(Box<Part>);

impl std::fmt::Debug for LedgerChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LedgerChange")
    }
}

impl LedgerChange {
    /// A change of parts, of which the last one comes to an answer.
    pub(super) fn in_parts<T: Send + 'static>(
        reply: Reply<T>,
        mut part: impl FnMut(&mut Sequential, &mut usize) -> Option<T> + Send + 'static,
    ) -> Self {
        let mut reply = Some(reply);
        Self(Box::new(move |engine, budget| {
            let Some(value) = part(engine, budget) else {
                return false;
            };
            if let Some(reply) = reply.take() {
                answer(reply, value);
            }
            true
        }))
    }

    /// Goes on; whether it is carried out.
    pub(super) fn go_on(&mut self, engine: &mut Sequential, budget: &mut usize) -> bool {
        (self.0)(engine, budget)
    }
}
