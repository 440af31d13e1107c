//! What calls of the thread-free mode change: notes for attempts that would come to the same, and for gangs, which are
//! served after each call.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::sequential::Sequential;
use crate::commit::{AskError, GangPreparation};
use crate::id::{AppSlot, ApplicationId};
use crate::queue::{Ask, GangAsk};

impl Sequential {
    /// Asks for a gang: its minimum is placed all at once, now or within its time, or not at all.
    ///
    /// # Errors
    ///
    /// As [`AskError`]; nothing changed then.
    pub fn ask_gang(&mut self, app: ApplicationId, gang: &GangAsk) -> Result<(), AskError> {
        self.ask_prepared_gang(app, gang, GangPreparation::default())
    }

    /// The same for an ask that may be prepared.
    pub(super) fn ask_prepared_gang(
        &mut self,
        app: ApplicationId,
        gang: &GangAsk,
        preparation: GangPreparation,
    ) -> Result<(), AskError> {
        let Some(slot) = self.ledger.app(app) else {
            self.ledger.drop_prepared_gang(&preparation);
            return Err(AskError::UnknownApplication(app));
        };
        let result = self.ledger.ask_prepared_gang(slot, gang, preparation);
        self.follow_up();
        result
    }

    /// Asks for opportunistic containers, and places those that nodes take. They come with the replies to the calls of the
    /// application, each of which tries again what was not placed.
    ///
    /// # Errors
    ///
    /// As [`AskError`], and while the settings do not enable them; nothing changed then.
    pub fn ask_opportunistic(&mut self, app: ApplicationId, asks: &[Ask]) -> Result<(), AskError> {
        self.take_opportunistic(app, asks)?;
        self.place_opportunistic(app, &mut { usize::MAX });
        Ok(())
    }

    /// Takes asks for opportunistic containers over.
    pub(super) fn take_opportunistic(
        &mut self,
        app: ApplicationId,
        asks: &[Ask],
    ) -> Result<(), AskError> {
        let slot = self.ledger.app(app);
        let slot = slot.ok_or(AskError::UnknownApplication(app))?;
        self.ledger.ask_opportunistic(slot, asks)
    }

    /// Places opportunistic containers of an application, as many as the budget has; whether no more can be placed.
    pub(super) fn place_opportunistic(&mut self, app: ApplicationId, budget: &mut usize) -> bool {
        let slot = self.ledger.app(app);
        let done = slot.is_none_or(|slot| self.ledger.place_opportunistic(slot, budget));
        self.follow_up();
        done
    }

    /// Carries out what follows from a call, and serves the gangs that wait.
    ///
    /// Cost: one look where no gang waits.
    pub(super) fn follow_up(&mut self) {
        self.ledger.drain_follow_ups();
        if self.ledger.has_gangs() {
            self.standstill.apply_kept(&mut self.ledger);
        }
        if self.ledger.serve_gangs() {
            // Not as a call would: nothing of it lets another gang be placed.
            self.node_calls += 1;
            self.standstill.note_change();
            self.ledger.drain_follow_ups();
        }
    }

    /// Notes that a call changed something.
    pub(super) fn note_change(&mut self) {
        self.standstill.note_change();
        self.ledger.note_change_for_gangs();
    }

    /// Notes that a call changed something that concerns an application.
    pub(super) fn note_change_of(&mut self, app: AppSlot) {
        self.standstill.note_change_of(app);
        self.ledger.note_change_for_gangs();
    }

    /// Notes that a call changed something, perhaps which nodes there are or what they are part of.
    pub(super) fn note_nodes(&mut self) {
        self.node_calls += 1;
        self.note_change();
    }
}
