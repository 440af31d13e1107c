//! A refresh of the configuration that holds others as briefly as possible.
//!
//! 1. The queues are copied in parts; others are served in between.
//! 2. The thread of the caller works out what the settings come to.
//! 3. The committer takes that over in one piece. If what it depends on changed meanwhile, all is done once more, and
//!    after [`TRIES`] in vain the refresh is carried out as a whole.
//!
//! Tests: `tests/runtime/refresh_turns.rs`.

use super::{Sequential, Threaded};
use crate::commit::{PreparedRefresh, RefreshError, TreeCopy};
use crate::fast_path::FastPath;
use crate::queue::TreeSettings;
use crate::runtime::handles::command::Command;
use crate::runtime::handles::looks::CallError;

/// How often a refresh is prepared before it is carried out as a whole.
const TRIES: usize = 3;

/// Items that are copied in one look.
const ITEMS: usize = 512;

impl Sequential {
    /// Takes over a prepared refresh, as a whole or not at all; nothing where it is stale.
    pub(super) fn install(
        &mut self,
        prepared: &mut PreparedRefresh,
    ) -> Option<Result<(), RefreshError>> {
        if !self.ledger.is_current(prepared) {
            return None;
        }
        self.note_nodes();
        let result = self.ledger.install(prepared);
        self.follow_up();
        Some(result)
    }
}

impl Threaded {
    /// Takes over a new configuration, as a whole or not at all.
    ///
    /// Cost: others wait for a visit of each queue. The rest is done by the thread of the caller.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`].
    pub fn reconfigure(&self, settings: TreeSettings) -> Result<(), RefreshError> {
        // Must equal [`Sequential::reconfigure`].
        let mut settings = Box::new(settings);
        let tries = if FastPath::PreparedRefresh.is_taken() {
            TRIES
        } else {
            0
        };
        for _ in 0..tries {
            let copy = self.copy_tree()?;
            if !copy.is_whole() {
                continue;
            }
            let prepared = match copy.prepare(settings) {
                Ok(prepared) => prepared,
                Err(as_a_whole) => {
                    settings = as_a_whole;
                    break;
                }
            };
            let mut prepared = Some(prepared);
            let (came_to, prepared) = self.change_queues(move |engine, _| {
                let mut prepared = prepared.take()?;
                Some((engine.install(&mut prepared), prepared))
            })?;
            match came_to {
                Some(result) => return result,
                None => settings = prepared.into_settings(),
            }
        }
        self.call(|reply| Command::Reconfigure(settings, reply))
            .unwrap_or_else(|refused| Err(refused.into()))
    }

    /// Copies the queues in parts; not all of them, where what a refresh depends on changed meanwhile.
    pub(super) fn copy_tree(&self) -> Result<TreeCopy, CallError> {
        let mut copy = self.inspect(TreeCopy::of)?;
        loop {
            let is_whole;
            (copy, is_whole) = self.inspect(move |ledger| {
                let is_whole = copy.go_on(ledger, &mut { ITEMS });
                (copy, is_whole)
            })?;
            if is_whole {
                return Ok(copy);
            }
        }
    }
}
