//! Asks that are lowered by what was placed since the last call of their application.
//!
//! A client that names its whole demand in each call counts containers again that were placed
//! after its last call. The correction takes them off, and ends those that are too many. Hosts
//! and racks do not count: each ask is lowered by all containers of its key and size.
//!
//! Tests: `tests/commit/correction.rs`.

use crate::commit::containers::container::GiveBack;
use crate::commit::event::Ending;
use crate::commit::leaves::demand::Checked;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, SchedulerKey};
use crate::resource::ResourceVector;

impl Ledger {
    /// Lowers the asks of a call by the containers that the application has not fetched yet, where
    /// that is set.
    ///
    /// Cost: the asks times the containers that were not fetched.
    // As AbstractYarnScheduler.autoCorrectContainerAllocation (YARN-11702). Kinds of containers
    // that are too many end in the order of their asks; the reference has that of a hash map.
    pub(super) fn correct(&mut self, app: AppSlot, asks: &mut [Checked]) {
        if !self.state.settings.corrects_asks {
            return;
        }
        let mut too_many: Vec<(SchedulerKey, ResourceVector, usize)> = Vec::new();
        for checked in asks {
            let (key, size) = (checked.key, checked.ask.size.get());
            let placed = self.containers.unfetched_like(app, key, &size).len();
            let asked = usize::try_from(checked.ask.count).unwrap_or(0);
            if placed == 0 {
                continue;
            }
            if placed > asked {
                // The last ask of a kind decides.
                too_many.retain(|&(other, of, _)| (other, of) != (key, size));
                too_many.push((key, size, placed - asked));
            }
            let left = asked.saturating_sub(placed);
            checked.ask.count = i32::try_from(left).unwrap_or(i32::MAX);
        }
        for (key, size, count) in too_many {
            let like = self.containers.unfetched_like(app, key, &size);
            for slot in like.into_iter().take(count) {
                // What ends here was not lost: its ask does not come back.
                self.containers.get_mut(slot).give_back = GiveBack::Nothing;
                self.end_container(slot, Ending::Killed);
            }
        }
    }
}
