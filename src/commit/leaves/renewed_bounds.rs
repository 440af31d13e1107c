//! Bounds of user limits that are renewed before a publication, in parts.
//!
//! Tests: `tests/commit/user_bounds.rs`.

use super::records::renew_bounds_of;
use crate::snapshot::State;

/// How far bounds are renewed. Each holds while the state counts the epoch in which it was.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commit) struct RenewedBounds {
    epoch: u64,
    /// Queues of which the bounds hold in that epoch, from the first on.
    queues: usize,
}

impl RenewedBounds {
    /// Goes on with as many queues as the budget has, from the first one where the epoch moved; whether none is left.
    pub(in crate::commit) fn go_on(&mut self, state: &mut State, budget: &mut usize) -> bool {
        if self.epoch != state.epoch {
            (self.epoch, self.queues) = (state.epoch, 0);
        }
        let all = state.queues.len();
        let left = all.saturating_sub(self.queues);
        let part = left.min(*budget);
        *budget -= part;
        renew_bounds_of(state, self.queues..self.queues + part);
        self.queues += part;
        part == left
    }
}
