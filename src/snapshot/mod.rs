//! The state that decisions read: live in the ledger, frozen in a published snapshot, and as the
//! working copy of a proposer.
//!
//! One type, [`State`], serves all three, so that the same functions decide on each. A published
//! [`Snapshot`] is its immutable form.

mod freezer;
mod frozen;
mod frozen_row;
mod state;
mod table;

pub use frozen::Frozen;
pub use frozen_row::FrozenRow;
pub use state::{Snapshot, State};
pub use table::{RowSlot, Table};
