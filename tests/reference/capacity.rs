//! Capacities of queues: settings, legacy mode's fractions and effective amounts, used ratios.

use super::config::{Capacity, Refusal, Unit, Vector};
use super::resources::{Calculator, Res, add, change, times};
use super::state::{Cap, Limits, Mode, Queue, QueueIdx, Scheduler};
use std::collections::{BTreeMap, BTreeSet};

/// Amount of a partition, nothing when it is left out.
pub(crate) fn of(map: &BTreeMap<String, Res>, p: &str, zero: &Res) -> Res {
    map.get(p).unwrap_or(zero).clone()
}

fn mode_of(capacity: &Capacity) -> Mode {
    match capacity {
        Capacity::Percent(_) => Mode::Percent,
        Capacity::Weight(_) => Mode::Weight,
        Capacity::Absolute(_) => Mode::Absolute,
        Capacity::Mixed(_) => Mode::Mixed,
    }
}

/// The weight shown for a vector whose types all have the same one.
fn common_weight(v: &Vector, types: usize) -> Option<f32> {
    let first = v.get(&0)?;
    let same = v.len() == types && v.values().all(|x| x == first);
    (same && first.0 == Unit::Weight).then_some(first.1 as f32)
}

impl Scheduler {
    pub(crate) fn q(&self, q: QueueIdx) -> &Queue {
        &self.queues[q]
    }

    /// This queue and its ancestors, leaf first.
    pub(crate) fn upward(&self, q: QueueIdx) -> Vec<QueueIdx> {
        std::iter::successors(Some(q), |q| self.queues[*q].parent).collect()
    }

    /// This queue and everything below, in tree order.
    pub(crate) fn tree(&self, q: QueueIdx) -> Vec<QueueIdx> {
        let mut out = vec![q];
        for c in &self.queues[q].children {
            out.extend(self.tree(*c));
        }
        out
    }

    pub(crate) fn total(&self, p: &str) -> Res {
        of(&self.label_total, p, &self.zero)
    }

    pub(crate) fn eff_min(&self, q: QueueIdx, p: &str) -> Res {
        of(&self.queues[q].eff_min, p, &self.zero)
    }

    pub(crate) fn eff_max(&self, q: QueueIdx, p: &str) -> Res {
        of(&self.queues[q].eff_max, p, &self.zero)
    }

    pub(crate) fn eff_max_down(&self, q: QueueIdx, p: &str) -> Res {
        self.rc.round_down(&self.eff_max(q, p), &self.minimum)
    }

    pub(crate) fn used(&self, q: QueueIdx, p: &str) -> Res {
        of(&self.queues[q].used, p, &self.zero)
    }

    pub(crate) fn can_access(&self, q: QueueIdx, p: &str) -> bool {
        let a = &self.queues[q].accessible;
        p.is_empty() || a.contains("*") || a.contains(p)
    }

    /// Whether a submission made this queue by version 2 of automatic creation: such queues have
    /// defaults of their own.
    pub(crate) fn is_flexible(&self, q: QueueIdx) -> bool {
        let queue = self.q(q);
        queue.dynamic && queue.parent.is_some_and(|up| !self.queues[up].managed)
    }

    /// Whether this is a leaf that a managed parent created.
    pub(crate) fn is_below_managed(&self, q: QueueIdx) -> bool {
        let queue = self.q(q);
        queue.dynamic && queue.parent.is_some_and(|up| self.queues[up].managed)
    }

    pub(crate) fn cap_mut(&mut self, q: QueueIdx, p: &str) -> &mut Cap {
        self.queues[q].caps.entry(p.to_owned()).or_default()
    }

    /// Reads the settings of one queue.
    pub(crate) fn configure(&mut self, q: QueueIdx) -> Result<(), Refusal> {
        let path = self.queues[q].path.clone();
        let up = self.queues[q].parent.map(|up| self.queues[up].clone());
        let conf = self.conf.clone();
        let own = conf.accessible(&path);
        let accessible = own.unwrap_or_else(|| up.as_ref().unwrap().accessible.clone());
        let labels = conf.configured_labels(&path);
        let mut default_label = conf
            .text(&path, "default-node-label-expression")
            .map(str::to_owned);
        let mut weights = BTreeMap::new();
        let mut top = conf.maximum();
        let mut policy = "utilization".to_owned();
        if let Some(up) = &up {
            if default_label.is_none() && accessible.is_superset(&up.accessible) {
                default_label.clone_from(&up.default_label);
            }
            weights.clone_from(&up.user_weights);
            top.clone_from(&up.max_alloc);
            policy.clone_from(&up.policy);
        }
        weights.extend(conf.user_weights(&path));
        for (i, v) in conf.max_allocation(&path) {
            top[i] = v;
        }
        let limited = up.as_ref().filter(|up| up.parent.is_some());
        if limited
            .is_some_and(|up| !up.accessible.contains("*") && !accessible.is_subset(&up.accessible))
        {
            return Err("other");
        }
        let queue = &mut self.queues[q];
        queue.accessible = accessible;
        queue.labels = labels.clone();
        queue.default_label = default_label;
        queue.user_weights = weights;
        queue.max_alloc = top;
        queue.priority = conf.text_int(&path, "priority").unwrap_or(0);
        queue.parallel = conf.parallel(&path);
        queue.policy = conf
            .text(&path, "ordering-policy")
            .map_or(policy, str::to_owned);
        queue.modes = BTreeMap::new();
        for p in labels {
            self.configure_partition(q, &p)?;
        }
        let modes: Vec<Mode> = self.queues[q].modes.values().copied().collect();
        // The form of the text counts, even where it guarantees nothing.
        let forms = self.queues[q].labels.iter();
        let forms: BTreeSet<bool> = forms.map(|p| conf.is_absolute(&path, p)).collect();
        if self.settings.legacy && path != "root" && forms.len() > 1 {
            return Err("mixed_capacity_modes");
        }
        let amounts = match self.settings.legacy {
            true => forms.contains(&true),
            false => self.conf.has_amounts_alone(&path)?,
        };
        self.queues[q].mode = if path != "root" && amounts {
            Mode::Absolute
        } else if modes.contains(&Mode::Weight) {
            Mode::Weight
        } else {
            Mode::Percent
        };
        if self.queues[q].is_leaf {
            self.configure_leaf(q)?;
        }
        Ok(())
    }

    fn configure_partition(&mut self, q: QueueIdx, p: &str) -> Result<(), Refusal> {
        let path = self.queues[q].path.clone();
        let mut low = self.conf.capacity(&path, p)?;
        let high = self.conf.maximum_capacity(&path, p)?;
        if self.is_flexible(q) && self.conf.capacity_text(&path, p, "capacity").is_none() {
            low = Capacity::Weight(1.0);
        }
        let (types, zero) = (self.types, self.zero.clone());
        let weight = match &low {
            Capacity::Weight(w) => *w,
            Capacity::Mixed(v) => common_weight(v, types).unwrap_or(-1.0),
            _ => self.conf.weight(&path, p)?,
        };
        let am_percent = self.conf.am_percent(&path, p);
        self.queues[q].modes.insert(p.to_owned(), mode_of(&low));
        let cap = self.cap_mut(q, p);
        cap.cap = if let Capacity::Percent(v) = low {
            v / 100.0
        } else {
            0.0
        };
        cap.weight = weight;
        // A maximum in brackets counts as 100 % until resources are derived from it.
        cap.max = if let Capacity::Percent(v) = high {
            v / 100.0
        } else {
            1.0
        };
        cap.am_percent = am_percent;
        let min = if let Capacity::Absolute(v) = low {
            v
        } else {
            zero.clone()
        };
        let max = if let Capacity::Absolute(v) = high {
            v
        } else {
            zero
        };
        let up = self.queues[q].parent;
        // Below an absolute capacity the parent's maximum counts.
        let max = if max == self.zero && min != self.zero {
            up.map_or(max, |up| of(&self.queues[up].max_conf, p, &self.zero))
        } else {
            max
        };
        self.queues[q].min_conf.insert(p.to_owned(), min);
        self.queues[q].max_conf.insert(p.to_owned(), max);
        Ok(())
    }

    /// Absolute fractions from the parent's.
    pub(crate) fn update_absolute(&mut self, q: QueueIdx) {
        let up = self.queues[q].parent.map(|up| self.queues[up].caps.clone());
        let legacy = self.settings.legacy;
        for (p, c) in &mut self.queues[q].caps {
            let above = up.as_ref().map_or((1.0, 1.0), |up| {
                up.get(p).map_or((0.0, 0.0), |c| (c.abs, c.abs_max))
            });
            let cap = if legacy && c.norm_weight > c.cap {
                c.norm_weight
            } else {
                c.cap
            };
            if cap > 0.0 || !legacy {
                c.abs = cap * above.0;
            }
            if c.max > 0.0 {
                c.abs_max = c.max * above.1;
            }
        }
    }

    /// Effective amounts in legacy mode.
    pub(crate) fn update_effective(&mut self, q: QueueIdx) {
        for p in self.queues[q].labels.clone() {
            let (t, c) = (self.total(&p), self.queues[q].caps[&p].clone());
            let (low, high) = if self.queues[q].mode == Mode::Absolute {
                self.absolute_effective(q, &p)
            } else {
                (times(&t, c.abs), times(&t, c.abs_max))
            };
            self.queues[q].eff_min.insert(p.clone(), low);
            self.queues[q].eff_max.insert(p.clone(), high);
            if self.queues[q].mode == Mode::Absolute {
                self.derive(q, &p);
            }
        }
    }

    fn absolute_effective(&self, q: QueueIdx, p: &str) -> (Res, Res) {
        let queue = self.q(q);
        let up = queue.parent.unwrap();
        let ratio = self.queues[up].min_ratio.get(p);
        let scale = |(i, v): (usize, &i64)| match ratio.and_then(|r| r.get(&i)) {
            Some(r) => (*v as f32 * r) as i64,
            None => *v,
        };
        let low = queue.min_conf[p].iter().enumerate().map(scale).collect();
        let mut high = of(&self.queues[up].max_conf, p, &self.zero);
        if high == self.zero {
            high = self.eff_max(up, p);
        }
        let own = &queue.max_conf[p];
        if *own != self.zero {
            high = self.rc.min(&self.total(p), own, &high);
        }
        (low, high)
    }

    /// Fractions from effective amounts.
    pub(crate) fn derive(&mut self, q: QueueIdx, p: &str) {
        let up = self.queues[q].parent.unwrap();
        let finite = |x: f32| if x == f32::INFINITY { 0.0 } else { x };
        let of = if self.settings.legacy {
            self.cluster.clone()
        } else {
            self.total(p)
        };
        let divide = |a: Res, b: Res| finite(self.rc.divide(&of, &a, &b));
        let low = divide(self.eff_min(q, p), self.eff_min(up, p));
        let high = divide(self.eff_max(q, p), self.eff_max(up, p));
        let above = self.queues[up].caps.get(p).cloned().unwrap_or_default();
        let legacy = self.settings.legacy;
        let c = self.cap_mut(q, p);
        c.cap = low;
        c.max = high;
        c.abs = low * above.abs;
        if legacy || high > 0.0 {
            c.abs_max = high * above.abs_max;
        }
    }

    /// Used ratios of one partition.
    pub(crate) fn update_used(&mut self, q: QueueIdx, p: &str) {
        let (t, used) = (self.total(p), self.used(q, p));
        let (mut ratio, mut absolute) = (0.0, 0.0);
        if self.rc.more(&t, &t, &self.zero) {
            let own = self.template_guarantee(q, p);
            let own = own.unwrap_or_else(|| self.eff_min(q, p));
            let g = self.rc.max(&t, &own, &self.minimum);
            let g = self.rc.max(&t, &g, &self.minimum);
            absolute = self.rc.divide(&t, &used, &t);
            ratio = self.rc.divide(&t, &used, &g);
        }
        let c = self.cap_mut(q, p);
        c.abs_used = absolute;
        c.used = ratio;
    }

    /// Partitions with capacities or usage.
    pub(crate) fn known_partitions(&self, q: QueueIdx) -> Vec<String> {
        let queue = self.q(q);
        let amounts = [&queue.used, &queue.pending, &queue.reserved];
        let of_masters = [&queue.am_used, &queue.am_limit];
        let counted = amounts.into_iter().chain(of_masters);
        let counted = counted.flat_map(BTreeMap::keys);
        let all: std::collections::BTreeSet<&String> = queue.caps.keys().chain(counted).collect();
        all.into_iter().cloned().collect()
    }

    pub(crate) fn update_statistics(&mut self, q: QueueIdx) {
        for p in self.known_partitions(q) {
            self.update_used(q, &p);
        }
    }

    pub(crate) fn add_used(&mut self, q: QueueIdx, p: &str, r: &Res, sign: i64) {
        let sum = change(&self.used(q, p), r, sign);
        self.queues[q].used.insert(p.to_owned(), sum);
        self.update_used(q, p);
    }

    /// Reserved figure of the queue and its ancestors.
    pub(crate) fn add_reserved(&mut self, q: QueueIdx, p: &str, r: &Res, sign: i64) {
        for q in self.upward(q) {
            let sum = change(&of(&self.queues[q].reserved, p, &self.zero), r, sign);
            self.queues[q].reserved.insert(p.to_owned(), sum);
        }
        if p.is_empty() {
            self.add_reserved_now(q, r, sign);
        }
    }

    /// What metrics show as reserved: moves take it along.
    pub(crate) fn add_reserved_now(&mut self, q: QueueIdx, r: &Res, sign: i64) {
        for q in self.upward(q) {
            let sum = change(&of(&self.queues[q].reserved_now, "", &self.zero), r, sign);
            self.queues[q].reserved_now.insert(String::new(), sum);
        }
    }

    /// Pending figure of the queue and its ancestors.
    pub(crate) fn add_queue_pending(&mut self, q: QueueIdx, p: &str, r: &Res, sign: i64) {
        for q in self.upward(q) {
            let sum = change(&of(&self.queues[q].pending, p, &self.zero), r, sign);
            self.queues[q].pending.insert(p.to_owned(), sum);
        }
    }

    /// Everything that follows from the cluster's size.
    pub(crate) fn update_cluster(&mut self) {
        if !self.settings.legacy {
            self.whole_cluster_for_root();
        }
        self.update_queue(self.root, Limits::new(self.cluster.clone()));
    }

    pub(crate) fn update_queue(&mut self, q: QueueIdx, mut limits: Limits) {
        if self.queues[q].is_leaf {
            self.update_leaf(q, &limits);
            return;
        }
        if self.settings.legacy {
            self.update_parent(q);
        } else {
            self.update_statistics(q);
            self.distribute(q);
        }
        for c in self.queues[q].children.clone() {
            if !self.settings.legacy {
                for p in self.queues[c].labels.clone() {
                    self.derive(c, &p);
                    self.update_absolute(c);
                }
            }
            let below = self.child_limits(q, c, &mut limits, "", false);
            self.update_queue(c, below);
        }
        if self.settings.legacy {
            self.update_statistics(q);
        }
    }

    fn update_parent(&mut self, q: QueueIdx) {
        let is_root = self.queues[q].parent.is_none();
        if is_root {
            for c in self.queues[q].caps.values_mut().filter(|c| c.weight > 0.0) {
                c.norm_weight = 1.0;
            }
        }
        self.update_absolute(q);
        let known: Vec<String> = self.queues[q].caps.keys().cloned().collect();
        if self.queues[q]
            .children
            .iter()
            .any(|c| self.queues[*c].caps.values().any(|cap| cap.weight >= 0.0))
        {
            for p in &known {
                self.normalize_weights(q, p);
            }
        }
        if is_root {
            for p in &known {
                let t = self.total(p);
                self.queues[q].eff_min.insert(p.clone(), t.clone());
                self.queues[q].eff_max.insert(p.clone(), t);
            }
        } else {
            self.update_effective(q);
        }
        for p in &known {
            self.update_ratio(q, p);
        }
    }

    fn normalize_weights(&mut self, q: QueueIdx, p: &str) {
        let mut have = self.queues[q].children.clone();
        for c in have.clone() {
            // Dynamic queues weigh 1 wherever their parent has a share, even if they have none.
            if self.is_flexible(c) && !self.queues[c].labels.contains(p) {
                self.cap_mut(c, p).weight = 1.0;
            }
        }
        have.retain(|c| self.queues[*c].caps.contains_key(p));
        let total = have
            .iter()
            .fold(0.0f32, |t, c| t + self.queues[*c].caps[p].weight.max(0.0));
        if f64::from(total).abs() > 1e-6 {
            for c in have {
                let cap = self.cap_mut(c, p);
                cap.norm_weight = cap.weight / total;
            }
        }
    }

    /// How far the children's configured minimums are scaled down.
    fn update_ratio(&mut self, q: QueueIdx, p: &str) {
        let mut total = self.zero.clone();
        for c in &self.queues[q].children {
            total = add(&total, &of(&self.queues[*c].min_conf, p, &self.zero));
        }
        let mine = self.eff_min(q, p);
        let mut ratio = BTreeMap::new();
        let empty_root = self.queues[q].parent.is_none() && mine == self.zero;
        if self.rc.more(&self.cluster, &total, &mine) && !empty_root {
            for i in (0..self.types).filter(|i| total[*i] != 0) {
                ratio.insert(i, mine[i] as f32 / total[i] as f32);
            }
        }
        self.queues[q].min_ratio.insert(p.to_owned(), ratio);
    }

    /// The calculator named by the configuration.
    pub(crate) fn calculator(&self) -> Calculator {
        match self.conf.get("yarn.scheduler.capacity.resource-calculator") {
            Some(name) if name.ends_with("DominantResourceCalculator") => Calculator::Dominant,
            _ => Calculator::Memory,
        }
    }
}
