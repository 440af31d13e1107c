//! Gangs that are placed: which containers belong together.
//!
//! Tests: `tests/preemption/gangs.rs`.

use std::sync::Arc;

use super::Gangs;
use crate::commit::ledger::Ledger;
use crate::id::{ContainerId, Map};

impl Ledger {
    /// The live containers of each placed gang, of gangs that have all of them: what is to be preempted together or
    /// not at all. A gang that lost a member by itself has no minimum to keep any more.
    pub fn whole_gangs(&self) -> impl Iterator<Item = &[ContainerId]> {
        let gangs = self.gangs.placed.iter();
        let members = gangs.map(|gang| gang.members.as_slice());
        members.filter(|members| members.iter().all(|&id| self.live_container(id).is_some()))
    }
}

/// The members of the minimum of each placed gang, of those as well that lost some.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct MembersOfGangs(Vec<Arc<Vec<ContainerId>>>);

impl MembersOfGangs {
    /// The members of the gangs that have all of them, as [`Ledger::whole_gangs`] lists them. `live`: all containers.
    ///
    /// Cost: where there are gangs, a look at each container.
    pub(in crate::commit) fn whole(
        &self,
        live: impl Iterator<Item = ContainerId>,
    ) -> impl Iterator<Item = &[ContainerId]> {
        // Must equal `Ledger::whole_gangs`.
        let members = self.0.iter().flat_map(|members| members.iter());
        let mut lives: Map<ContainerId, bool> = members.map(|&id| (id, false)).collect();
        if !lives.is_empty() {
            for id in live {
                lives.entry(id).and_modify(|lives| *lives = true);
            }
        }
        let gangs = self.0.iter().map(|members| members.as_slice());
        gangs.filter(move |members| members.iter().all(|id| lives[id]))
    }
}

impl Gangs {
    /// The members of all placed gangs.
    pub(in crate::commit) fn all_members(&self) -> MembersOfGangs {
        let gangs = self.placed.iter();
        MembersOfGangs(gangs.map(|gang| Arc::clone(&gang.members)).collect())
    }
}
