//! The numbers of all live containers, by application.
//!
//! Tests: `tests/runtime/whole_state.rs`.

use super::in_passes::CopiedRows;
use crate::commit::ledger::Ledger;
use crate::id::AppSlot;

/// What was copied of one application.
#[derive(Clone, Debug, Default)]
struct CopiedApp {
    /// Of its list of live containers. Whoever has the slot next goes on with the count.
    changes: u32,
    numbers: Vec<u32>,
}

/// The numbers of live containers, by the slot of their application.
#[derive(Clone, Debug, Default)]
pub struct LiveNumbers {
    of: Vec<CopiedApp>,
}

impl LiveNumbers {
    /// The numbers of an application, ascending.
    #[must_use]
    pub fn of(&self, app: AppSlot) -> &[u32] {
        self.of.get(app.index()).map_or(&[], |of| &of.numbers)
    }
}

impl CopiedRows for LiveNumbers {
    fn grow(&mut self, ledger: &Ledger) -> usize {
        self.of
            .resize_with(ledger.state().apps.len(), CopiedApp::default);
        self.of.len()
    }

    fn copy(&mut self, ledger: &Ledger, row: usize) -> usize {
        let live = ledger.containers.live_list(AppSlot::at(row));
        let of = &mut self.of[row];
        if of.changes == live.changes() {
            return 0;
        }
        of.changes = live.changes();
        of.numbers.clear();
        of.numbers.extend(live.numbers());
        of.numbers.len()
    }
}
