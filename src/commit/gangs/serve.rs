//! Serving gangs: which is tried when, and what ends by time.
//!
//! Tests: `tests/commit/gangs.rs`.

use crate::commit::ledger::Ledger;

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
        let mut nodes = self.gang_nodes();
        nodes.forget_ended();
        nodes.expire();
        self.try_gangs();
        let ended = self.gang_nodes().end_holds();
        if ended {
            // Nodes that are open again may have room for others.
            self.try_gangs();
        }
        let mut nodes = self.gang_nodes();
        let begun = nodes.begin_holds();
        nodes.settle_sites();
        self.gangs.members = None;
        self.gangs.set_next_check(now_ms);
        std::mem::take(&mut self.gangs.asked) || ended || begun
    }

    /// Tries every gang in the order in which they were asked.
    fn try_gangs(&mut self) {
        let waiting = std::mem::take(&mut self.gangs.waiting);
        let mut left = Vec::with_capacity(waiting.len());
        for mut gang in waiting {
            let sites = self.gang_nodes().sites_of(&gang);
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
}
