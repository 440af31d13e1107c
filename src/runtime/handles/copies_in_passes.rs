//! Copies of what the ledger holds, made in passes, so that callers wait for none of them long.
//!
//! 1. Rows are copied in passes of many parts ([`InPasses`]). Calls of others come between two parts. The caller makes
//!    room for them.
//! 2. The last pass is one piece, and comes with a snapshot of the state as of then.
//!
//! Tests: `tests/runtime/preemption_turns.rs`, `tests/runtime/whole_state.rs`.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use super::commands::Commands;
use super::looks::CallError;
use super::monitor::Access;
use crate::commit::{CopiedRows, InPasses, Ledger, PlacedCopy};
use crate::fast_path::FastPath;
use crate::runtime::Threaded;
use crate::snapshot::Snapshot;

/// Passes over all rows before the one in one piece.
const PASSES: usize = 8;

/// Containers on nodes that are copied between two commands of others.
const PLACED: usize = 1024;

/// A copy that is finished, with the state as of then.
#[derive(Debug)]
pub struct CopiedLook<C, T> {
    /// What was copied.
    pub copy: C,
    /// The state.
    pub snapshot: Arc<Snapshot>,
    /// What the closure found.
    pub found: T,
}

impl Commands {
    /// Makes a copy, of so many containers between two commands of others; a closure looks at the ledger at the moment
    /// of the last pass.
    fn copy_in_passes<C: CopiedRows, T: Send + 'static>(
        &self,
        awake: Duration,
        part: usize,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<CopiedLook<C, T>, CallError> {
        let mut copy = InPasses::<C>::default();
        for _ in 0..PASSES {
            copy.grow(self.inspect(awake, C::room)?);
            copy = self.pass(awake, part, copy)?;
            if copy.is_near(part) {
                break;
            }
        }
        let finish = move |ledger: &Ledger| (take(copy.finish(ledger)), look(ledger));
        let ((copy, found), snapshot) = self.view(awake, finish)?;
        Ok(CopiedLook {
            copy,
            snapshot,
            found,
        })
    }

    /// Has a pass over all rows made in parts.
    fn pass<C: CopiedRows>(
        &self,
        awake: Duration,
        part: usize,
        mut copy: InPasses<C>,
    ) -> Result<InPasses<C>, CallError> {
        loop {
            let (copied, ended) = self.inspect(awake, move |ledger| {
                let ended = copy.go_on(ledger, part);
                (copy, ended)
            })?;
            if ended {
                return Ok(copied);
            }
            copy = copied;
        }
    }
}

impl Threaded {
    /// Makes a copy in passes, of so many containers between two commands of others. A closure looks at the ledger at the
    /// moment of the last pass.
    ///
    /// # Errors
    ///
    /// As [`Self::inspect`].
    pub(crate) fn copy_in_passes<C: CopiedRows, T: Send + 'static>(
        &self,
        part: usize,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<CopiedLook<C, T>, CallError> {
        self.commands.copy_in_passes(self.awake, part, look)
    }
}

impl Access {
    /// Copies in passes what nodes hold. A closure looks at the ledger at the moment of the last one. Nothing where looks
    /// are to be made in one piece.
    ///
    /// # Errors
    ///
    /// As [`Self::inspect`].
    pub fn copy_placed<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<Option<CopiedLook<PlacedCopy, T>>, CallError> {
        // Must equal a look in one piece: whoever asks for both compares them.
        if !FastPath::PlacedCopy.is_taken() {
            return Ok(None);
        }
        let commands = &self.commands;
        commands
            .copy_in_passes(Duration::ZERO, PLACED, look)
            .map(Some)
    }
}
