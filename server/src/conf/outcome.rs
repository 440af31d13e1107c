//! What a change came to, and how often which end was reached.

use std::sync::Arc;

use capsched::config::{Loaded, Report};
use capsched::sync::{AtomicU64, Ordering};
use thiserror::Error;

use super::change::{ChangeError, Updates};
use super::properties::ConfProperties;
use super::store::ConfStoreError;
use super::target::ConfRefusal;

/// A configuration that holds.
#[derive(Clone, Debug)]
pub struct ConfState {
    /// Its version.
    pub version: u64,
    /// The properties of capacity-scheduler.xml.
    pub properties: ConfProperties,
    /// As it was read.
    pub loaded: Arc<Loaded>,
}

/// A change that holds.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The configuration since then.
    pub state: Arc<ConfState>,
    /// The properties that the change set and unset.
    pub updates: Updates,
}

/// How often which end was reached since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfCounts {
    /// Changes that hold.
    pub accepted: u64,
    /// Changes that were refused.
    pub refused: u64,
    /// Configurations of the store that the scheduler refused; the one before them stays.
    pub failed_reloads: u64,
    /// Changes that the store could not keep.
    pub store_failures: u64,
    /// Entries of the log that could not be written.
    pub lost_entries: u64,
}

/// Why there was no change.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfError {
    /// The caller may not change this.
    #[error("{0}")]
    Forbidden(String),
    /// The caller saw another version.
    #[error("the present version is {present}")]
    VersionMismatch {
        /// The version that holds.
        present: u64,
    },
    /// There is no such version, or it is no longer kept.
    #[error("version {0} is not kept")]
    UnknownVersion(u64),
    /// The change cannot be worked out.
    #[error("{0}")]
    Change(#[from] ChangeError),
    /// The scheduler refuses it.
    #[error("{0}")]
    Refused(ConfRefusal),
    /// The configuration is not valid.
    #[error("{0}")]
    Invalid(Report),
    /// The store failed; the scheduler has the configuration that it had before.
    #[error("{0}")]
    Store(#[from] ConfStoreError),
}

#[derive(Debug, Default)]
pub(super) struct ConfCounters {
    pub(super) accepted: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) failed_reloads: AtomicU64,
    pub(super) store_failures: AtomicU64,
    pub(super) lost_entries: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    // Relaxed: a statistic that orders nothing.
    counter.fetch_add(1, Ordering::Relaxed);
}

impl ConfCounters {
    pub(super) fn shown(&self) -> ConfCounts {
        // Relaxed: statistics that order nothing.
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConfCounts {
            accepted: of(&self.accepted),
            refused: of(&self.refused),
            failed_reloads: of(&self.failed_reloads),
            store_failures: of(&self.store_failures),
            lost_entries: of(&self.lost_entries),
        }
    }
}
