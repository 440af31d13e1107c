//! What a fetch does, and which fetches may be carried out in a pause of a long change.
//!
//! The rules stand on the page of [`Fetches`].
//!
//! Tests: `tests/runtime/fetches.rs`.

use super::ask_steps::FREED;
use crate::commit::apps::ask_error::AskError;
use crate::commit::containers::hand_out::HandOut;
use crate::commit::fetches::{Fetch, Fetches};
use crate::commit::leaves::Leaves;
use crate::commit::ledger::Ledger;
use crate::commit::tree::visited_queues::VisitedQueues;
use crate::fast_path::FastPath;
use crate::id::AppSlot;
use crate::snapshot::State;

/// Fetches and containers in one pause: it takes about as long as the stretch before it.
const ITEMS: usize = 64;

/// A visit of the queues of a ledger pauses for fetches.
impl VisitedQueues for Ledger {
    fn rows(&mut self) -> (&mut State, &mut Leaves) {
        (&mut self.state, &mut self.leaves)
    }

    #[inline]
    fn pause(&mut self) {
        if self.fetches.is_pause() {
            self.answer_fetches(None);
        }
    }
}

impl Ledger {
    /// The fetches that wait.
    pub(crate) fn fetches(&mut self) -> &mut Fetches {
        &mut self.fetches
    }

    /// Whether a fetch waits.
    pub(crate) fn has_fetches(&self) -> bool {
        self.fetches.has_news()
    }

    /// Whether a fetch is begun.
    pub(crate) fn has_begun_fetch(&self) -> bool {
        self.fetches.has_begun()
    }

    /// Goes on with a fetch for as many containers as the budget has; whether it is carried out.
    ///
    /// # Errors
    ///
    /// As [`Ledger::ask`].
    // Must equal [`Self::ask`] with an empty call.
    pub(crate) fn fetch_on(
        &mut self,
        app: AppSlot,
        fetch: &mut Fetch,
        budget: &mut usize,
    ) -> Result<bool, AskError> {
        let row = &self.state.apps[app];
        if !fetch.is_begun() && !row.may_ask() {
            return Err(AskError::MasterNotRunning(row.id));
        }
        let owner = (app, row.generation);
        fetch.reply_to(owner)?;
        if !fetch.is_placed() {
            if !self.place_opportunistic(app, budget) {
                return Ok(false);
            }
            fetch.set_placed();
        }
        let reply = fetch.reply_to(owner)?;
        if !self.hand_over(app, reply, budget) {
            return Ok(false);
        }
        self.answer(app, reply);
        self.leaves.free_some(&mut (*budget / FREED));
        Ok(true)
    }

    /// Carries out the fetches that came, as far as the change that is under way lets it. `but`: an application of which the
    /// rows are not whole.
    pub(in crate::commit) fn answer_fetches(&mut self, but: Option<AppSlot>) {
        // Must equal [`Self::fetch_on`] after the change.
        if !FastPath::FetchInPause.is_taken() {
            return;
        }
        let mut budget = ITEMS;
        // One that finds no budget would be begun for nothing.
        while budget > 1
            && let Some(fetch) = self.fetches.pop_in_pause()
        {
            budget -= 1;
            self.fetch_in_pause(fetch, but, &mut budget);
        }
        self.fetches.end_pause();
    }

    fn fetch_in_pause(&mut self, mut fetch: Box<Fetch>, but: Option<AppSlot>, budget: &mut usize) {
        let came_to = match self.app(fetch.app()) {
            None => Err(AskError::UnknownApplication(fetch.app())),
            Some(app) if but == Some(app) || !self.may_fetch_in_pause(app) => {
                return self.fetches.put_off(fetch);
            }
            Some(app) => {
                self.fetches.note_in_pause();
                self.fetch_on(app, &mut fetch, budget)
            }
        };
        if let Some(left) = fetch.answer(came_to) {
            self.fetches.go_on_with(left);
        }
    }

    /// Whether a fetch does no more than hand containers over, of which nothing follows.
    fn may_fetch_in_pause(&self, app: AppSlot) -> bool {
        let row = &self.state.apps[app];
        let follows = !self.opportunistic.is_off() || self.hand_out == HandOut::Event;
        // A container for the master is taken by a call that may wait for the end of the change.
        !row.waits_for_master()
            && !self.has_granted_updates(app)
            && (!follows || self.containers.unfetched_at_most(app) == 0)
            && self.opportunistic_waiting(row.id) == 0
    }
}
