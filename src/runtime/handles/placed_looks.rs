//! What nodes hold, as a monitor sees it: copied in parts, so that callers wait for none of them long.
//!
//! 1. What nodes hold is copied in passes of many parts. Each pass copies what changed during the one before.
//! 2. The last pass is one piece, and comes with a snapshot of the state as of then.
//!
//! Tests: `tests/runtime/preemption_turns.rs`.

use std::sync::Arc;
use std::time::Duration;

use super::looks::CallError;
use super::monitor::Access;
use crate::commit::{Ledger, PlacedCopy};
use crate::fast_path::FastPath;
use crate::snapshot::Snapshot;

/// Containers that are copied between two commands of others.
const PART: usize = 1024;

/// Passes over all nodes before the one in one piece.
const PASSES: usize = 8;

/// What nodes hold at one moment, with the state as of then.
#[derive(Debug)]
pub struct PlacedLook<T> {
    /// What nodes hold.
    pub placed: PlacedCopy,
    /// The state.
    pub snapshot: Arc<Snapshot>,
    /// What the closure found.
    pub found: T,
}

impl Access {
    /// Copies in parts what nodes hold; a closure looks at the ledger at the moment of the last part. Nothing where looks
    /// are to be made in one piece.
    ///
    /// # Errors
    ///
    /// As [`Self::inspect`].
    pub fn copy_placed<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<Option<PlacedLook<T>>, CallError> {
        // Must equal a look in one piece: whoever asks for both compares them.
        if !FastPath::PlacedCopy.is_taken() {
            return Ok(None);
        }
        let mut placed = PlacedCopy::default();
        for _ in 0..PASSES {
            placed = self.pass(placed)?;
            if placed.is_near(PART) {
                break;
            }
        }
        let finish = move |ledger: &Ledger| {
            placed.finish(ledger);
            (placed, look(ledger))
        };
        let ((placed, found), snapshot) = self.commands.view(Duration::ZERO, finish)?;
        Ok(Some(PlacedLook {
            placed,
            snapshot,
            found,
        }))
    }

    /// Has a pass over all nodes made in parts.
    fn pass(&self, mut placed: PlacedCopy) -> Result<PlacedCopy, CallError> {
        loop {
            let (copied, ended) = self.inspect(move |ledger| {
                let ended = placed.go_on(ledger, PART);
                (placed, ended)
            })?;
            if ended {
                return Ok(copied);
            }
            placed = copied;
        }
    }
}
