//! Asks for opportunistic containers: their checks, and those that are not served yet.
//!
//! Tests: `tests/commit/opportunistic/asks.rs`.

use super::waiting_asks::WaitingAsks;
use crate::commit::apps::ask_error::AskError;
use crate::commit::leaves::demand::Checked;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, ApplicationId};
use crate::queue::{Ask, WaitingOpportunistic};

/// Most asks of one call.
const MOST_ASKS: usize = 512;

/// Most keys of one application with asks that are not served.
const MOST_KEYS: usize = 10_000;

impl Ledger {
    /// Asks for opportunistic containers. Placing is up to [`Self::place_opportunistic`].
    ///
    /// An ask replaces the earlier one with its key and place; with a count of 0 it is withdrawn. Asks for a
    /// host or a rack say where some of the containers are preferred, and count only beside an ask for `*`.
    ///
    /// # Errors
    ///
    /// As [`AskError`], and while the settings do not enable them; nothing changed then.
    ///
    /// Cost: the asks, each once; 512 at most.
    pub fn ask_opportunistic(&mut self, app: AppSlot, asks: &[Ask]) -> Result<(), AskError> {
        let checked = self.checked_opportunistic(app, asks)?;
        let generation = self.state.apps[app].generation;
        let waiting = self.opportunistic.waiting.entry(app).or_default();
        waiting.belong_to(generation);
        for (ask, mut checked) in asks.iter().zip(checked) {
            checked.ask.place = self.registry.intern(&ask.place);
            waiting.put(checked, ask.place.starts_with('/'));
        }
        waiting.forget_empty();
        if waiting.key_count() == 0 {
            self.opportunistic.forget_app(app);
        }
        Ok(())
    }

    fn checked_opportunistic(&self, app: AppSlot, asks: &[Ask]) -> Result<Vec<Checked>, AskError> {
        let refuse = |reason: String| Err(AskError::Opportunistic(reason));
        if self.opportunistic.is_off() {
            return refuse("the settings do not enable them".to_owned());
        }
        let row = &self.state.apps[app];
        if !row.may_ask() {
            return Err(AskError::MasterNotRunning(row.id));
        }
        if asks.len() > MOST_ASKS {
            return refuse(format!("{} asks are more than {MOST_ASKS}", asks.len()));
        }
        let waiting = self.opportunistic.waiting.get(&app);
        let keys = waiting.map_or(0, WaitingAsks::key_count) + asks.len();
        if keys > MOST_KEYS + MOST_ASKS {
            return refuse(format!("more than {MOST_KEYS} keys are not served yet"));
        }
        let queue = (!self.state.queues[row.leaf].removed).then_some(row.leaf);
        let default = row.submission.default_partition.as_deref();
        let largest = self.largest_allocation(queue);
        let checks = self.checks();
        let checked = asks
            .iter()
            .map(|ask| checks.checked(queue, ask, default, &largest));
        checked.collect()
    }

    /// Places containers that an application still wants, as many as the budget has; whether no more can be placed now.
    ///
    /// Cost: for each container, and for each key that gets none, a look at few nodes (`nodes_used`) in each place
    /// that its ask names.
    pub fn place_opportunistic(&mut self, app: AppSlot, budget: &mut usize) -> bool {
        self.node_queues().place_waiting(app, budget)
    }

    /// How many opportunistic containers a live application asked for that are not placed.
    #[must_use]
    pub fn opportunistic_waiting(&self, app: ApplicationId) -> u64 {
        let waiting = self
            .app(app)
            .and_then(|app| self.node_rooms().waiting_asks(app));
        waiting.map_or(0, WaitingAsks::containers)
    }

    /// The same of all applications.
    ///
    /// Cost: a look at each key of the applications that wait for such containers.
    #[must_use]
    pub fn opportunistic_waiting_in_all(&self) -> u64 {
        self.node_rooms().waiting_in_all()
    }

    /// Opportunistic containers that wait: of one application, or of all.
    ///
    /// Cost: a look at every node for each application, key and size that has no node; a look at the queue of every node.
    #[must_use]
    pub fn waiting_opportunistic(&self, of: Option<ApplicationId>) -> Vec<WaitingOpportunistic> {
        let only = of.map(|id| self.app(id));
        let wanted = |app: AppSlot| only.is_none_or(|only| only == Some(app));
        self.node_rooms().waiting(wanted)
    }
}
