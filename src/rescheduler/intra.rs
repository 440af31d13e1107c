//! The selector within queues: users above their limits, or lower priorities, give to others.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::order;
use super::quota::{Quota, any_exhausted};
use super::records::{AppRecord, UserRecord};
use super::round::Round;
use super::settings::{IntraQueueOrder, IntraQueueSettings};
use crate::resource::{ResourceVector, share};

impl Round<'_> {
    // As IntraQueueCandidatesSelector.selectCandidates.
    pub(super) fn select_within_queues(&mut self, settings: &IntraQueueSettings) {
        let mut visited = Vec::new();
        for (partition, queues) in self.underserved.iter().enumerate() {
            let leaves = queues.iter().copied();
            let leaves = leaves.filter(|&queue| self.view.queues[queue].leaf.is_some());
            visited.extend(leaves.map(|leaf| (leaf, partition)));
        }
        for &(leaf, partition) in &visited {
            self.share_in_leaf(leaf, partition, settings);
        }
        self.deduct();
        for (leaf, partition) in visited {
            if !self.view.queues[leaf].intra_queue_disabled {
                self.take_in_leaf(leaf, partition, settings);
            }
        }
    }

    // As FifoIntraQueuePreemptionPlugin.computeAppsIdealAllocation.
    fn share_in_leaf(&mut self, leaf: usize, partition: usize, settings: &IntraQueueSettings) {
        let view = self.view;
        let Some(row) = &view.queues[leaf].leaf else {
            return;
        };
        let part = &view.queues[leaf].parts[partition];
        let quota = self.figures[leaf][partition].quota;
        if part.used_capacity < settings.minimum_threshold {
            return;
        }
        let mut left = part.used - quota;
        let mut masters: BTreeMap<usize, ResourceVector> = BTreeMap::new();
        for &app in &row.active {
            let app = &view.apps[app];
            if app.master_partition == Some(partition) {
                left -= app.master_size;
                *masters.entry(app.user).or_default() += app.master_size;
            }
        }
        if row.active.len() + row.waiting.len() == 1 {
            return;
        }
        let (mut apps, mut users) = self.records(leaf, partition, &masters);
        self.sort_high_first(&mut apps, &users, row.fair, settings);
        let selected = self.selected_of(leaf, partition);
        for record in &mut apps {
            let user = &mut users[record.user];
            let selected = selected.get(&record.app);
            self.set_ideal(record, user, &left, selected, settings);
            left = left.minus_floored(&record.ideal);
        }
        self.set_give(&mut apps, &part.guaranteed, &quota, settings);
        self.pair(&mut apps, &mut users, settings);
        let figures = &mut self.figures[leaf][partition];
        figures.apps = apps;
        figures.users = users;
    }

    fn records(
        &mut self,
        leaf: usize,
        partition: usize,
        masters: &BTreeMap<usize, ResourceVector>,
    ) -> (Vec<AppRecord>, Vec<UserRecord>) {
        let view = self.view;
        let none = ResourceVector::NONE;
        let (mut apps, mut users) = (Vec::new(), Vec::<UserRecord>::new());
        let mut positions = BTreeMap::new();
        let row = view.queues[leaf].leaf.iter();
        for &slot in row.flat_map(|row| row.active.iter().chain(&row.waiting)) {
            let app = &view.apps[slot];
            let user = *positions.entry(app.user).or_insert(users.len());
            if user == users.len() {
                let of_masters = masters.get(&app.user).copied().unwrap_or(none);
                let limit = self.limits.among_all(leaf, app.user, partition);
                users.push(UserRecord {
                    user: app.user,
                    masters: of_masters,
                    used_without_masters: view.users[app.user].used[partition] - of_masters,
                    limit: limit - of_masters,
                    ideal: none,
                    selected: none,
                    matched: false,
                });
            }
            let counts = app.started && app.master_partition == Some(partition);
            apps.push(AppRecord {
                app: slot,
                user,
                used: app.used[partition],
                pending: app.pending[partition],
                master: if counts { app.master_size } else { none },
                selected: none,
                ideal: none,
                give: none,
                quota: none,
                demand: none,
            });
        }
        (apps, users)
    }

    /// By priority, or, where users are evened out in a fair leaf, by how little the user holds.
    fn sort_high_first(
        &self,
        apps: &mut [AppRecord],
        users: &[UserRecord],
        fair: bool,
        settings: &IntraQueueSettings,
    ) {
        let view = self.view;
        if !fair || settings.order == IntraQueueOrder::PriorityFirst {
            apps.sort_by_key(|record| {
                let app = &view.apps[record.app];
                (std::cmp::Reverse(app.priority), app.id)
            });
            return;
        }
        order::sort_by(apps, |x, y| {
            let (a, b) = (&view.apps[x.app], &view.apps[y.app]);
            if x.user == y.user {
                let (first, second) = (a.fair_key, b.fair_key);
                return first
                    .0
                    .total_cmp(&second.0)
                    .then((first.1, a.id).cmp(&(second.1, b.id)));
            }
            let held = |record: &AppRecord| users[record.user].used_without_masters;
            if held(x) == held(y) {
                a.id.cmp(&b.id)
            } else if self.more(&held(y), &held(x)) {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        });
    }

    /// What earlier selectors chose of each application among requests for a partition.
    fn selected_of(&self, leaf: usize, partition: usize) -> BTreeMap<usize, ResourceVector> {
        let mut selected: BTreeMap<usize, ResourceVector> = BTreeMap::new();
        for &(container, _) in &self.chosen {
            let row = &self.view.containers[container];
            let here = self.view.apps[row.app].queue == leaf;
            if here && row.requested_partition == Some(partition) {
                *selected.entry(row.app).or_default() += row.size;
            }
        }
        selected
    }

    fn set_ideal(
        &self,
        record: &mut AppRecord,
        user: &mut UserRecord,
        left: &ResourceVector,
        selected: Option<&ResourceVector>,
        settings: &IntraQueueSettings,
    ) {
        let (calculator, cluster) = (self.view.calculator, &self.view.cluster);
        let exhausted = settings.conservative && any_exhausted(calculator, left);
        if !calculator.above_none(cluster, left) || exhausted {
            return;
        }
        if let Some(selected) = selected {
            record.selected += *selected;
            user.selected += *selected;
        }
        let have = record.used - record.master - record.selected;
        if !self.more(&user.limit, &user.ideal) {
            return;
        }
        let room = user.limit - user.ideal;
        let wanted = calculator.min(cluster, &(have + record.pending), &room);
        record.ideal = calculator.min(cluster, left, &wanted);
        user.ideal += record.ideal;
        if self.more(&record.ideal, &have) {
            record.demand = record.ideal - have;
        }
    }

    /// What each application could give, lowest first, within the queue's budget for a round.
    fn set_give(
        &self,
        apps: &mut [AppRecord],
        guaranteed: &ResourceVector,
        quota: &ResourceVector,
        settings: &IntraQueueSettings,
    ) {
        let (calculator, cluster) = (self.view.calculator, &self.view.cluster);
        let none = ResourceVector::NONE;
        let most = share::times(guaranteed, f64::from(settings.max_allowable_limit));
        let most = if self.more(&most, quota) {
            most - *quota
        } else {
            none
        };
        let mut limit = calculator.min(cluster, &most, &self.allowed);
        for record in apps.iter_mut().rev() {
            if !self.more(&limit, &none) || !self.more(&record.used, &none) {
                continue;
            }
            let mut give = (record.used - record.ideal)
                .minus_floored(&record.selected)
                .minus_floored(&record.master);
            if settings.order == IntraQueueOrder::UserLimitFirst {
                // One smallest container of slack, so that users do not take turns.
                give = give.minus_floored(&self.view.minimum);
            }
            let give = calculator.max(cluster, &give, &none);
            record.give = calculator.min(cluster, &give, &limit);
            limit = limit.minus_floored(&record.give);
        }
    }

    /// Pairs demands, highest first, with what others could give, lowest first.
    // As FifoIntraQueuePreemptionPlugin.validateOutSameAppPriorityFromDemand.
    fn pair(
        &self,
        apps: &mut [AppRecord],
        users: &mut [UserRecord],
        settings: &IntraQueueSettings,
    ) {
        let none = ResourceVector::NONE;
        for demander in 0..apps.len() {
            if !self.more(&apps[demander].demand, &none) {
                continue;
            }
            for victim in (0..apps.len()).rev() {
                let available = self.available(&apps[demander], &apps[victim], users, settings);
                if !self.more(&available, &none) {
                    continue;
                }
                let demand = apps[demander].demand;
                let (calculator, cluster) = (self.view.calculator, &self.view.cluster);
                let taken = calculator.min(cluster, &demand, &available);
                apps[demander].demand -= taken;
                apps[victim].quota += taken;
            }
        }
    }

    /// What a demander may have of a victim.
    fn available(
        &self,
        demander: &AppRecord,
        victim: &AppRecord,
        users: &mut [UserRecord],
        settings: &IntraQueueSettings,
    ) -> ResourceVector {
        let none = ResourceVector::NONE;
        let priority = |record: &AppRecord| self.view.apps[record.app].priority;
        let same_user = demander.user == victim.user;
        if !self.more(&victim.give, &none)
            || (same_user && priority(victim) >= priority(demander))
            || !self.more(&victim.give, &victim.quota)
            || demander.demand.is_none()
        {
            return none;
        }
        let user = &mut users[victim.user];
        let over = self.more(&user.used_without_masters, &user.limit);
        if !same_user && !over && settings.order == IntraQueueOrder::UserLimitFirst {
            return none;
        }
        let available = victim.give - victim.quota;
        if same_user || priority(demander) != priority(victim) || !over {
            return available;
        }
        let excess = if user.matched {
            none
        } else {
            user.used_without_masters - user.selected - user.limit
        };
        if self.more(&available, &excess) {
            user.matched = true;
            return excess;
        }
        available
    }

    /// Takes containers of the applications that are to give, lowest first; no user is taken below
    /// the limit where users are evened out.
    fn take_in_leaf(&mut self, leaf: usize, partition: usize, settings: &IntraQueueSettings) {
        let view = self.view;
        let records = &self.figures[leaf][partition].apps;
        let none = ResourceVector::NONE;
        let victims: Vec<_> = records
            .iter()
            .rev()
            .map(|record| (record.app, record.quota))
            .collect();
        let sum = victims.iter().fold(none, |sum, (_, quota)| sum + *quota);
        let mut quota = Quota::of(view.partitions.len());
        quota.set(partition, sum);
        let by_user = settings.order == IntraQueueOrder::UserLimitFirst;
        let mut rolling: BTreeMap<usize, ResourceVector> = BTreeMap::new();
        for (app, _) in victims.into_iter().filter(|(_, quota)| !quota.is_none()) {
            let user = view.apps[app].user;
            for container in self.victims(app) {
                if quota.is_empty() {
                    return;
                }
                let row = &view.containers[container];
                if self.is_chosen(container) || row.killable || row.master {
                    continue;
                }
                let held = rolling
                    .entry(user)
                    .or_insert(view.users[user].used[partition]);
                let left = *held - row.size;
                if by_user && self.reaches_limit(leaf, row.node, user, &left) {
                    break;
                }
                if self.take(&mut quota, container, settings.conservative) && by_user {
                    *held = left;
                }
            }
        }
    }

    /// Whether a user would be at the limit with what is left, by the record of the partition of a
    /// node.
    fn reaches_limit(&self, leaf: usize, node: usize, user: usize, left: &ResourceVector) -> bool {
        let partition = self.view.nodes[node].partition;
        let mut users = self.figures[leaf][partition].users.iter();
        users
            .find(|record| record.user == user)
            .is_some_and(|record| !self.more(left, &(record.limit + record.masters)))
    }
}
