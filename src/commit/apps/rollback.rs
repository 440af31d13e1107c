//! What nodes report of increased containers, and increases that go back because no node confirmed them.
//!
//! Tests: `tests/commit/updates.rs`.

use crate::commit::containers::hand_out::HandOut;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::ledger::Ledger;
use crate::id::ContainerId;
use crate::queue::{EndCause, UpdateKind};
use crate::resource::ResourceVector;

impl Ledger {
    /// The node of a container reports its present size. Whether the container is live.
    ///
    /// A size that is larger in one type and smaller in another than what the scheduler knows ends the container.
    // As RMContainerImpl.NMReportedContainerChangeIsDoneTransition.
    pub fn container_resized(&mut self, id: ContainerId, reported: &ResourceVector) -> bool {
        let Some(slot) = self.live_container(id) else {
            return false;
        };
        let container = self.container(slot);
        let (node, size) = (container.node, self.containers.full_size(slot));
        if size.fits_in(reported) {
            self.clock.confirm_increase(node, id);
        } else if reported.fits_in(&size) {
            self.clock.confirm_part((node, id), reported);
        } else {
            self.end_container(slot, EndCause::Killed);
        }
        true
    }

    /// Whether something is due by then of allocations, increases and lifetimes. Times are in ms.
    #[must_use]
    pub fn is_due(&self, now_ms: u64) -> bool {
        self.clock.next_deadline().is_some_and(|at| at <= now_ms)
    }

    /// Takes a container back to a size that its node confirmed. Its application fetches that as a decrease.
    ///
    /// A container that has another change to be fetched stays as it is.
    // As AbstractYarnScheduler.rollbackContainerUpdate.
    pub(super) fn roll_back(&mut self, slot: ContainerSlot, confirmed: ResourceVector) {
        let container = self.container(slot);
        let (app, number, size) = (container.app, container.id.number, container.size.get());
        let key = container.key.increasing(number);
        let smaller = confirmed != size && confirmed.fits_in(&size);
        if !smaller || self.containers.has_update(app, number) {
            return;
        }
        self.shrink(app, slot, key, (UpdateKind::Decrease, Some(confirmed)));
        if self.hand_out == HandOut::Event {
            self.hand_out_updates(app, usize::MAX);
        }
    }
}
