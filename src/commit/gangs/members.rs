//! Gangs that are placed: which containers belong together.
//!
//! Tests: `tests/preemption/gangs.rs`.

use std::sync::Arc;

use super::Gangs;
use super::placed::PlacedGang;
use crate::commit::ledger::Ledger;
use crate::id::ContainerId;

impl Ledger {
    /// The live containers of each placed gang, of gangs that have all of them: what is to be preempted together or
    /// not at all. A gang that lost a member by itself has no minimum to keep any more.
    pub fn whole_gangs(&self) -> impl Iterator<Item = &[ContainerId]> {
        let gangs = self.gangs.placed.iter();
        let members = gangs.map(|gang| gang.members.as_slice());
        members.filter(|members| members.iter().all(|&id| self.live_container(id).is_some()))
    }
}

impl Gangs {
    /// The members of the minimum of each placed gang, of those as well that lost some.
    pub(in crate::commit) fn all_members(&self) -> Vec<Arc<Vec<ContainerId>>> {
        let gangs = self.placed.iter();
        gangs.map(|gang| Arc::clone(&gang.members)).collect()
    }

    /// Notes a gang that was placed. Once there are twice as many as were whole, those that are not are forgotten.
    pub(super) fn add_placed(&mut self, gang: PlacedGang, is_whole: impl Fn(&PlacedGang) -> bool) {
        self.placed.push(gang);
        if self.placed.len() > self.most_placed {
            // Those that lost a member, or whose application ended.
            self.placed.retain(is_whole);
            self.most_placed = 2 * self.placed.len();
        }
    }
}
