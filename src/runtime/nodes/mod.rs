//! The order of the nodes: sorting, publication, and the candidates of each proposer.
//!
//! # With threads
//!
//! 1. The sorter sorts the nodes of the newest snapshot once in an interval (`sorter`) and publishes the index (`index`).
//! 2. Each proposer takes the index over and keeps where nodes have room (`node_candidates`).
//! 3. Where the policy sorts before each use, nodes move in the order with each change (`live_keys`).
//!
//! # Without threads
//!
//! 1. `live_order` has the nodes of a partition in the order of each policy; `live_orders` renews them where nodes
//!    changed.
//! 2. `walk_order` has the nodes that rounds and heartbeats come to one by one.
//! 3. `standstill` knows what attempts came to since the last change. Those that surely come to the same are counted and
//!    not carried out; `kept` does the same for reservations that stay. `attempted` compares what is counted with an
//!    attempt that is carried out.

mod attempted;
pub(super) mod counted_nodes;
pub(super) mod index;
mod kept;
mod live_keys;
pub(super) mod live_order;
pub(super) mod live_orders;
pub(super) mod node_candidates;
mod place_set;
pub(super) mod sorter;
pub(super) mod standstill;
pub(super) mod walk_order;
