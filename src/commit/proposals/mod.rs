//! Proposals: validation, application, and what working copies do alike.

pub(super) mod apply;
pub(super) mod deferred_ancestor_charges;
pub(super) mod later;
pub(super) mod observe;
pub(super) mod overlay;
pub(super) mod reclaimed_slots;
pub(super) mod simple_allocation;
pub(super) mod validate;
pub(super) mod wave;
