//! Looks at an engine that runs step by step: why something waits, and copies to try changes on.

use super::{ModeKind, Stepped};
use crate::api::explain::{explain, explain_all, waiting_beside};
use crate::commit::{AppError, Ledger};
use crate::explain::{Explanation, UnderWay, Waiting};
use crate::id::ApplicationId;
use crate::runtime::Sequential;

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
        copy.all_nodes = self.all_nodes;
        copy
    }

    /// A copy of an engine with threads by its ledger, to try a change on. Its rounds are those of the mode: in global
    /// mode they look at all nodes, whatever the settings say, as the threads do.
    ///
    /// Cost: a copy of every table.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// engine.add_node(NodeSpec::new("n0:8041".parse()?, ResourceVector::of(&[8192, 8])))?;
    /// let mut copy = engine.inspect(|ledger| Stepped::trial_of(ledger, ModeKind::Heartbeat))?;
    /// copy.submit(AppSpec::new(ApplicationId::new(1), "root.a", "ann"))?;
    /// assert!(engine.app(ApplicationId::new(1))?.is_none()); // the engine itself has not changed
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn trial_of(ledger: &Ledger, mode: ModeKind) -> Self {
        let all_nodes = mode == ModeKind::Global;
        let engine = match all_nodes {
            true => Sequential::trial_over_all_nodes(ledger),
            false => Sequential::trial_of(ledger),
        };
        let mut copy = Self::new(engine, mode);
        copy.all_nodes = all_nodes;
        let state = ledger.state();
        for (name, slot) in ledger.nodes_by_name() {
            let partition = state.nodes[slot].partition;
            copy.nodes.push((name.clone(), slot));
            copy.partitions
                .insert(state.partitions[partition].name.to_string());
        }
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
            opportunistic: Vec::new(),
        }
    }
}
