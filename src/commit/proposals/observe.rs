//! Applying what passes observed.

use crate::commit::apps::skippable_head::{tell_prefix, tell_user};
use crate::commit::ledger::Ledger;
use crate::proposer::Observation;

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
            Observation::LimitTold {
                user,
                ref limit,
                once,
            } => {
                tell_user(state, user, limit.clone());
                let row = &mut state.users[user];
                if let Some((partition, exclusivity, version)) = once {
                    row.parts[partition].told[exclusivity as usize] = Some(version);
                }
            }
            Observation::PrefixTold {
                leaf,
                partition,
                exclusivity,
                version,
                ref limit,
            } => tell_prefix(state, leaf, (partition, exclusivity, version), limit.get()),
            Observation::PrefixGrown { leaf, ref growth } if growth.len == 0 => {
                self.cut_prefix(leaf, 0);
            }
            Observation::PrefixGrown { leaf, ref growth } => self.grow_front(leaf, growth),
            Observation::Served { app, provider } => {
                let users = state.queues[provider.leaf].as_leaf_mut();
                users.published_limit.clone_from(&users.current_limit);
                self.set_provider(app, Some(provider));
            }
            Observation::Gate {
                user,
                partition,
                exclusivity,
                ref gate,
            } => {
                let part = &mut state.users[user].parts[partition];
                part.gates[exclusivity as usize] = Some(gate.clone());
            }
            Observation::NobodyHere {
                leaf,
                app,
                partition,
                exclusivity,
            } => self.refuse_nobody(leaf, app, partition, exclusivity),
            Observation::Counters {
                app,
                key,
                opportunities,
                missed,
            } => {
                if let Ok(at) = state.apps[app].find_key(key) {
                    let asks = &mut state.apps[app].keys[at];
                    asks.opportunities = opportunities;
                    asks.missed = missed;
                }
            }
            Observation::Sorted { leaf } => self.sort_flagged(leaf),
        }
    }
}
