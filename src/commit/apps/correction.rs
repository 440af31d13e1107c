//! Asks that are lowered by what was placed since the last call of their application.
//!
//! A client that names its whole demand in each call counts containers again that were placed
//! after its last call. The correction takes them off, and ends those that are too many. Hosts
//! and racks do not count: each ask is lowered by all containers of its key and size.
//!
//! Tests: `tests/commit/correction.rs`.

use crate::commit::containers::container::GiveBack;
use crate::commit::containers::of_apps::ContainerKind;
use crate::commit::leaves::demand::Checked;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, Map};
use crate::queue::EndCause;

impl Ledger {
    /// Lowers the asks of a call by the containers that the application has not fetched yet, where
    /// that is set.
    ///
    /// Cost: the asks and the containers that were not fetched, each once.
    // As AbstractYarnScheduler.autoCorrectContainerAllocation (YARN-11702). Kinds of containers
    // that are too many end in the order of their asks; the reference has that of a hash map.
    pub(super) fn correct(&mut self, app: AppSlot, asks: &mut [Checked]) {
        if !self.state.settings.corrects_asks {
            return;
        }
        let unfetched = self.containers.unfetched_by_kind(app);
        if unfetched.is_empty() {
            return;
        }
        // The last ask of a kind decides, and where it stands.
        let mut too_many: Map<ContainerKind, (usize, usize)> = Map::default();
        for (at, checked) in asks.iter_mut().enumerate() {
            let kind = (checked.key, checked.ask.size.get());
            let placed = unfetched.get(&kind).map_or(0, Vec::len);
            let asked = usize::try_from(checked.ask.count).unwrap_or(0);
            if placed == 0 {
                continue;
            }
            if placed > asked {
                too_many.insert(kind, (at, placed - asked));
            }
            let left = asked.saturating_sub(placed);
            checked.ask.count = i32::try_from(left).unwrap_or(i32::MAX);
        }
        let mut too_many: Vec<_> = too_many.into_iter().collect();
        too_many.sort_unstable_by_key(|&(_, (at, _))| at);
        for (kind, (_, count)) in too_many {
            for &slot in unfetched.get(&kind).into_iter().flatten().take(count) {
                // What ends here was not lost: its ask does not come back.
                self.containers.get_mut(slot).give_back = GiveBack::Nothing;
                self.end_container(slot, EndCause::Surplus);
            }
        }
    }
}
