//! The place of a container among the ledger's records.

/// A container's place in the ledger; reused once the container is gone from its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerSlot(pub u32);
