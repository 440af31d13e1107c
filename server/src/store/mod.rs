//! Stores that survive: one leader with a token writes, everybody reads and watches.
//!
//! | module | what it owns |
//! |---|---|
//! | `assembly` | a resource manager whose changes survive |
//! | `batch` | keys, versions, batches, and the [`Store`] trait |
//! | `embedded` | a store in one file, by redb |
//! | `journal` | the commands of a resource manager, in order, many in one write |
//! | `configurations` | versions of the scheduler's configuration as keys |
//! | `check` | whether what a store holds is whole |
//!
//! # Invariants
//!
//! * A write is carried out only with the token of the present leader; the store itself checks it.
//! * Tokens ascend, over restarts too. A write is durable when it is answered.
//! * A batch is carried out whole or not at all.

mod assembly;
mod batch;
mod check;
mod configurations;
mod embedded;
mod journal;

pub use assembly::{Durable, DurableFailure};
pub use batch::{Batch, Entry, Revision, Store, StoreError, Token};
pub use check::{CheckReport, StoreProblem, check, check_directory};
pub use configurations::KeyConfStore;
pub use embedded::EmbeddedStore;
pub use journal::{Durability, JournalCounts, StoreJournal, StoredCommand};
