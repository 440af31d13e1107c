//! Containers are handed to their applications.
//!
//! Tests: `tests/runtime/hand_out.rs`.

use super::container::ContainerState;
use super::hand_out::HandOut;
use super::slot::ContainerSlot;
use crate::commit::event::Event;
use crate::commit::ledger::Ledger;

impl Ledger {
    /// Chooses what hands out the containers that are placed from now on.
    pub fn set_hand_out(&mut self, by: HandOut) {
        self.hand_out = by;
    }

    /// Hands a container to its application, whose node will launch it.
    pub(in crate::commit) fn acquire(&mut self, slot: ContainerSlot) {
        self.containers.acquire(slot);
        if self.follow_hand_out(slot) {
            self.clock.note_handed_out(self.containers.get(slot).id);
        }
    }

    /// Hands out the containers of which the present step added events.
    ///
    /// Cost: one look-up for each new event; nothing where replies hand out.
    pub(in crate::commit) fn hand_out_by_event(&mut self) {
        if self.hand_out == HandOut::Reply {
            return;
        }
        let placed = self.outbox.new_events().filter_map(|event| match event {
            Event::Allocated { container, .. } => Some(*container),
            Event::Opportunistic(event) => Some(event.container),
            _ => None,
        });
        for id in placed.collect::<Vec<_>>() {
            let slot = self.live_container(id);
            let unfetched =
                |&slot: &ContainerSlot| self.container(slot).state == ContainerState::Allocated;
            let Some(slot) = slot.filter(unfetched) else {
                continue;
            };
            if self.container(slot).is_auxiliary() {
                let app = self.container(slot).app;
                self.hand_out_updates(app, usize::MAX);
            } else {
                self.containers.take_off_unfetched(slot);
                self.acquire(slot);
            }
        }
        self.outbox.note_seen();
    }
}
