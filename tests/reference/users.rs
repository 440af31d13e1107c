//! Users of a leaf: who is active, what they use, how much they may use.

use super::capacity::of;
use super::resources::{Res, add, change, hash_order, string_hash, sub, times};
use super::state::{QueueIdx, Scheduler, User, Users};
use std::cmp::Ordering;

impl Users {
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.present
            .iter()
            .copied()
            .find(|u| self.people[*u].name == name)
    }

    /// Users with asks, as the limits see them.
    pub(crate) fn num_active(&self) -> i64 {
        self.apps.len() as i64 + self.only_pending
    }

    fn active_weights(&self) -> f32 {
        let names: Vec<String> = self.active_set.iter().cloned().collect();
        let weight = |n: &String| self.people[self.find(n).unwrap()].weight;
        hash_order(&names, |n| string_hash(n), 0)
            .iter()
            .fold(0.0, |t, n| t + weight(n))
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(u) = self.find(name) {
            self.present.retain(|x| *x != u);
        }
        self.active_set.remove(name);
        self.idle_set.remove(name);
        self.w_active = self.active_weights();
    }

    /// Moves what a user uses between the sums of active and idle users.
    fn shift(&mut self, name: &str, active: bool, zero: &Res) {
        let u = self.find(name).unwrap();
        for (p, r) in &self.people[u].used {
            let sum = change(
                &of(&self.active_used, p, zero),
                r,
                if active { 1 } else { -1 },
            );
            self.active_used.insert(p.clone(), sum);
        }
    }
}

impl Scheduler {
    /// The user of a leaf, added when absent.
    pub(crate) fn user(&mut self, leaf: QueueIdx, name: &str) -> usize {
        if let Some(u) = self.queues[leaf].users.find(name) {
            return u;
        }
        let weight = self.queues[leaf]
            .user_weights
            .get(name)
            .copied()
            .unwrap_or(1.0);
        let last_limit = self.zero.clone();
        let users = &mut self.queues[leaf].users;
        let u = users.people.len();
        users.people.push(User {
            name: name.to_owned(),
            weight,
            last_limit,
            ..User::default()
        });
        users.present.push(u);
        users.most = users.most.max(users.present.len());
        users.idle_set.insert(name.to_owned());
        u
    }

    pub(crate) fn refresh_weights(&mut self, leaf: QueueIdx) {
        let queue = &mut self.queues[leaf];
        for u in queue.users.present.clone() {
            let user = &mut queue.users.people[u];
            user.weight = queue.user_weights.get(&user.name).copied().unwrap_or(1.0);
        }
        queue.users.w_active = queue.users.active_weights();
        queue.users.version += 1;
    }

    /// An ask of the application appeared; it does not count while the user has no active application.
    pub(crate) fn activate_user(&mut self, leaf: QueueIdx, name: &str, app: u64) {
        let zero = self.zero.clone();
        let users = &mut self.queues[leaf].users;
        if users
            .find(name)
            .is_some_and(|u| users.people[u].active <= 0)
        {
            return;
        }
        if !users.apps.contains_key(name) {
            users
                .apps
                .insert(name.to_owned(), std::collections::BTreeSet::new());
            users.version += 1;
            self.user(leaf, name);
            let users = &mut self.queues[leaf].users;
            if users.idle_set.remove(name) {
                users.active_set.insert(name.to_owned());
                users.w_active = users.active_weights();
                users.shift(name, true, &zero);
            }
        }
        self.queues[leaf]
            .users
            .apps
            .get_mut(name)
            .unwrap()
            .insert(app);
    }

    /// The last ask of the application went.
    pub(crate) fn deactivate_user(&mut self, leaf: QueueIdx, name: &str, app: u64) {
        let zero = self.zero.clone();
        let users = &mut self.queues[leaf].users;
        let Some(apps) = users.apps.get_mut(name) else {
            return;
        };
        apps.remove(&app);
        if !apps.is_empty() {
            return;
        }
        users.apps.remove(name);
        users.version += 1;
        if users.find(name).is_some() && users.active_set.remove(name) {
            users.idle_set.insert(name.to_owned());
            users.w_active = users.active_weights();
            users.shift(name, false, &zero);
        }
    }

    /// Books usage of a user and its part of the used ratio.
    pub(crate) fn use_of_user(&mut self, leaf: QueueIdx, name: &str, r: &Res, p: &str, sign: i64) {
        let u = self.user(leaf, name);
        let zero = self.zero.clone();
        let users = &mut self.queues[leaf].users;
        let sum = change(&of(&users.people[u].used, p, &zero), r, sign);
        users.people[u].used.insert(p.to_owned(), sum);
        if users.active_set.contains(name) {
            let sum = change(&of(&users.active_used, p, &zero), r, sign);
            users.active_used.insert(p.to_owned(), sum);
        }
        users.version += 1;
        let delta = self.ratio_delta(leaf, u, p);
        *self.queues[leaf]
            .users
            .ratio
            .entry(p.to_owned())
            .or_default() += delta;
    }

    fn ratio_delta(&mut self, leaf: QueueIdx, u: usize, p: &str) -> f32 {
        let used = of(&self.queues[leaf].users.people[u].used, p, &self.zero);
        let new = self.rc.ratio(&used, &self.total(p));
        let old = self.queues[leaf].users.people[u]
            .ratio
            .insert(p.to_owned(), new);
        new - old.unwrap_or(0.0)
    }

    /// Sums the used ratios anew, in hash order.
    pub(crate) fn recompute_ratio(&mut self, leaf: QueueIdx, p: &str) {
        let users = &self.queues[leaf].users;
        let hash = |u: &usize| string_hash(&users.people[*u].name);
        let order = hash_order(&users.present, hash, users.most);
        let mut t = 0.0f32;
        for u in order {
            self.queues[leaf].users.people[u]
                .ratio
                .insert(p.to_owned(), 0.0);
            t += self.ratio_delta(leaf, u, p);
        }
        self.queues[leaf].users.ratio.insert(p.to_owned(), t);
    }

    /// The common limit of active users, before weights.
    fn compute_limit(&self, leaf: QueueIdx, p: &str, respect: bool) -> Res {
        let (rc, t, low) = (self.rc, self.total(p), &self.minimum);
        let users = &self.queues[leaf].users;
        let own = self.eff_min(leaf, p);
        let capacity = rc.max(&t, &own, low);
        let ratio = users.ratio.get(p).copied().unwrap_or(0.0);
        let consumed = rc.times_up(&t, ratio, low);
        let current = if rc.compare(&t, &consumed, &capacity) == Ordering::Less {
            capacity.clone()
        } else {
            // The sum is made in a copy, and a copy's vcores are an `int`.
            let mut copy = consumed;
            copy[1] = copy[1].min(i64::from(i32::MAX));
            add(&copy, low)
        };
        let base = add(&of(&users.active_used, p, &self.zero), low);
        let equal = rc.div_ceil_f(&base, users.w_active);
        let percent = rc.div_ceil(&times(&current, users.limit_percent), 100);
        let limit = rc.max(&t, &equal, &percent);
        let cap = if !respect {
            t.clone()
        } else if users.limit_factor == -1.0 || own == self.zero {
            self.eff_max_down(leaf, p)
        } else {
            times(&capacity, users.limit_factor)
        };
        rc.round_up(&rc.min(&t, &limit, &cap), low)
    }

    /// The limit of one user, from the cache while the users' state is the same.
    pub(crate) fn user_limit(&mut self, leaf: QueueIdx, name: &str, p: &str, respect: bool) -> Res {
        let key = (p.to_owned(), respect);
        let version = self.queues[leaf].users.version;
        let cached = self.queues[leaf]
            .users
            .limits
            .get(&key)
            .filter(|x| x.0 == version)
            .cloned();
        let (_, common) = cached.unwrap_or_else(|| {
            let limit = self.compute_limit(leaf, p, respect);
            let users = &mut self.queues[leaf].users;
            users.limits.insert(key, (version, limit.clone()));
            let only = |u: &&usize| users.people[**u].pending > 0 && users.people[**u].active <= 0;
            users.only_pending = users.present.iter().filter(only).count() as i64;
            (version, limit)
        });
        let u = self.queues[leaf].users.find(name);
        let weight = u.map_or(1.0, |u| self.queues[leaf].users.people[u].weight);
        let out = self.rc.times_down(&common, weight, &self.minimum);
        if let Some(u) = u {
            self.queues[leaf].users.people[u]
                .last_limit
                .clone_from(&out);
        }
        out
    }

    /// What is reported to the application master: the sum over the partitions that it asked for.
    pub(crate) fn shown_headroom(&mut self, app: u64) -> Res {
        let Some((leaf, user)) = self.apps[&app].headroom_of else {
            return self.zero.clone();
        };
        let mut partitions = self.apps[&app].partitions.clone();
        if partitions.is_empty() {
            partitions.insert(String::new());
        }
        let mut h = self.zero.clone();
        for p in partitions {
            h = add(&h, &self.headroom(leaf, user, app, &p));
        }
        h[0] = h[0].max(0);
        h
    }

    fn headroom(&mut self, leaf: QueueIdx, user: usize, app: u64, p: &str) -> Res {
        let name = self.apps[&app].user.clone();
        let limit = self.user_limit(leaf, &name, p, true);
        let queue = self.q(leaf);
        let top = if p.is_empty() {
            queue.queue_limit.clone()
        } else {
            self.eff_max(leaf, p)
        };
        let mine = of(&queue.users.people[user].used, p, &self.zero);
        let by_user = super::resources::sub_floor(&limit, &mine);
        let by_queue = super::resources::sub_floor(&top, &self.used(leaf, p));
        let h = super::resources::each_min(&by_user, &by_queue);
        let h = self.rc.round_down(&h, &self.minimum);
        let free = sub(&self.total(p), &self.used(self.root, p));
        self.rc.min(&self.total(p), &free, &h)
    }
}
