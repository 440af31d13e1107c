//! The lists of live containers of all applications, and how often each changed.
//!
//! The counts stand side by side, so that a copy of the lists finds what changed without a look at each list.
//!
//! Tests: `tests/runtime/whole_state.rs`.

use super::live::Live;
use crate::id::AppSlot;

/// Lists by the slot of the application. Whoever has a slot next goes on with its count.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct LiveLists {
    lists: Vec<Live>,
    /// How often a container came, went or was resized; counts around.
    changes: Vec<u32>,
}

impl LiveLists {
    /// Gives a new application its list.
    pub(super) fn add_app(&mut self) {
        self.lists.push(Live::default());
        self.changes.push(0);
    }

    /// The list of an application.
    #[inline(always)]
    pub(in crate::commit) fn of(&self, app: AppSlot) -> &Live {
        &self.lists[app.index()]
    }

    /// How often the list of an application changed, for comparisons.
    #[inline]
    pub(in crate::commit) fn changes_of(&self, app: AppSlot) -> u32 {
        self.changes[app.index()]
    }

    /// The list of an application, to be changed.
    #[inline(always)]
    pub(super) fn changed(&mut self, app: AppSlot) -> &mut Live {
        self.note_change(app);
        &mut self.lists[app.index()]
    }

    /// A container of an application is charged otherwise than before.
    #[inline(always)]
    pub(super) fn note_change(&mut self, app: AppSlot) {
        let changes = &mut self.changes[app.index()];
        *changes = changes.wrapping_add(1);
    }
}
