//! Proposals: validation, application, and what commits defer.

pub(super) mod apply;
pub(super) mod batch;
pub(super) mod conflict;
pub(super) mod deferred;
pub(super) mod observe;
pub(super) mod outcome;
pub(super) mod reclaimed_slots;
pub(super) mod simple_allocation;
pub(super) mod sink;
pub(super) mod validate;
