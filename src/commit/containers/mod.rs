//! Containers: records, the lists that name them, and preemption.

pub(super) mod container;
pub(super) mod ending;
pub(super) mod hand_out;
pub(super) mod live;
pub(super) mod live_numbers;
pub(super) mod of_apps;
mod on_nodes;
pub(super) mod preempt;
mod reservations;
pub(super) mod slab;
pub(super) mod slot;
pub(super) mod store;
pub(super) mod unfetched;
pub(super) mod updates;
