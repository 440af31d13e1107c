//! What a rebuild is read from: the state of a running engine at one moment.

use std::sync::Arc;

use super::Rebuild;
use super::facts::LedgerFacts;
use crate::commit::Ledger;
use crate::runtime::{CallError, Threaded};
use crate::snapshot::{Snapshot, State};

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
    /// Cost: others wait for a few thousand rows at a time, and once for a copy of every container and a look at every
    /// application, node and name of a place.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn rebuild_source(&self) -> Result<RebuildSource, CallError> {
        let containers = self.inspect(|ledger| {
            let nodes = ledger.state().nodes.iter();
            nodes.map(|node| node.containers as usize).sum::<usize>()
        })?;
        // Containers come until the look.
        let room = containers + containers / 8;
        let look = move |ledger: &Ledger| LedgerFacts::of(ledger, room);
        let (facts, snapshot) = self.inspect_with_snapshot(look)?;
        Ok(RebuildSource { facts, snapshot })
    }
}
