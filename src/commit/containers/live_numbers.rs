//! The numbers of all live containers, by application.
//!
//! Tests: `tests/runtime/whole_state.rs`.

use super::in_passes::CopiedRows;
use crate::commit::ledger::Ledger;
use crate::id::AppSlot;

/// The numbers of live containers, by the slot of their application.
#[derive(Clone, Debug, Default)]
pub struct LiveNumbers {
    /// How often the list of each had changed when it was copied.
    changes: Vec<u32>,
    numbers: Vec<Vec<u32>>,
}

impl LiveNumbers {
    /// The numbers of an application, ascending.
    #[must_use]
    pub fn of(&self, app: AppSlot) -> &[u32] {
        self.numbers.get(app.index()).map_or(&[], Vec::as_slice)
    }
}

impl CopiedRows for LiveNumbers {
    type Room = usize;

    fn room(ledger: &Ledger) -> usize {
        ledger.state().apps.len()
    }

    fn grow(&mut self, rows: usize) -> usize {
        self.changes.resize(rows, 0);
        self.numbers.resize_with(rows, Vec::new);
        rows
    }

    fn copy(&mut self, ledger: &Ledger, row: usize) -> usize {
        let (app, lists) = (AppSlot::at(row), ledger.containers.live_lists());
        let changes = lists.changes_of(app);
        if self.changes[row] == changes {
            return 0;
        }
        self.changes[row] = changes;
        let numbers = &mut self.numbers[row];
        numbers.clear();
        numbers.extend(lists.of(app).numbers());
        numbers.len()
    }
}
