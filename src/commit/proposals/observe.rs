//! Applying what passes observed.

use crate::accounting::{note_head_limit, note_user_limit};
use crate::commit::ledger::Ledger;
use crate::proposer::{Observation, note_counters, note_gate, publish_limit};
use crate::snapshot::State;

impl Ledger {
    /// Applies what a pass changed by looking, in order.
    pub fn observe(&mut self, observations: &[Observation]) {
        for observation in observations {
            self.observe_one(observation);
        }
    }

    fn observe_one(&mut self, observation: &Observation) {
        let state = &mut self.state;
        match *observation {
            Observation::CurrentLimit { leaf, ref limit } => {
                state.queues[leaf].as_leaf_mut().current_limit = limit.clone();
            }
            Observation::UserLimit {
                leaf,
                partition,
                kind,
                version,
                ref limit,
            } => self.keep_user_limit(leaf, partition, kind, version, limit.clone()),
            Observation::LimitTold { .. } | Observation::PrefixTold { .. } => {
                note_limit(state, observation);
            }
            Observation::PrefixGrown { leaf, ref growth } if growth.len == 0 => {
                self.skipped.cut(state, leaf, 0);
            }
            Observation::PrefixGrown { leaf, ref growth } => self.skipped.grow(state, leaf, growth),
            Observation::Served { app, provider } => {
                publish_limit(state, provider.leaf);
                self.set_provider(app, Some(provider));
            }
            Observation::Gate { .. } => note_gate(state, observation),
            Observation::NobodyHere {
                leaf,
                app,
                partition,
                exclusivity,
            } => self.refuse_nobody(leaf, app, partition, exclusivity),
            Observation::Counters { .. } => note_counters(state, observation),
            Observation::Sorted { leaf } => self.sort_marked(leaf),
        }
    }
}

/// Notes a limit that was handed to one application, or to all of the skippable head of a leaf.
fn note_limit(state: &mut State, observation: &Observation) {
    match *observation {
        Observation::LimitTold {
            user,
            ref limit,
            once,
        } => {
            note_user_limit(state, user, limit.clone());
            if let Some((partition, exclusivity, version)) = once {
                let part = &mut state.users[user].parts[partition];
                part.told[exclusivity as usize] = Some(version);
            }
        }
        Observation::PrefixTold {
            leaf,
            partition,
            exclusivity,
            version,
            ref limit,
        } => note_head_limit(state, leaf, (partition, exclusivity, version), limit.get()),
        _ => {}
    }
}
