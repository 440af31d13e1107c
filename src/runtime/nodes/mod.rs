//! The order of the nodes: sorting, publication, and the candidates of each proposer.

pub(super) mod index;
mod kept;
mod live_keys;
pub(super) mod live_order;
pub(super) mod node_candidates;
pub(super) mod sorter;
pub(super) mod standstill;
pub(super) mod walk_order;
