//! What a rebuild is read from: the state of a running engine at one moment.

use std::sync::Arc;

use super::Rebuild;
use super::facts::{LedgerFacts, RestOfFacts};
use crate::runtime::{CallError, Threaded};
use crate::snapshot::{Snapshot, State};

/// Containers that are copied between two commands of others.
const PART: usize = 1024;

/// The state of a running engine at one moment. A [`Rebuild`] is read from it while the engine goes on.
///
/// ```
/// use capsched::api::*;
///
/// let engine = Engine::builder(example::settings()).start()?;
/// let source = engine.rebuild_source()?;
/// assert_eq!(source.read().now_ms(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RebuildSource {
    facts: LedgerFacts,
    snapshot: Arc<Snapshot>,
}

impl RebuildSource {
    /// What builds the state anew.
    ///
    /// Cost: as [`Rebuild::of`], on the caller's thread.
    #[must_use]
    pub fn read(&self) -> Rebuild {
        let snapshot = &self.snapshot;
        let mut state = State::new(Arc::clone(&snapshot.settings));
        let empty = Snapshot::empty(Arc::clone(&snapshot.settings));
        state.refresh(&empty, snapshot, |_| {});
        Rebuild::read(&state, &self.facts)
    }
}

impl Threaded {
    /// The state at one moment, from which a [`Rebuild`] is read.
    ///
    /// Cost: others wait for a copy of a thousand containers and the rest of one node at a time. At last they wait for a
    /// look at every node, gang and application with opportunistic asks, and a copy of what changed in between.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn rebuild_source(&self) -> Result<RebuildSource, CallError> {
        let look = self.copy_in_passes(PART, RestOfFacts::of)?;
        Ok(RebuildSource {
            facts: LedgerFacts {
                running: look.copy,
                rest: look.found,
            },
            snapshot: look.snapshot,
        })
    }
}
