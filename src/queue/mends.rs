//! Open faults of the reference that are repeated on purpose, and the settings that mend them.

/// Which open faults of the reference are mended; none by default. The page of differences names
/// each with its issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is a setting of its own"
)]
pub struct Mends {
    /// YARN-2695: an application at a limit on a labelled partition may exchange a reservation
    /// there for free space. The reference counts only reservations on the default partition.
    pub labelled_continue_looking: bool,
    /// YARN-11828: idle space of a shared partition is borrowed up to the maximum that a queue
    /// has there. The reference lets a queue borrow the whole partition.
    pub shared_partition_maximum: bool,
    /// YARN-10902: an application gives up its reservation on a node that it blacklists. The
    /// reference keeps the reservation, and the node serves nobody.
    pub blacklisted_reservations: bool,
    /// YARN-10848: with the memory-only calculator a container fits on a node only if its vcores
    /// do. The reference places by memory alone.
    pub memory_only_vcores: bool,
    /// YARN-11646: outside legacy mode a capacity vector counts though it gives no memory. Hadoop
    /// 3.4 takes it for unset.
    pub vectors_without_memory: bool,
    /// YARN-11573: with `skip-allocate-on-nodes-with-reserved-containers` no reserved node is proposed
    /// among several. The reference proposes the last one of the order though it is reserved, and the
    /// commit refuses it at every attempt.
    pub reserved_last_node: bool,
}

impl Mends {
    /// What the keys of the settings begin with.
    pub const PREFIX: &'static str = "capsched.mend.";

    /// The last part of each key, with the issue that it mends.
    pub const NAMES: [(&'static str, &'static str); 6] = [
        ("labelled-continue-looking", "YARN-2695"),
        ("shared-partition-maximum", "YARN-11828"),
        ("blacklisted-reservations", "YARN-10902"),
        ("memory-only-vcores", "YARN-10848"),
        ("vectors-without-memory", "YARN-11646"),
        ("reserved-last-node", "YARN-11573"),
    ];

    /// The mends that are switched on, by the last part of their keys.
    #[must_use]
    pub fn of(mut is_on: impl FnMut(&str) -> bool) -> Self {
        let [labelled, shared, blacklisted, vcores, vectors, last_node] =
            Self::NAMES.map(|(name, _)| is_on(name));
        Self {
            labelled_continue_looking: labelled,
            shared_partition_maximum: shared,
            blacklisted_reservations: blacklisted,
            memory_only_vcores: vcores,
            vectors_without_memory: vectors,
            reserved_last_node: last_node,
        }
    }
}
