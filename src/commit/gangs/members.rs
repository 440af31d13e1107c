//! Gangs that are placed: which containers belong together.
//!
//! Tests: `tests/preemption/gangs.rs`.

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

    /// Notes a gang that was placed. Once there are twice as many as were whole, those that are not are forgotten.
    pub(super) fn add_placed_gang(&mut self, gang: PlacedGang) {
        self.gangs.placed.push(gang);
        if self.gangs.placed.len() > self.gangs.most_placed {
            self.forget_broken_gangs();
            self.gangs.most_placed = 2 * self.gangs.placed.len();
        }
    }

    /// Forgets placed gangs that lost a member, or whose application ended.
    fn forget_broken_gangs(&mut self) {
        let mut placed = std::mem::take(&mut self.gangs.placed);
        placed.retain(|gang| {
            let row = &self.state.apps[gang.app];
            let lives = |&id: &ContainerId| self.live_container(id).is_some();
            row.generation == gang.generation && gang.members.iter().all(lives)
        });
        self.gangs.placed = placed;
    }
}
