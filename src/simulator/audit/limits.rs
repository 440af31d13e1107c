//! Limits of queues by partition: what is charged to each, and whether it stays within them.

use super::AuditBooks;
use super::rows::{AuditedContainer, QueueLimit};
use crate::api::{ContainerId, ResourceVector};

impl AuditBooks {
    /// Sets the most a queue may use on the default partition. Queues without a limit are not
    /// checked for Q4, and none should be set where the limit legally is the partition's, as without
    /// exclusivity.
    pub fn limit(&mut self, queue: &str, most: ResourceVector) {
        self.limit_on(queue, "", most);
    }

    /// Sets the most a queue may use on a partition, before anything is placed there.
    pub fn limit_on(&mut self, queue: &str, partition: &str, most: ResourceVector) {
        let key = (self.queue(queue), self.partition(partition));
        let used = ResourceVector::NONE;
        self.limited.insert(key, QueueLimit { used, most });
    }

    /// Charges the queues above a container on a partition, and compares with their limits.
    pub(super) fn within_limits(
        &mut self,
        container: ContainerId,
        (queue, partition): (usize, usize),
        size: &ResourceVector,
    ) {
        if self.limited.is_empty() {
            return;
        }
        for above in 0..self.queues.row(queue).path.len() {
            let queue = self.queues.row(queue).path[above];
            let Some(limited) = self.limited.get_mut(&(queue, partition)) else {
                continue;
            };
            limited.used += *size;
            let (used, most) = (limited.used, limited.most);
            if !self.within(&used, &most) {
                let (path, label) = (self.queues.name(queue), self.partitions.name(partition));
                let text =
                    format!("{container}: {path} uses {used} of at most {most} on `{label}`");
                self.violated("Q4", text);
            }
        }
    }

    /// Takes a container off the queues above it on the partition of its node.
    pub(super) fn free_limits(&mut self, held: &AuditedContainer) {
        let Some(partition) = held.partition.filter(|_| !self.limited.is_empty()) else {
            return;
        };
        for queue in &self.queues.row(held.queue).path {
            if let Some(limited) = self.limited.get_mut(&(*queue, partition)) {
                limited.used -= held.size;
            }
        }
    }
}
