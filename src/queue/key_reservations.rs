//! Reservations under a key, by number.

use super::shared_tree::SharedTree;
use super::tree_node::TreeEntry;
use crate::id::NodeSlot;
use crate::resource::ResourceVector;

/// Reservations under a key, ascending by number.
pub type KeyReservations = SharedTree<ReservedAt>;

/// A reservation under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedAt {
    /// Number of the container.
    pub number: u32,
    /// Position in the order in which reservations of the key were made, or moved to their node.
    pub made: u32,
    /// Where it waits.
    pub node: NodeSlot,
    /// `NodeId.hashCode` of that node.
    pub java_hash: i32,
    /// Its size.
    pub size: ResourceVector,
}

impl TreeEntry for ReservedAt {
    type Key = u32;
    type Sum = ();
    type Inline = [Self; 0];

    #[inline(always)]
    fn key(&self) -> u32 {
        self.number
    }

    #[inline(always)]
    fn sum(&self) {}
}
