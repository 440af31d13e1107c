//! Schedulers over copies, to try changes on.
//!
//! Tests: `tests/explain/trial.rs`.

use super::sequential::Sequential;
use crate::commit::Ledger;

impl Sequential {
    /// A scheduler over a copy of the state, to try a change on; what it decides concerns nobody.
    ///
    /// Cost: a copy of every table.
    #[must_use]
    pub fn trial(&self) -> Self {
        Self::trial_of(&self.ledger)
    }

    /// The same over a copy of a ledger, such as that of an engine with threads.
    ///
    /// Cost: a copy of every table.
    #[must_use]
    pub fn trial_of(ledger: &Ledger) -> Self {
        Self::over(ledger.trial_copy())
    }

    /// The same for an engine whose threads look at all nodes, whatever its settings say.
    ///
    /// Cost: a copy of every table.
    #[must_use]
    pub fn trial_over_all_nodes(ledger: &Ledger) -> Self {
        let mut copy = ledger.trial_copy();
        copy.look_at_all_nodes();
        Self::over(copy)
    }
}
