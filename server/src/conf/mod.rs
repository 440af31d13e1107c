//! The mutable configuration of the scheduler: changes, versions, and the stores that keep them.
//!
//! A change is read from a request ([`ConfChange::read`]), worked out against the present configuration
//! ([`ConfChange::updates`]), judged by the scheduler ([`ConfTarget`]) and kept by a store ([`ConfStore`]).
//! [`MutableConf`] does these in order, one change at a time.
//!
//! # Invariants
//!
//! * A refused change leaves the version, the stored configuration and the scheduler as they were.
//! * A version is never given out twice, whatever fails; the memory store starts again at 1 when it is formatted.
//! * What was answered with success is in the store, and the store has synced it.
// As MutableCSConfigurationProvider and YarnConfigurationStore.

mod access;
mod audit;
mod change;
mod files;
mod memory;
mod mutable;
mod outcome;
mod properties;
mod request_body;
mod store;
mod target;

pub use audit::{AuditEntry, AuditKind, AuditLog};
pub use change::{ChangeError, ConfChange, QueueChange, Updates};
pub use files::FileConfStore;
pub use memory::MemoryConfStore;
pub use mutable::{MutableConf, MutableConfOptions};
pub use outcome::{ConfCounts, ConfError, ConfState, Outcome};
pub use properties::ConfProperties;
pub use request_body::{BodyError, BodyFormat};
pub use store::{ConfStore, ConfStoreError, ConfVersion, PreparedConf, StoredConf};
pub use target::{ConfRefusal, ConfTarget};
