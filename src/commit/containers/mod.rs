//! Containers: records, live ones by number, and preemption.

pub(super) mod container;
pub(super) mod live;
pub(super) mod preempt;
pub(super) mod slab;
