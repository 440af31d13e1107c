//! Dense slots: positions in the tables of the ledger.

use std::fmt;

macro_rules! slot {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub $int);

        impl $name {
            /// The position as a table index.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The slot at a table index.
            ///
            /// # Panics
            ///
            /// When the index leaves the range of the slot type; tables are bounded far below.
            #[inline]
            #[must_use]
            pub fn at(index: usize) -> Self {
                Self(<$int>::try_from(index).expect("tables are bounded below the slot range"))
            }
        }
    };
}

slot! {
    /// A queue of the tree. Slots of removed queues are not used again.
    QueueSlot, u32
}
slot! {
    /// A node; reused after its removal under a new incarnation.
    NodeSlot, u32
}
slot! {
    /// An application; reused after its end under a new generation.
    AppSlot, u32
}
slot! {
    /// A user's record in one leaf queue; reused once the record is gone.
    UserSlot, u32
}
slot! {
    /// An interned host, rack or "any" name.
    NameId, u32
}
slot! {
    /// A partition (node label); [`PartitionId::DEFAULT`] is the one without a name.
    PartitionId, u16
}

impl PartitionId {
    /// The default partition, named by the empty string.
    pub const DEFAULT: Self = Self(0);
}

impl NameId {
    /// The resource name `*`.
    pub const ANY: Self = Self(0);
}

/// Number of a published state: grows by one with each publication.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version(pub u64);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}
