//! Containers: records, the lists that name them, and preemption.

pub(super) mod container;
pub(super) mod ending;
pub(super) mod live;
pub(super) mod preempt;
pub(super) mod slab;
pub(super) mod slot;
pub(super) mod store;
