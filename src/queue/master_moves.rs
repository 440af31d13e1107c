//! What changes of labels under the container of a master added to its count.

use crate::id::PartitionId;
use crate::resource::ResourceVector;

/// What changes of labels under the master's container added to its count, by partition.
///
/// The count began on the partition that was asked for, which need not be that of the node. Most masters have no
/// such change, and take no memory for it.
// As FiCaSchedulerApp.nodePartitionUpdated, which takes from the partition of the node.
#[derive(Clone, Debug, Default)]
pub struct MasterMoves(Option<Box<ByPartition>>);

type ByPartition = Vec<(PartitionId, ResourceVector)>;

impl MasterMoves {
    /// Whether no label changed under the master's container.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What was added on a partition.
    #[must_use]
    pub fn on(&self, partition: PartitionId) -> ResourceVector {
        let all = self.0.as_deref().into_iter().flatten();
        let here = all.filter(|(known, _)| *known == partition);
        here.fold(ResourceVector::NONE, |sum, (_, size)| sum + *size)
    }

    /// Adds a size on a partition.
    pub fn add(&mut self, partition: PartitionId, size: ResourceVector) {
        let all = self.0.get_or_insert_default();
        match all.iter_mut().find(|(known, _)| *known == partition) {
            Some((_, moved)) => *moved += size,
            None => all.push((partition, size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_counts_on_its_partition_alone() {
        let (here, there) = (PartitionId::at(1), PartitionId::at(2));
        let mut moves = MasterMoves::default();
        assert!(moves.is_empty());
        moves.add(here, ResourceVector::of(&[4, 1]));
        moves.add(there, ResourceVector::of(&[2, 1]));
        moves.add(here, -ResourceVector::of(&[1, 1]));
        assert!(!moves.is_empty());
        assert_eq!(moves.on(here), ResourceVector::of(&[3]));
        assert_eq!(moves.on(there), ResourceVector::of(&[2, 1]));
        assert_eq!(moves.on(PartitionId::DEFAULT), ResourceVector::NONE);
    }
}
