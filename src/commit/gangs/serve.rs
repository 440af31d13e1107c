//! Serving gangs: which is tried when, and what ends by time.
//!
//! Tests: `tests/commit/gangs.rs`.

use std::collections::BTreeMap;

use super::sites::GangSites;
use super::waiting::WaitingGang;
use crate::commit::event::GangStep;
use crate::commit::ledger::Ledger;

/// Gangs of which the sites are kept, the oldest. Each of the others looks at all nodes when it is tried.
const MOST_FOLLOWED: usize = 256;

impl Ledger {
    /// Notes that a call changed something that may let a gang be placed.
    #[inline]
    pub fn note_change_for_gangs(&mut self) {
        self.gangs.note_change();
    }

    /// Whether a gang waits or holds nodes.
    #[inline]
    #[must_use]
    pub fn has_gangs(&self) -> bool {
        !self.gangs.is_idle()
    }

    /// Serves the gangs that wait, if something changed or something is due; whether nodes or applications
    /// changed. The steps stand on the front page of this module.
    ///
    /// Cost: one look where no gang waits; otherwise the limits of each gang, and a look at each node that changed.
    #[inline]
    pub fn serve_gangs(&mut self) -> bool {
        self.has_gangs() && self.serve_waiting_gangs()
    }

    fn serve_waiting_gangs(&mut self) -> bool {
        let now_ms = self.clock.now_ms();
        if !std::mem::take(&mut self.gangs.changed) && now_ms < self.gangs.next_check_ms {
            return false;
        }
        self.state.nodes.watch(true);
        self.forget_gangs_of_ended();
        self.expire_gangs(now_ms);
        self.try_gangs();
        let ended = self.end_holds();
        if ended {
            // Nodes that are open again may have room for others.
            self.try_gangs();
        }
        let begun = self.begin_holds();
        self.settle_sites();
        self.gangs.set_next_check(now_ms);
        std::mem::take(&mut self.gangs.asked) || ended || begun
    }

    fn forget_gangs_of_ended(&mut self) {
        let apps = &self.state.apps;
        self.gangs.waiting.retain(|gang| {
            let row = &apps[gang.slot];
            row.generation == gang.generation && !row.stage.is_over()
        });
    }

    /// Tries every gang in the order in which they were asked.
    fn try_gangs(&mut self) {
        let waiting = std::mem::take(&mut self.gangs.waiting);
        let mut left = Vec::with_capacity(waiting.len());
        for mut gang in waiting {
            let sites = self.sites_of(&gang);
            match self.place_gang(&gang, &sites) {
                Ok(()) => {}
                Err(wait) => {
                    gang.wait = wait;
                    self.gangs.sites.insert((gang.slot, gang.key), sites);
                    left.push(gang);
                }
            }
        }
        self.gangs.waiting = left;
    }

    /// The sites of a gang as the nodes are now.
    fn sites_of(&mut self, gang: &WaitingGang) -> GangSites {
        self.state.nodes.take_watched(&mut self.gangs.written);
        let held = self.gangs.held_by(gang);
        let known = self.gangs.sites.remove(&(gang.slot, gang.key));
        let mut sites = known.unwrap_or_default();
        sites.follow(&self.state, gang, &held, &self.gangs.written);
        sites
    }

    /// Brings the sites of all gangs that wait up to date, and forgets those of others. Without a gang that waits,
    /// nodes are not watched.
    fn settle_sites(&mut self) {
        let waiting = std::mem::take(&mut self.gangs.waiting);
        let mut settled = BTreeMap::new();
        for gang in waiting.iter().take(MOST_FOLLOWED) {
            let mut sites = self.sites_of(gang);
            sites.begin_anew();
            settled.insert((gang.slot, gang.key), sites);
        }
        self.gangs.written.clear();
        self.state.nodes.watch(!waiting.is_empty());
        self.gangs.waiting = waiting;
        self.gangs.sites = settled;
    }

    /// Gives up the gangs whose time is over.
    fn expire_gangs(&mut self, now_ms: u64) {
        let (outbox, waiting) = (&mut self.outbox, &mut self.gangs.waiting);
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
