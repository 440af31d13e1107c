//! An ask for opportunistic containers as it is kept in a journal.

use serde::{Deserialize, Serialize};

use super::ask_lines::AskLine;
use crate::api::{ApplicationId, Ask, Scheduler};

/// Asks for opportunistic containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpportunisticCall {
    /// The application.
    pub app: u32,
    /// The asks.
    pub asks: Vec<AskLine>,
}

impl OpportunisticCall {
    /// The call for these containers.
    pub(super) fn of(app: ApplicationId, asks: &[Ask]) -> Self {
        Self {
            app: app.sequence,
            asks: asks.iter().map(AskLine::of).collect(),
        }
    }

    /// Makes the call; what it came to is not looked at.
    pub(super) fn make(&self, engine: &mut impl Scheduler) {
        let asks = self.asks.iter().map(AskLine::ask).collect();
        drop(engine.ask_opportunistic(ApplicationId::new(self.app), asks));
    }
}
