//! Leaf queues: limits on applications and their masters, activation, order of applications.

use super::capacity::of;
use super::config::Refusal;
use super::resources::{Res, add};
use super::state::{Limits, QueueIdx, Scheduler};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

impl Scheduler {
    pub(crate) fn configure_leaf(&mut self, q: QueueIdx) -> Result<(), Refusal> {
        let (path, flexible) = (self.queues[q].path.clone(), self.is_flexible(q));
        let conf = self.conf.clone();
        let factor = if flexible {
            -1.0
        } else {
            conf.float("user-limit-factor", 1.0)
        };
        let queue = &mut self.queues[q];
        queue.users.limit_percent = conf
            .text_float(&path, "minimum-user-limit-percent")
            .unwrap_or_else(|| conf.float("minimum-user-limit-percent", 100.0));
        queue.users.limit_factor = conf
            .text_float(&path, "user-limit-factor")
            .unwrap_or(factor);
        if flexible {
            let am = conf
                .text_float(&path, "maximum-am-resource-percent")
                .unwrap_or(1.0);
            for p in &queue.labels {
                queue.caps.get_mut(p).unwrap().am_percent = am;
            }
        }
        // A leaf does not take its parent's policy: the same key orders applications here.
        queue.policy = conf
            .text(&path, "ordering-policy")
            .unwrap_or("fifo")
            .to_owned();
        queue.size_weight = conf.text_flag(&path, "ordering-policy.fair.enable-size-based-weight");
        queue.default_priority = conf
            .text_int(&path, "default-application-priority")
            .unwrap_or(0);
        queue.node_delay = conf.int("node-locality-delay", 40);
        queue.rack_delay = conf.int("rack-locality-additional-delay", -1);
        queue.rack_reset = conf.flag("rack-locality-full-reset", true);
        let most = 100.0 / queue.users.limit_percent;
        if queue.user_weights.values().any(|w| *w < 0.0 || *w > most) {
            return Err("other");
        }
        let label = queue.default_label.as_deref().unwrap_or("").trim();
        if !label.is_empty() && !queue.accessible.contains("*") && !queue.accessible.contains(label)
        {
            return Err("other");
        }
        Ok(())
    }

    fn update_max_apps(&mut self, q: QueueIdx) {
        let queue = &self.queues[q];
        let system = self.conf.int("maximum-applications", 10_000);
        let every = self.conf.int("global-queue-max-application", -1);
        let base = if every > 0 { every.min(system) } else { system };
        let mut n = self
            .conf
            .text_int(&queue.path, "maximum-applications")
            .unwrap_or(-1);
        if n < 0 {
            let empty = !self.settings.legacy && self.cluster == self.zero;
            if empty || (every > 0 && queue.mode != super::state::Mode::Absolute) {
                n = base;
            } else {
                for p in &queue.labels {
                    n = n.max(i64::from((base as f32 * queue.caps[p].abs) as i32));
                }
            }
        }
        let mut per_user = n;
        if queue.users.limit_factor != -1.0 {
            let share = n as f32 * (queue.users.limit_percent / 100.0) * queue.users.limit_factor;
            per_user = n.min(i64::from(share as i32));
        }
        self.queues[q].max_apps = n;
        self.queues[q].max_apps_user = per_user;
    }

    pub(crate) fn set_current_limit(&mut self, q: QueueIdx, limits: &Limits) {
        let top = self.eff_max_down(q, "");
        self.queues[q].current_limit = self.rc.min(&self.cluster, &top, &limits.limit);
    }

    pub(crate) fn update_leaf(&mut self, q: QueueIdx, limits: &Limits) {
        if self.settings.legacy {
            self.update_absolute(q);
            self.update_effective(q);
        }
        self.update_max_apps(q);
        self.set_current_limit(q, limits);
        self.queues[q].queue_limit = self.queues[q].current_limit.clone();
        for p in self.known_partitions(q) {
            self.recompute_ratio(q, &p);
        }
        self.update_statistics(q);
        self.activate(q);
        self.queues[q].users.version += 1;
        for a in self.queues[q].active.clone() {
            self.limit_for(q, a, "", true, None);
        }
    }

    /// The user's limit for an application; from now on its headroom is computed in this leaf.
    pub(crate) fn limit_for(
        &mut self,
        q: QueueIdx,
        app: u64,
        p: &str,
        respect: bool,
        cached: Option<Res>,
    ) -> Res {
        let name = self.apps[&app].user.clone();
        let Some(u) = self.queues[q].users.find(&name) else {
            return self.zero.clone();
        };
        let limit = cached.unwrap_or_else(|| self.user_limit(q, &name, p, respect));
        self.queues[q].queue_limit = self.queues[q].current_limit.clone();
        self.apps.get_mut(&app).unwrap().headroom_of = Some((q, u));
        limit
    }

    fn am_percent(&self, q: QueueIdx, p: &str) -> f32 {
        self.queues[q].caps.get(p).map_or(0.0, |c| c.am_percent)
    }

    fn compute_am_limit(&mut self, q: QueueIdx, p: &str) {
        let guaranteed = self.eff_min(q, p);
        let current = if p.is_empty() {
            self.queues[q].queue_limit.clone()
        } else {
            self.zero.clone()
        };
        let usable = if self.rc.fits_in(&guaranteed, &current) {
            current
        } else {
            guaranteed
        };
        let limit = self
            .rc
            .times_up(&usable, self.am_percent(q, p), &self.minimum);
        self.queues[q].am_limit.insert(p.to_owned(), limit);
    }

    /// The limit as it was computed last, and 0 from now on where it never was.
    fn known_am_limit(&mut self, q: QueueIdx, p: &str) -> Res {
        let none = self.zero.clone();
        let known = &mut self.queues[q].am_limit;
        known.entry(p.to_owned()).or_insert(none).clone()
    }

    fn compute_user_am_limit(&mut self, q: QueueIdx, p: &str, user: &str) -> Res {
        let users = &self.queues[q].users;
        let equal = 1.0 / users.num_active().max(1) as f32;
        let percent = users.limit_percent / 100.0;
        let share = if equal > percent { equal } else { percent };
        let weight = users.find(user).map_or(1.0, |u| users.people[u].weight);
        let (am, factor) = (self.am_percent(q, p), users.limit_factor);
        let top = &self.queues[q].am_limit[p];
        let bound = |share: f32| {
            let by = if factor == -1.0 {
                am
            } else {
                am * share * factor
            };
            let limit = self.rc.times_up(&self.eff_min(q, p), by, &self.minimum);
            self.rc.min(&self.cluster, &limit, top)
        };
        let (plain, weighted) = (bound(share), bound((share * weight).min(1.0)));
        self.queues[q].user_am_limit.insert(p.to_owned(), plain);
        weighted
    }

    /// Partitions whose AM limit is kept up to date.
    fn am_partitions(&self, q: QueueIdx) -> BTreeSet<String> {
        let queue = self.q(q);
        let mut out: BTreeSet<String> = if queue.accessible.contains("*") {
            self.known_partitions(q).into_iter().collect()
        } else {
            queue.accessible.clone()
        };
        out.insert(String::new());
        out
    }

    /// By priority, then age: the order in which waiting applications are considered.
    fn by_priority(&self, apps: &[u64]) -> Vec<u64> {
        let mut out = apps.to_vec();
        out.sort_by_key(|a| (-self.apps[a].priority, *a));
        out
    }

    /// Activates the waiting applications that the AM limits allow.
    pub(crate) fn activate(&mut self, q: QueueIdx) {
        for p in self.am_partitions(q) {
            self.compute_am_limit(q, &p);
        }
        let mut per_user: BTreeMap<String, Res> = BTreeMap::new();
        for a in self.by_priority(&self.queues[q].waiting) {
            let (p, am) = (
                self.apps[&a].am_partition.clone(),
                self.apps[&a].am_res.clone(),
            );
            let name = self.apps[&a].user.clone();
            let top = self.known_am_limit(q, &p);
            let am_used = of(&self.queues[q].am_used, &p, &self.zero);
            let free_pass = self.queues[q].active.is_empty()
                || !self.rc.more(&self.cluster, &am_used, &self.zero);
            if !self.rc.fits_in(&add(&am, &am_used), &top) && !free_pass {
                self.explain(q, a);
                continue;
            }
            let u = self.user(q, &name);
            if !per_user.contains_key(&p) {
                let limit = self.compute_user_am_limit(q, &p, &name);
                per_user.insert(p.clone(), limit);
            }
            let user_used = of(&self.queues[q].users.people[u].am_used, &p, &self.zero);
            if !self.rc.fits_in(&add(&am, &user_used), &per_user[&p]) && !free_pass {
                self.explain(q, a);
                continue;
            }
            let queue = &mut self.queues[q];
            queue.users.people[u].pending -= 1;
            queue.users.people[u].active += 1;
            queue.waiting.retain(|x| *x != a);
            if !queue.active.contains(&a) {
                queue.active.push(a);
            }
            queue.am_used.insert(p.clone(), add(&am, &am_used));
            queue.users.people[u]
                .am_used
                .insert(p, add(&am, &user_used));
        }
    }

    /// The diagnostics of an application that waits for its AM recompute the user AM limit.
    pub(crate) fn explain(&mut self, q: QueueIdx, a: u64) {
        let app = &self.apps[&a];
        if app.unmanaged || app.master.is_some() {
            return;
        }
        let (p, user) = (app.am_partition.clone(), app.user.clone());
        let q = app.moving_from.unwrap_or(q);
        self.known_am_limit(q, &p);
        self.compute_user_am_limit(q, &p, &user);
    }

    /// Flags an application for re-sorting.
    pub(crate) fn flag(&mut self, q: QueueIdx, a: u64, demand: bool) {
        let queue = &mut self.queues[q];
        if queue.policy == "fair" && (!demand || queue.size_weight) {
            queue.dirty.insert(a);
        }
    }

    fn refresh_cached(&mut self, a: u64) {
        let app = self.apps.get_mut(&a).unwrap();
        app.cached_used = app.used.values().map(|r| r[0]).sum();
        app.cached_demand = app.cached_used + app.pending.values().map(|r| r[0]).sum::<i64>();
    }

    /// Active applications that are served on a partition, in order. Under `fifo-with-partitions` each partition
    /// that is named has a list of its own, by the label of the submission.
    pub(crate) fn served_apps(&mut self, q: QueueIdx, p: &str) -> Vec<u64> {
        let apps = self.sorted_apps(q);
        let queue = &self.queues[q];
        if queue.policy != "fifo-with-partitions" {
            return apps;
        }
        let key = "ordering-policy.exclusive-enforced-partitions";
        let own = self.conf.text(&queue.path, key).unwrap_or("");
        let own: BTreeSet<&str> = own.split(',').map(str::trim).collect();
        let list_of =
            |label: &str| (!label.is_empty() && own.contains(label)).then(|| label.to_owned());
        let here = list_of(p);
        let label = |app: &u64| self.apps[app].label.clone().unwrap_or_default();
        apps.into_iter()
            .filter(|app| list_of(&label(app)) == here)
            .collect()
    }

    /// Active applications in the order in which they are served.
    pub(crate) fn sorted_apps(&mut self, q: QueueIdx) -> Vec<u64> {
        if self.queues[q].policy != "fair" {
            return self.by_priority(&self.queues[q].active);
        }
        for a in std::mem::take(&mut self.queues[q].dirty) {
            self.refresh_cached(a);
            // A waiting application that was flagged slips in.
            if !self.queues[q].active.contains(&a) {
                self.queues[q].active.push(a);
            }
        }
        let mut out = self.queues[q].active.clone();
        let weighted = self.queues[q].size_weight;
        out.sort_by(|x, y| self.compare_fair(*x, *y, weighted));
        out
    }

    fn compare_fair(&self, x: u64, y: u64, weighted: bool) -> Ordering {
        let magnitude = |a: u64| {
            let app = &self.apps[&a];
            let used = app.cached_used as f64;
            let weight = (app.cached_demand as f64).ln_1p() / 2.0f64.ln();
            if weighted && used != 0.0 && weight != 0.0 {
                used / weight
            } else {
                used
            }
        };
        let by_use = magnitude(x).total_cmp(&magnitude(y));
        by_use
            .then(self.apps[&x].start.cmp(&self.apps[&y].start))
            .then(x.cmp(&y))
    }
}
