//! Gangs and the nodes that they watch or hold: what is brought up to date without placing any.
//!
//! Tests: `tests/commit/gangs.rs`.

use std::collections::BTreeMap;

use super::Gangs;
use super::sites::GangSites;
use super::waiting::WaitingGang;
use crate::commit::event::GangStep;
use crate::commit::outbox::Outbox;
use crate::snapshot::State;

/// Gangs of which the sites are kept, the oldest. Each of the others looks at all nodes when it is tried.
const MOST_FOLLOWED: usize = 256;

/// Gangs, and the nodes of the state.
#[derive(Debug)]
pub(in crate::commit) struct GangNodes<'a> {
    pub(super) gangs: &'a mut Gangs,
    pub(super) state: &'a mut State,
    pub(super) outbox: &'a mut Outbox,
    pub(super) now_ms: u64,
}

impl<'a> GangNodes<'a> {
    /// Of the parts of a ledger, at a time in ms.
    pub(in crate::commit) fn new(
        gangs: &'a mut Gangs,
        state: &'a mut State,
        outbox: &'a mut Outbox,
        now_ms: u64,
    ) -> Self {
        Self {
            gangs,
            state,
            outbox,
            now_ms,
        }
    }

    /// Forgets the gangs of applications that ended.
    pub(super) fn forget_ended(&mut self) {
        let apps = &self.state.apps;
        self.gangs.waiting.retain(|gang| {
            let row = &apps[gang.slot];
            row.generation == gang.generation && !row.stage.is_over()
        });
    }

    /// The sites of a gang as the nodes are now.
    pub(super) fn sites_of(&mut self, gang: &WaitingGang) -> GangSites {
        self.state.nodes.take_watched(&mut self.gangs.written);
        let held = self.gangs.held_by(gang);
        let known = self.gangs.sites.remove(&(gang.slot, gang.key));
        let mut sites = known.unwrap_or_default();
        sites.follow(self.state, gang, &held, &self.gangs.written);
        sites
    }

    /// Brings the sites of all gangs that wait up to date, and forgets those of others.
    pub(super) fn settle_sites(&mut self) {
        let waiting = std::mem::take(&mut self.gangs.waiting);
        let mut settled = BTreeMap::new();
        for gang in waiting.iter().take(MOST_FOLLOWED) {
            settled.insert((gang.slot, gang.key), self.sites_of(gang));
        }
        self.gangs.waiting = waiting;
        self.gangs.sites = settled;
        self.forget_written();
    }

    /// Forgets which nodes were written where nobody has to look at them any more. Without a gang that waits or is
    /// prepared, nodes are not watched.
    pub(super) fn forget_written(&mut self) {
        if self.gangs.prepared > 0 {
            return;
        }
        self.gangs.written.clear();
        for sites in self.gangs.sites.values_mut() {
            sites.begin_anew();
        }
        self.state.nodes.watch(!self.gangs.waiting.is_empty());
    }

    /// Gives up the gangs whose time is over.
    pub(super) fn expire(&mut self) {
        let now_ms = self.now_ms;
        let (outbox, waiting) = (&mut *self.outbox, &mut self.gangs.waiting);
        waiting.retain(|gang| {
            if gang.deadline_ms > now_ms {
                return true;
            }
            let wait = gang.wait.clone();
            outbox.push(gang.event(GangStep::Expired { wait }));
            false
        });
    }
}
