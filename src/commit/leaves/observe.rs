//! What passes observe about leaves and below.
//!
//! Tests: `tests/commit/working_copies.rs`.

use super::Leaves;
use super::records::{count_waiting_users, keep_user_limit};
use crate::accounting::{note_head_limit, note_user_limit};
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::proposer::{Observation, note_cached_limit, note_counters, publish_limit};
use crate::queue::LimitKind;
use crate::snapshot::State;

impl Leaves {
    /// Applies one observation.
    pub(in crate::commit) fn observe(&mut self, state: &mut State, observation: &Observation) {
        match *observation {
            Observation::PublishedLimit { leaf, ref limit } => publish_limit(state, leaf, limit),
            Observation::UserLimit { .. } => note_computed_limit(state, observation),
            Observation::LimitNotice { .. } | Observation::HeadNotice { .. } => {
                note_limit(state, observation);
            }
            Observation::HeadGrown { leaf, ref growth } if growth.len == 0 => {
                self.skipped.cut(state, leaf, 0);
            }
            Observation::HeadGrown { leaf, ref growth } => self.skipped.grow(state, leaf, growth),
            Observation::Served { app, provider } => self.set_provider(state, app, Some(provider)),
            Observation::CachedUserLimit { .. } => note_cached_limit(state, observation),
            Observation::UserUnknown {
                leaf,
                app,
                partition,
                exclusivity,
            } => self.refuse_unknown_user(state, leaf, app, partition, exclusivity),
            Observation::Counters { .. } => note_counters(state, observation),
            Observation::Sorted { leaf } => self.sort_marked(state, leaf),
        }
    }
}

/// Keeps a user limit that a pass or preemption computed; other observations change nothing.
///
/// Where proposers pass over copies, a pass over the live state does not count waiting users either: it computes
/// no limit for a user who is granted what it uses, and would count on one path only. Commits count there, and so
/// does preemption, which alone computes the limits of all users.
fn note_computed_limit(state: &mut State, observation: &Observation) {
    if let Observation::UserLimit {
        leaf,
        partition,
        kind,
        version,
        ref limit,
    } = *observation
    {
        keep_user_limit(state, leaf, partition, kind, version, limit.clone());
        let counts = !state.concurrent || kind == LimitKind::All;
        if counts || is_planted(PlantedFlaw::GrantedUserMovesCount) {
            count_waiting_users(state, leaf);
        }
    }
}

/// Notes a limit that was handed to one application, or to all of the skippable head of a leaf.
fn note_limit(state: &mut State, observation: &Observation) {
    match *observation {
        Observation::LimitNotice {
            user,
            ref limit,
            once,
        } => {
            note_user_limit(state, user, limit.clone());
            if let Some((partition, exclusivity, version)) = once {
                let part = &mut state.users[user].parts[partition];
                part.limit_version[exclusivity as usize] = Some(version);
            }
        }
        Observation::HeadNotice {
            leaf,
            partition,
            exclusivity,
            version,
            ref limit,
        } => note_head_limit(state, leaf, (partition, exclusivity, version), limit.get()),
        _ => {}
    }
}
