//! What only leaves have: limits, masters and users.
// As CapacitySchedulerLeafQueueInfo and UserInfo.

use std::collections::{BTreeMap, BTreeSet};

use capsched::id::{PartitionId, QueueSlot};
use capsched::policy::last_user_limit;
use capsched::queue::{Leaf, Queue, User};
use capsched::resource::ResourceVector;

use super::queue::{Queues, usage};
use super::resource::open;
use crate::rest::tree::Object;

/// Partitions on which users ever had containers, by path of the leaf and name of the user.
pub(in crate::rest) type UsedBy = BTreeMap<(String, String), BTreeSet<String>>;

impl Queues<'_> {
    pub(super) fn leaf(&self, slot: QueueSlot, queue: &Queue, leaf: &Leaf) -> Object {
        let settings = &queue.settings;
        let part = queue.part(PartitionId::DEFAULT);
        let masters = &leaf.parts[PartitionId::DEFAULT];
        let limit = masters.master_limit().unwrap_or_default();
        let of_user = if leaf.users.is_empty() {
            limit
        } else {
            masters.user_master_limit.get()
        };
        let users = leaf.users.iter();
        let users = users.map(|&user| self.user(queue, leaf, &self.state.users[user]));
        Object::new()
            .with("numActiveApplications", leaf.active.len())
            .with("numPendingApplications", leaf.waiting.len())
            .with("numContainers", self.count(slot).all)
            .with("maxApplications", leaf.maximum_applications)
            .with("maxApplicationsPerUser", leaf.maximum_applications_per_user)
            .with("userLimit", settings.leaf.user_limit_percent)
            .with("users", Object::new().with_many("user", users))
            .with("userLimitFactor", settings.leaf.user_limit_factor)
            .with(
                "configuredMaxAMResourceLimit",
                settings.maximum_master_share,
            )
            .with("AMResourceLimit", open(self.settings, &limit))
            .with(
                "usedAMResource",
                open(self.settings, &part.master_used.get()),
            )
            .with("userAMResourceLimit", open(self.settings, &of_user))
            .with("preemptionDisabled", settings.preemption_disabled)
            .with(
                "intraQueuePreemptionDisabled",
                settings.intra_queue_preemption_disabled,
            )
            .with("defaultPriority", settings.leaf.default_priority)
            .with(
                "isAutoCreatedLeafQueue",
                settings.dynamic && self.is_managed(queue),
            )
            .with("maxApplicationLifetime", settings.lifetime.maximum_s)
            .with("defaultApplicationLifetime", settings.lifetime.default_s)
    }

    // As UserInfo.
    fn user(&self, queue: &Queue, leaf: &Leaf, user: &User) -> Object {
        let none = ResourceVector::NONE;
        let mut used = none;
        for part in user.parts.iter() {
            used += part.used.get();
        }
        let masters = user.part(PartitionId::DEFAULT).master_used.get();
        let key = (queue.settings.path.to_string(), user.name.to_string());
        let used_by = self.used_by.get(&key);
        let known = |partition: &PartitionId| {
            let name = &self.state.partitions[*partition].name;
            let ever = used_by.is_some_and(|labels| labels.contains(&**name));
            *partition == PartitionId::DEFAULT || ever
        };
        let partitions = self.state.partition_ids().filter(known);
        let usages = partitions.map(|partition| {
            let part = user.part(partition);
            let masters = part.master_used.get();
            let limit = leaf.parts[partition].user_master_limit.get();
            let limit = if masters.is_none() { none } else { limit };
            let name = &self.state.partitions[partition].name;
            usage(name, self.settings, [&part.used.get(), &none, &none])
                .with("amUsed", open(self.settings, &masters))
                .with("amLimit", open(self.settings, &limit))
                .with("userAmLimit", open(self.settings, &none))
        });
        let usages = Object::new().with_many("resourceUsagesByPartition", usages);
        let limit = last_user_limit(self.state, user);
        Object::new()
            .with("username", &*user.name)
            .with("resourcesUsed", open(self.settings, &used))
            .with("numPendingApplications", user.waiting_apps)
            .with("numActiveApplications", user.active_apps)
            .with("AMResourceUsed", open(self.settings, &masters))
            .with("userResourceLimit", open(self.settings, &limit))
            .with("resources", usages)
            .with("userWeight", user.weight)
            .with("isActive", user.active)
    }
}
