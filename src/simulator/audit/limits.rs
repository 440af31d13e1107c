//! Limits of queues by partition: what is charged to each, and whether it stays within them.

use super::{AuditBooks, AuditedContainer, ancestors};
use crate::api::{ContainerId, ResourceVector};

/// A queue with a limit on one partition.
#[derive(Debug)]
pub(super) struct QueueLimit {
    used: ResourceVector,
    most: ResourceVector,
}

impl AuditBooks {
    /// Sets the most a queue may use on the default partition. Queues without a limit are not
    /// checked for Q4, and none should be set where the limit legally is the partition's, as without
    /// exclusivity.
    pub fn limit(&mut self, queue: &str, most: ResourceVector) {
        self.limit_on(queue, "", most);
    }

    /// Sets the most a queue may use on a partition, before anything is placed there.
    pub fn limit_on(&mut self, queue: &str, partition: &str, most: ResourceVector) {
        let key = (queue.to_owned(), partition.to_owned());
        let used = ResourceVector::NONE;
        self.limited.insert(key, QueueLimit { used, most });
    }

    /// Charges the queues above a container on a partition, and compares with their limits.
    pub(super) fn within_limits(
        &mut self,
        container: ContainerId,
        queue: &str,
        partition: &str,
        size: ResourceVector,
    ) {
        if self.limited.is_empty() {
            return;
        }
        let mut key = (String::new(), partition.to_owned());
        for path in ancestors(queue) {
            path.clone_into(&mut key.0);
            let Some(limited) = self.limited.get_mut(&key) else {
                continue;
            };
            limited.used += size;
            let (used, most) = (limited.used, limited.most);
            if !self.within(&used, &most) {
                let label = &key.1;
                let text =
                    format!("{container}: {path} uses {used} of at most {most} on `{label}`");
                self.violated("Q4", text);
            }
        }
    }

    /// Takes a container off the queues above it on the partition of its node.
    pub(super) fn free_limits(&mut self, held: &AuditedContainer) {
        if self.limited.is_empty() {
            return;
        }
        let mut key = (String::new(), held.partition.to_string());
        for path in ancestors(&held.queue) {
            path.clone_into(&mut key.0);
            if let Some(limited) = self.limited.get_mut(&key) {
                limited.used -= held.size;
            }
        }
    }
}
