//! The queues of a live scheduler, as placement rules look them up.

use crate::commit::Ledger;
use crate::config::{QueueDirectory, QueueEntry, QueueMatch};

/// A directory of the queues that exist now, those that submissions created included.
///
/// ```
/// use capsched::api::*;
/// use capsched::config::{QueueMatch, QueueDirectory};
///
/// let engine = Engine::builder(example::settings()).sequential()?;
/// let queues = LiveQueues(engine.ledger());
/// assert!(matches!(queues.find("a"), QueueMatch::Queue(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LiveQueues<'a>(pub &'a Ledger);

impl QueueDirectory for LiveQueues<'_> {
    fn find(&self, name: &str) -> QueueMatch {
        match self.0.queue(name) {
            Some(slot) => QueueMatch::Queue(QueueEntry::of(&self.0.state().queues[slot].settings)),
            None if self.0.names().is_ambiguous(name) => QueueMatch::Ambiguous,
            None => QueueMatch::Missing,
        }
    }
}
