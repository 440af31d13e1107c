//! Leaves as their only writer keeps them: who is in them, who asks, who runs, and what they are charged with.
//!
//! # Owner
//!
//! [`Leaves`] keeps what no decision reads: names of users, free records, skippable heads by application, removed
//! users, and counts of running applications. Its methods move the figures of leaves in a `State`, and of the
//! queues above them.
//!
//! # Invariants
//!
//! * A user has one record in a leaf while an application of it is there.
//! * Whatever changes the order of a leaf, or what is asked in its skippable head, ends the head before.
//! * A slot of a user is free once nobody asks by it, is counted by it or has its headroom from it.

pub(super) mod activation;
mod admission;
pub(super) mod attempts;
pub(super) mod demand;
mod forgotten;
mod headroom;
pub(super) mod key_sums;
pub(super) mod moved_use;
mod names;
mod observe;
mod parallel;
pub(super) mod records;
mod removed;
pub(super) mod renewed_bounds;
pub(super) mod usage;
mod user_limit_cache;
mod waiting_classes;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::forgotten::ForgottenAsks;
use self::names::UserNames;
use self::removed::RemovedUsers;
use self::waiting_classes::WaitingClasses;
use crate::accounting::SkippedApps;
use crate::id::{AppSlot, QueueSlot};

/// What the ledger keeps of leaves besides their rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaves {
    names: UserNames,
    skipped: SkippedApps,
    removed: RemovedUsers,
    waiting: WaitingClasses,
    /// The application that enters its new leaf, and the leaf that it comes from.
    moving: Option<(AppSlot, QueueSlot)>,
    /// Running applications of each user, against the limit of parallel ones.
    running_of: BTreeMap<Arc<str>, i32>,
    forgotten: ForgottenAsks,
}

impl Leaves {
    /// Which applications stand in skippable heads.
    #[inline(always)]
    pub(super) fn skipped(&self) -> &SkippedApps {
        &self.skipped
    }

    /// The same, to be changed.
    #[inline(always)]
    pub(super) fn skipped_mut(&mut self) -> &mut SkippedApps {
        &mut self.skipped
    }

    /// Frees some memory of asks that are forgotten.
    pub(super) fn free_in_turn(&mut self) {
        self.forgotten.free_in_turn();
    }

    /// The same for about as many entries as the budget has.
    pub(super) fn free_some(&mut self, budget: &mut usize) {
        self.forgotten.free_some(budget);
    }

    /// An application enters its new leaf from now on, and comes from another one; or it is there.
    pub(super) fn set_moving(&mut self, moving: Option<(AppSlot, QueueSlot)>) {
        self.moving = moving;
    }
}
