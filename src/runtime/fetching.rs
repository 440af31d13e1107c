//! Fetches that are carried out by the committer: in each turn before other commands.
//!
//! Tests: `tests/runtime/fetches.rs`.

use super::Sequential;
use crate::commit::{AskError, Fetch};

impl Sequential {
    /// Goes on with a fetch for at most so many items. It is returned where it goes on, else it is answered.
    pub(super) fn fetch_on(
        &mut self,
        mut fetch: Box<Fetch>,
        budget: &mut usize,
    ) -> Option<Box<Fetch>> {
        let came_to = match self.ledger.app(fetch.app()) {
            None => Err(AskError::UnknownApplication(fetch.app())),
            Some(app) => {
                if self.ledger.has_granted_updates(app) {
                    self.note_change_of(app);
                }
                self.ledger.fetch_on(app, &mut fetch, budget)
            }
        };
        self.follow_up();
        fetch.answer(came_to)
    }
}
