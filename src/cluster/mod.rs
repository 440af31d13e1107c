//! Nodes and partitions: what there is to share out.
//!
//! # Invariants
//!
//! * A node belongs to exactly one partition and holds at most one reservation.
//! * `free = total - allocated` per type; it is negative only on a node whose total was lowered
//!   below its use.

mod attributes;
mod node;
mod partition;

pub use attributes::{
    AttributeError, AttributeMapping, Attributes, is_attribute_name, map_attributes,
};
pub use node::{Killable, Node, NodeState, Reservation, TagCount};
pub use partition::Partition;
