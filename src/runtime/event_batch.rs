//! Events on their way to the readers.

use crate::commit::Event;
use crate::sync::{Arc, Mutex};

/// Events that are delivered together.
#[derive(Debug)]
pub(in crate::runtime) struct EventBatch {
    /// When they were delivered, in ns of the engine's clock.
    pub(in crate::runtime) at_ns: u64,
    pub(in crate::runtime) events: Vec<Event>,
}

/// Where the last batches go that found no room in the ring.
pub(in crate::runtime) type LastBatches = Arc<Mutex<Vec<EventBatch>>>;
