//! The numbers of all live containers, copied in parts while the ledger goes on.
//!
//! 1. A pass looks at the applications by slot, and copies the numbers of those whose containers came or went since.
//! 2. A pass has any number of parts. Others change the ledger between two of them.
//! 3. Passes get shorter, since each copies what changed during the one before. The last one is made in one piece.
//!
//! Tests: `tests/runtime/whole_state.rs`.

use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, ApplicationId};

/// Applications that are looked at for the price of one number.
const LOOKS: usize = 4;

/// What was copied of one application.
#[derive(Clone, Debug, Default)]
struct CopiedApp {
    /// Whose they are: slots are used again.
    owner: Option<(ApplicationId, u32)>,
    changes: u32,
    numbers: Vec<u32>,
}

/// The numbers of live containers, by the slot of their application.
#[derive(Clone, Debug, Default)]
pub struct LiveNumbers {
    of: Vec<CopiedApp>,
    /// The next slot of the present pass.
    at: usize,
    /// What the present pass copied, in numbers.
    copied: usize,
    /// The same of the pass before; nothing in the first one.
    copied_before: Option<usize>,
}

impl LiveNumbers {
    /// The numbers of an application, ascending.
    #[must_use]
    pub fn of(&self, app: AppSlot) -> &[u32] {
        self.of.get(app.index()).map_or(&[], |of| &of.numbers)
    }

    /// Whether the last pass copied so little that the next one may be made in one piece.
    #[must_use]
    pub fn is_near(&self, most: usize) -> bool {
        self.copied_before.is_some_and(|copied| copied <= most)
    }

    /// Goes on with a pass, for so many numbers and the rest of one application; whether it ended.
    pub fn go_on(&mut self, ledger: &Ledger, most: usize) -> bool {
        let apps = &ledger.state().apps;
        self.of.resize_with(apps.len(), CopiedApp::default);
        let mut left = most.saturating_mul(LOOKS);
        while self.at < self.of.len() {
            if left == 0 {
                return false;
            }
            let copied = self.copy(ledger, AppSlot::at(self.at));
            self.copied += copied;
            self.at += 1;
            left = left.saturating_sub(1 + copied.saturating_mul(LOOKS));
        }
        self.copied_before = Some(std::mem::take(&mut self.copied));
        self.at = 0;
        true
    }

    /// Makes a whole pass, so that all numbers are those of now.
    pub fn finish(&mut self, ledger: &Ledger) {
        (self.at, self.copied) = (0, 0);
        self.go_on(ledger, usize::MAX);
    }

    /// Copies the numbers of one application if they changed; how many.
    fn copy(&mut self, ledger: &Ledger, app: AppSlot) -> usize {
        let row = &ledger.state().apps[app];
        let live = ledger.containers.live_list(app);
        let of = &mut self.of[app.index()];
        let owner = Some((row.id, row.generation));
        if of.owner == owner && of.changes == live.changes() {
            return 0;
        }
        (of.owner, of.changes) = (owner, live.changes());
        of.numbers.clear();
        of.numbers.extend(live.numbers());
        of.numbers.len()
    }
}
