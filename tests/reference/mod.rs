//! A naive single-threaded Capacity Scheduler, written straight from YARN's rules: the oracle of
//! differential tests.
//!
//! Plain maps, names and recomputation; no code of the engine. It answers the steps of parity
//! scenarios as the recordings of the original do. Preemption rounds are left out.
#![expect(
    clippy::unwrap_used,
    clippy::float_arithmetic,
    clippy::float_cmp,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "test code; YARN's own float rules, in scenarios of known size"
)]

mod allocator;
mod apps;
mod asks;
mod capacity;
mod commit;
pub(crate) mod compare;
mod config;
mod constraints;
mod creation;
mod dump;
mod leaf;
mod managed;
mod movement;
mod nodes;
mod play;
mod resources;
mod runnable;
mod state;
mod tree;
mod users;
mod vectors;
mod walk;

use serde_json::{Map, Value, json};

/// The reference scheduler behind the steps of a scenario.
#[derive(Debug)]
pub(crate) struct Reference(state::Scheduler);

impl Reference {
    /// Starts with a scenario's header: `resource_types`, `site`, `config`, `cluster_labels`.
    ///
    /// # Errors
    ///
    /// The stable code of the refusal when the scheduler would not start.
    pub(crate) fn new(header: &Value) -> Result<Self, &'static str> {
        state::Scheduler::start(header).map(Self)
    }

    /// Carries out one step (its `expect` is not looked at) and answers with the `expect` object.
    ///
    /// # Panics
    ///
    /// On a step that the scenario format does not have, and on `preempt`.
    pub(crate) fn play(&mut self, step: &Value) -> Value {
        self.0.play(step)
    }
}

/// Names of the children of every parent, in the scheduler's order.
fn tree_order(s: &state::Scheduler) -> Value {
    let mut out = Map::new();
    for q in s.tree(s.root) {
        let names: Vec<&str> = s
            .q(q)
            .children
            .iter()
            .map(|c| s.q(*c).name.as_str())
            .collect();
        if !names.is_empty() {
            out.insert(s.q(q).path.clone(), json!(names));
        }
    }
    Value::Object(out)
}
