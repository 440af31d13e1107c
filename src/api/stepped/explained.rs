//! Looks at an engine that runs step by step: why something waits, and copies to try changes on.

use super::Stepped;
use crate::api::explain::{explain, explain_all, waiting_beside};
use crate::commit::AppError;
use crate::explain::{Explanation, UnderWay, Waiting};
use crate::id::ApplicationId;

impl Stepped {
    /// Why one application waits, with what preemption and refused proposals mean for it; nothing
    /// when it is unknown, over, or waits for nothing.
    ///
    /// Cost: a look at every node for each outstanding size; with preemption, a round's.
    #[must_use]
    pub fn explain(&self, app: ApplicationId) -> Option<Explanation> {
        explain(self.engine.ledger(), app, self.under_way())
    }

    /// The same for every application that waits, in the order of their numbers.
    #[must_use]
    pub fn explain_all(&self) -> Vec<Explanation> {
        explain_all(self.engine.ledger(), self.under_way())
    }

    /// A copy of the engine without preemption, to try a change on. What it decides concerns nobody.
    ///
    /// Cost: a copy of every table.
    #[must_use]
    pub fn trial(&self) -> Self {
        let mut copy = Self::new(self.engine.trial(), self.mode);
        copy.nodes.clone_from(&self.nodes);
        copy.partitions.clone_from(&self.partitions);
        copy.start = self.start;
        copy
    }

    /// Changes an application's priority; returns the effective one.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn change_priority(&mut self, app: ApplicationId, wanted: i32) -> Result<i32, AppError> {
        self.engine.change_priority(app, wanted)
    }

    /// The reasons alone: what each application waits for and why, as [`waiting`](crate::api::waiting).
    #[must_use]
    pub fn waiting(&self) -> Vec<(ApplicationId, Vec<Waiting>)> {
        waiting_beside(self.engine.ledger(), self.under_way())
    }

    /// What is under way and stands in no state.
    #[must_use]
    pub fn under_way(&self) -> UnderWay {
        UnderWay {
            preemption: self
                .preemption
                .settings
                .interval_ms()
                .map_or_else(Vec::new, |_| self.explain_preemption()),
            refused: self.refused.clone(),
            // The ledger adds those that wait.
            gangs: Vec::new(),
        }
    }
}
