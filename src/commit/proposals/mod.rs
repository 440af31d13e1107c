//! Proposals: validation, application, and what commits defer.
//!
//! # What
//!
//! A proposal was decided on a snapshot or a working copy. The state has moved since, so that it is checked again and
//! applied as a whole, or refused with the reason (`conflict`).
//!
//! # Steps
//!
//! 1. What the pass observed is written: counters, limits, orders (`observe`), unless its rows have other owners now
//!    (`reclaimed_slots`).
//! 2. Most proposals are for one container anywhere and are checked in one look (`simple_allocation`).
//! 3. All others are checked in the order of the reference (`validate`).
//! 4. What holds is placed by [`crate::accounting::place`]; the ledger's own part of it is `sink`.
//! 5. In a batch, charges of ancestors and notices of user limits wait until it ends (`batch`, `deferred`).
//!
//! # Why a batch is a type of its own
//!
//! While charges wait, the used capacity of ancestors is behind. `CommitBatch` borrows the ledger for that time. From
//! `Unsettled` one gets a settled ledger, or `UnsettledView`, which adds what waits: nobody reads incomplete charges.

pub(super) mod apply;
pub(super) mod batch;
pub(super) mod conflict;
pub(super) mod deferred;
pub(super) mod observe;
pub(super) mod outcome;
pub(super) mod reclaimed_slots;
mod rejection;
pub(super) mod simple_allocation;
pub(super) mod sink;
pub(super) mod unsettled_view;
pub(super) mod validate;
