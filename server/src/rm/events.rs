//! Events with numbers, the newest of them kept for readers that come back.

use std::collections::VecDeque;

use capsched::api::Event;
use serde::Serialize;

use super::application::AppState;

/// Events that are kept.
const KEPT: usize = 65_536;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Happening {
    /// The scheduler decided something.
    Scheduler {
        /// The decision.
        #[serde(flatten)]
        event: Event,
    },
    /// An application stands somewhere else.
    Application {
        /// The application.
        application: String,
        /// Where it stands now.
        state: AppState,
    },
    /// A node registered, left, or changed.
    Node {
        /// The node.
        node: String,
        /// Where it stands now.
        state: &'static str,
    },
    /// The scheduler's configuration was replaced, or a replacement was refused.
    Configuration {
        /// Whether it holds.
        accepted: bool,
        /// What was wrong with a refused one.
        #[serde(skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// Node labels changed.
    Labels,
    /// The store keeps no change any more; every later change is refused.
    StoreFailed {
        /// Why.
        message: String,
    },
}

/// A numbered event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberedEvent {
    /// Number, from 1, without gaps.
    pub id: u64,
    /// When, in ms since the Unix epoch.
    pub at_ms: u64,
    /// What.
    #[serde(flatten)]
    pub happening: Happening,
}

/// The newest events.
#[derive(Debug, Default)]
pub struct EventLog {
    events: VecDeque<NumberedEvent>,
    last: u64,
}

impl EventLog {
    /// Number of the newest event; 0: there was none.
    #[must_use]
    pub fn last_id(&self) -> u64 {
        self.last
    }

    /// Number of the oldest event that is kept.
    #[must_use]
    pub fn first_id(&self) -> u64 {
        self.events.front().map_or(self.last + 1, |event| event.id)
    }

    /// Events behind a number, the oldest first, at most so many.
    pub fn behind(&self, id: u64, most: usize) -> impl Iterator<Item = &NumberedEvent> {
        let skipped = (id + 1).saturating_sub(self.first_id());
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        self.events.iter().skip(skipped).take(most)
    }

    pub(super) fn push(&mut self, at_ms: u64, happening: Happening) {
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        self.last += 1;
        self.events.push_back(NumberedEvent {
            id: self.last,
            at_ms,
            happening,
        });
    }
}
