//! Building, checking and refreshing the queue tree.

use super::config::{Config, Refusal};
use super::resources::{Res, fits, hash_order, string_hash};
use super::state::{ByLabel, Mode, Queue, QueueIdx, QueueState, Scheduler, Settings};
use std::collections::{BTreeMap, BTreeSet};

fn nearly(a: f32, b: f64) -> bool {
    (f64::from(a) - b).abs() <= 0.0005
}

impl Scheduler {
    /// A queue by path, or by its last name.
    pub(crate) fn find_queue(&self, path: &str) -> Option<QueueIdx> {
        let short = !path.contains('.');
        let named = |q: &QueueIdx| {
            let queue = self.q(*q);
            queue.path == path || (short && queue.name == path)
        };
        self.tree(self.root).into_iter().find(named)
    }

    pub(crate) fn read_settings(&mut self) {
        let conf = &self.conf;
        self.settings = Settings {
            legacy: conf.flag("legacy-queue-mode.enabled", true),
            continue_looking: conf.flag("reservations-continue-look-all-nodes", true),
            skip_reserved_nodes: conf
                .flag("skip-allocate-on-nodes-with-reserved-containers", false),
            // Read once, at the start.
            asynchronous: self.settings.asynchronous,
            multi_node: conf.flag("multi-node-placement-enabled", false),
            max_offswitch: conf
                .int("per-node-heartbeat.maximum-offswitch-assignments", 1)
                .max(1),
            multiple: conf.flag("per-node-heartbeat.multiple-assignments-enabled", true),
            max_assign: conf.int("per-node-heartbeat.maximum-container-assignments", 100),
            max_priority: conf.site_int("yarn.cluster.max-application-priority", 0),
            am_non_exclusive: conf
                .get("yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation")
                == Some("true"),
        };
    }

    pub(crate) fn new_queue(
        &mut self,
        path: &str,
        parent: Option<QueueIdx>,
        is_leaf: bool,
    ) -> QueueIdx {
        self.queues.push(Queue {
            path: path.to_owned(),
            name: path.rsplit('.').next().unwrap().to_owned(),
            parent,
            is_leaf,
            queue_limit: self.zero.clone(),
            current_limit: self.zero.clone(),
            limit_version: u64::MAX,
            ..Queue::default()
        });
        self.queues.len() - 1
    }

    pub(crate) fn build(
        &mut self,
        path: &str,
        parent: Option<QueueIdx>,
    ) -> Result<QueueIdx, Refusal> {
        let names = self.conf.children(path);
        let managed = self.conf.text_flag(path, "auto-create-child-queue.enabled");
        let on_demand = managed || self.conf.text_flag(path, "auto-queue-creation-v2.enabled");
        let is_leaf = names.is_empty() && !on_demand && path != "root";
        let q = self.new_queue(path, parent, is_leaf);
        self.queues[q].managed = managed;
        self.configure(q)?;
        self.update_absolute(q);
        if managed {
            self.check_template(q)?;
            self.read_template(q)?;
        }
        self.first_state(q)?;
        for name in names {
            let c = self.build(&format!("{path}.{name}"), Some(q))?;
            self.queues[q].children.push(c);
        }
        Ok(q)
    }

    pub(crate) fn first_state(&mut self, q: QueueIdx) -> Result<(), Refusal> {
        let above = self.queues[q]
            .parent
            .map_or(QueueState::Running, |up| self.queues[up].state);
        self.queues[q].state = match self.conf.text(&self.queues[q].path, "state") {
            None if above == QueueState::Draining => QueueState::Stopped,
            None => above,
            Some("RUNNING") if above == QueueState::Running => QueueState::Running,
            Some("STOPPED") => QueueState::Stopped,
            Some(_) => return Err("other"),
        };
        Ok(())
    }

    /// Absolute amounts, and the rules of legacy mode for every parent.
    pub(crate) fn check(&self, root: QueueIdx) -> Result<(), Refusal> {
        self.check_amounts(root, &ByLabel::new())?;
        if !self.settings.legacy {
            return Ok(());
        }
        for q in self.tree(root) {
            if !self.queues[q].children.is_empty() {
                self.check_parent(q, &self.queues[q].children)?;
            }
        }
        Ok(())
    }

    /// Amounts are compared by their shares of the cluster, which is empty at the start only: what
    /// was started with may be refused at a refresh. `above` has the parent's maximums.
    pub(crate) fn check_amounts(&self, q: QueueIdx, above: &ByLabel) -> Result<(), Refusal> {
        let queue = self.q(q);
        let exceeds = |a: &Res, b: &Res| *b != self.zero && self.rc.more(&self.cluster, a, b);
        let mut maximums = ByLabel::new();
        for p in &queue.labels {
            let (low, mut high) = (&queue.min_conf[p], &queue.max_conf[p]);
            let top = above.get(p).unwrap_or(&self.zero);
            if exceeds(high, top) {
                return Err("maximum_above_parent");
            }
            if *high == self.zero && *low != self.zero {
                high = top;
            }
            if exceeds(low, high) {
                return Err("minimum_above_maximum");
            }
            maximums.insert(p.clone(), high.clone());
        }
        let mut children = queue.children.iter();
        children.try_for_each(|c| self.check_amounts(*c, &maximums))
    }

    fn check_parent(&self, q: QueueIdx, children: &[QueueIdx]) -> Result<(), Refusal> {
        let queue = self.q(q);
        let mut kinds: BTreeSet<Mode> = BTreeSet::new();
        let mut labels: BTreeSet<&String> = BTreeSet::new();
        for c in children {
            let c = self.q(*c);
            for p in &c.labels {
                labels.insert(p);
                match c.modes[p] {
                    Mode::Weight => {
                        kinds.insert(Mode::Weight);
                    }
                    // An absolute value makes the original forget the percentages before it.
                    Mode::Absolute => {
                        kinds.insert(Mode::Absolute);
                        kinds.remove(&Mode::Percent);
                    }
                    _ if c.caps[p].weight >= 0.0 => {
                        kinds.insert(Mode::Weight);
                    }
                    _ if c.caps[p].cap > 0.0 => {
                        kinds.insert(Mode::Percent);
                    }
                    _ => {}
                }
            }
        }
        if kinds.len() > 1 {
            return Err("mixed_capacity_modes");
        }
        let absolute = kinds.contains(&Mode::Absolute);
        let mine = queue.min_conf.values().any(|min| *min != self.zero);
        let inner = queue.parent.is_some();
        if (absolute && inner && !mine) || (inner && mine && !absolute && !kinds.is_empty()) {
            return Err("other");
        }
        if kinds.iter().any(|k| *k != Mode::Percent) {
            return Ok(());
        }
        let mut labels = labels.into_iter();
        labels.try_for_each(|p| self.check_sum(q, children, p))
    }

    fn check_sum(&self, q: QueueIdx, children: &[QueueIdx], p: &str) -> Result<(), Refusal> {
        let queue = self.q(q);
        let zero_allowed = self.conf.text_flag(&queue.path, "allow-zero-capacity-sum");
        let below = |c: &QueueIdx| self.queues[*c].caps.get(p).map(|c| c.cap);
        let caps: Vec<f32> = children.iter().filter_map(below).collect();
        let total = caps.iter().fold(0.0f32, |t, c| t + c);
        let mine = queue.caps.get(p).map_or(0.0, |c| c.cap);
        let matters = !queue.caps.values().any(|cap| cap.weight >= 0.0) && !zero_allowed;
        let fine = if nearly(total, 1.0) {
            mine > 0.0 || !matters
        } else {
            nearly(total, 0.0) && caps.iter().all(|c| *c <= 0.0) && (mine <= 0.0 || !matters)
        };
        if fine { Ok(()) } else { Err("capacity_sum") }
    }

    /// Takes a changed configuration. A new tree is checked first; what is refused later was
    /// applied as far as it went, unless it has other queues. After a refusal the old configuration
    /// is applied once more, as a refresh of its own.
    pub(crate) fn refresh(
        &mut self,
        changes: BTreeMap<String, String>,
        removed: &[String],
    ) -> Result<(), Refusal> {
        let old = self.conf.queues.clone();
        let mut keys = old.clone();
        keys.retain(|k, _| !removed.contains(k));
        keys.extend(changes);
        let before = self.queues.clone();
        if let Err(e) = self.apply_refresh(keys, Some(before)) {
            // The live cluster may refuse even what was started with: then everything stays.
            self.apply_refresh(old, None).unwrap_or_default();
            return Err(e);
        }
        let mut lists = Vec::new();
        self.gather(self.root, &mut lists);
        self.promote(&lists, None);
        Ok(())
    }

    fn apply_refresh(
        &mut self,
        keys: BTreeMap<String, String>,
        before: Option<Vec<Queue>>,
    ) -> Result<(), Refusal> {
        let old_conf = self.conf.clone();
        self.conf = Config {
            queues: keys,
            created: BTreeMap::new(),
            ..old_conf.clone()
        };
        self.read_settings();
        let new_tree = self.checked_tree();
        let same = new_tree.is_ok_and(|root| self.configured(root) == self.configured(self.root));
        let applied = new_tree.and_then(|root| self.merge(self.root, Some(root)));
        if applied.is_ok() {
            self.update_cluster();
        } else {
            if let Some(before) = before.filter(|_| !same) {
                self.queues = before;
            }
            self.conf = old_conf;
            self.read_settings();
        }
        applied
    }

    /// Paths of the queues that no submission made.
    fn configured(&self, root: QueueIdx) -> BTreeSet<String> {
        let queues = self.tree(root).into_iter().map(|q| self.q(q));
        let configured = queues.filter(|queue| !queue.dynamic);
        configured.map(|queue| queue.path.clone()).collect()
    }

    fn checked_tree(&mut self) -> Result<QueueIdx, Refusal> {
        let new_root = self.build("root", None)?;
        self.check(new_root)?;
        let new: BTreeMap<String, QueueIdx> = self
            .tree(new_root)
            .into_iter()
            .map(|q| (self.queues[q].path.clone(), q))
            .collect();
        for q in self.tree(self.root) {
            let queue = self.q(q);
            if queue.dynamic {
                continue;
            }
            let stopped = queue.state == QueueState::Stopped;
            let Some(n) = new.get(&queue.path).map(|n| self.q(*n)) else {
                if !stopped && self.conf.text(&queue.path, "state") != Some("STOPPED") {
                    return Err("other");
                }
                continue;
            };
            if queue.is_leaf && !n.is_leaf && !stopped {
                return Err("other");
            }
            if !queue.is_leaf && queue.managed != n.managed {
                return Err("other");
            }
        }
        Ok(new_root)
    }

    /// Settings of the new tree enter the old one; children end up in hash order of their paths,
    /// and are checked once more in that order. Queues that submissions made have no new ones.
    pub(crate) fn merge(&mut self, q: QueueIdx, new: Option<QueueIdx>) -> Result<(), Refusal> {
        if self.queues[q].managed {
            return self.merge_managed(q);
        }
        if let Some(new) = new {
            let (queue, new) = (self.q(q), self.q(new));
            if queue.is_leaf && !queue.dynamic && !fits(&queue.max_alloc, &new.max_alloc) {
                return Err("other");
            }
            self.reconfigure(q)?;
        } else {
            self.remake(q)?;
        }
        if self.queues[q].is_leaf {
            return Ok(());
        }
        let of = |s: &Self, q: Option<QueueIdx>| -> Vec<(String, QueueIdx)> {
            let children = q.map_or(Vec::new(), |q| s.queues[q].children.clone());
            let children = children.into_iter();
            children.map(|c| (s.queues[c].path.clone(), c)).collect()
        };
        let (mut order, incoming) = (of(self, Some(q)), of(self, new));
        let hash = |x: &(String, QueueIdx)| string_hash(&x.0);
        let listed = |x: &(String, QueueIdx)| incoming.iter().any(|y| y.0 == x.0);
        for x in hash_order(&order, hash, 0) {
            if self.queues[x.1].dynamic && !listed(&x) {
                self.merge(x.1, None)?;
            }
        }
        for (path, n) in hash_order(&incoming, hash, 0) {
            match order.iter().position(|x| x.0 == path) {
                Some(at) if self.queues[order[at].1].is_leaf == self.queues[n].is_leaf => {
                    self.merge(order[at].1, Some(n))?;
                }
                known => {
                    self.queues[n].parent = Some(q);
                    match known {
                        Some(at) => order[at].1 = n,
                        None => order.push((path, n)),
                    }
                }
            }
        }
        let most = order.len();
        order.retain(|x| self.queues[x.1].dynamic || listed(x));
        let children: Vec<QueueIdx> = hash_order(&order, hash, most).iter().map(|x| x.1).collect();
        if self.settings.legacy && !children.is_empty() {
            self.check_parent(q, &children)?;
        }
        self.queues[q].children = children;
        Ok(())
    }

    pub(crate) fn reconfigure(&mut self, q: QueueIdx) -> Result<(), Refusal> {
        let before = self.queues[q].state;
        for c in self.queues[q].caps.values_mut() {
            (c.cap, c.max, c.abs, c.abs_max, c.weight) = (0.0, 0.0, 0.0, 0.0, -1.0);
        }
        self.configure(q)?;
        match self.conf.text(&self.queues[q].path, "state") {
            Some("STOPPED") if before == QueueState::Running => self.stop(q),
            Some("RUNNING") => self.queues[q].state = QueueState::Running,
            _ => {}
        }
        self.update_absolute(q);
        self.update_statistics(q);
        if self.queues[q].is_leaf {
            let path = &self.queues[q].path;
            let every = Some(self.conf.int("global-queue-max-application", -1));
            let own = self.conf.text_int(path, "maximum-applications");
            let most = own.or(every.filter(|every| *every > 0)).unwrap_or(-1);
            let cluster = self.cluster.clone();
            let queue = &mut self.queues[q];
            queue.max_apps = most;
            (queue.current_limit, queue.queue_limit) = (cluster.clone(), cluster);
            // The ordering policy object is a new one.
            queue.dirty.clear();
            self.refresh_weights(q);
        }
        Ok(())
    }

    fn stop(&mut self, q: QueueIdx) {
        if self.queues[q].state != QueueState::Running {
            return;
        }
        for c in self.queues[q].children.clone() {
            self.stop(c);
        }
        self.queues[q].state = QueueState::Draining;
        self.app_finished(q);
    }

    /// A draining queue stops with its last application.
    pub(crate) fn app_finished(&mut self, q: QueueIdx) {
        let queue = self.q(q);
        if queue.state != QueueState::Draining {
            return;
        }
        let empty = if queue.is_leaf {
            queue.active.is_empty() && queue.waiting.is_empty() && queue.parked.is_empty()
        } else {
            queue
                .children
                .iter()
                .all(|c| self.queues[*c].state == QueueState::Stopped)
        };
        if empty {
            self.queues[q].state = QueueState::Stopped;
        }
    }
}
