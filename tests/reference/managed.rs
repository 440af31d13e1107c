//! Managed parents: the leaves that they make have the guarantee of one template, or none.

use super::config::{Capacity, Refusal, Unit, Vector};
use super::resources::{hash_order, string_hash, times};
use super::state::{Mode, Queue, QueueIdx, Scheduler, Template};
use std::collections::BTreeMap;

/// How far guarantees may exceed what their parent has.
const SLACK: f32 = 0.001;

impl Scheduler {
    fn template_path(&self, q: QueueIdx) -> String {
        format!("{}.leaf-queue-template", self.queues[q].path)
    }

    fn fails_on_exceeding(&self, q: QueueIdx) -> bool {
        let key = "auto-create-child-queue.fail-on-exceeding-parent-capacity";
        self.conf.text_flag(&self.queues[q].path, key)
    }

    /// Amounts in the template ask for a parent of amounts, and its labels are those of the parent.
    pub(crate) fn check_template(&self, q: QueueIdx) -> Result<(), Refusal> {
        let queue = self.q(q);
        let path = self.template_path(q);
        for p in self.conf.configured_labels(&path) {
            if self.has_amounts(&path, &p)? && queue.mode != Mode::Absolute {
                return Err("other");
            }
            let all = queue.accessible.contains("*");
            let usable = if all {
                &queue.labels
            } else {
                &queue.accessible
            };
            if !p.is_empty() && !usable.contains(&p) {
                return Err("other");
            }
        }
        Ok(())
    }

    fn has_amounts(&self, path: &str, p: &str) -> Result<bool, Refusal> {
        let low = self.conf.capacity(path, p)?;
        Ok(matches!(low, Capacity::Absolute(amount) if amount != self.zero))
    }

    /// Reads the template while the parent still is as it was.
    pub(crate) fn read_template(&mut self, q: QueueIdx) -> Result<(), Refusal> {
        let path = self.template_path(q);
        let mut template = BTreeMap::new();
        for p in self.conf.configured_labels(&path) {
            let mut part = Template::default();
            if let Capacity::Percent(v) = self.conf.capacity(&path, &p)? {
                part.cap = v / 100.0;
            }
            part.max = match self.conf.maximum_capacity(&path, &p)? {
                Capacity::Percent(v) => v / 100.0,
                _ => 1.0,
            };
            template.insert(p, part);
        }
        self.queues[q].template = template;
        self.derive_template(q)
    }

    /// Below an absolute capacity the template is a part of it, by amounts.
    fn derive_template(&mut self, q: QueueIdx) -> Result<(), Refusal> {
        if self.queues[q].mode != Mode::Absolute {
            return Ok(());
        }
        let path = self.template_path(q);
        for p in self.conf.configured_labels(&path) {
            let amount = |capacity| match capacity {
                Capacity::Absolute(amount) => amount,
                _ => self.zero.clone(),
            };
            let low = amount(self.conf.capacity(&path, &p)?);
            let mut high = amount(self.conf.maximum_capacity(&path, &p)?);
            let of = |map: &BTreeMap<String, _>| map.get(&p).unwrap_or(&self.zero).clone();
            let queue = self.q(q);
            let (least, most) = (of(&queue.min_conf), of(&queue.max_conf));
            if high == self.zero {
                high.clone_from(&most);
            }
            high = self.rc.min(&self.cluster, &high, &most);
            let above = queue.caps.get(&p).map_or(0.0, |c| c.abs);
            let cap = self.rc.divide(&self.cluster, &low, &least);
            let max = self.rc.divide(&self.cluster, &high, &most);
            let part = self.queues[q].template.get_mut(&p).unwrap();
            (part.cap, part.max, part.abs) = (cap, max, cap * above);
        }
        Ok(())
    }

    fn update_template(&mut self, q: QueueIdx) {
        let legacy = self.settings.legacy;
        let queue = &mut self.queues[q];
        for (p, part) in &mut queue.template {
            if part.cap > 0.0 || !legacy {
                part.abs = part.cap * queue.caps.get(p).map_or(0.0, |c| c.abs);
            }
        }
    }

    /// Whether one more guarantee would be too much, where that is forbidden.
    pub(crate) fn is_given_away(&self, q: QueueIdx) -> bool {
        let abs = |q: &QueueIdx| self.queues[*q].caps[""].abs;
        let given = self.queues[q].children.iter().map(abs);
        let given = given.fold(0.0f32, |sum, abs| sum + abs);
        let wanted = self.queues[q].template.get("").map_or(0.0, |t| t.abs);
        self.fails_on_exceeding(q) && wanted + given > abs(&q)
    }

    /// A new leaf has the guarantee where the sum of what was given allows it.
    pub(crate) fn guarantee_new(&mut self, q: QueueIdx, leaf: QueueIdx) -> Result<(), Refusal> {
        self.update_template(q);
        self.take_back(q, leaf);
        self.derive_template(q)?;
        self.take_vectors(q, leaf);
        for (p, part) in self.queues[q].template.clone() {
            let above = self.queues[q].caps.get(&p).map_or(0.0, |c| c.abs);
            if above - part.given + SLACK >= part.abs {
                self.give(q, leaf, &p);
            } else {
                let zero = self.zero.clone();
                self.queues[leaf].min_conf.insert(p.clone(), zero);
                let c = self.cap_mut(leaf, &p);
                (c.abs, c.max, c.abs_max) = (0.0, part.max, 0.0);
            }
        }
        Ok(())
    }

    /// Takes all guarantees back and gives them again: who submitted first comes first.
    pub(crate) fn merge_managed(&mut self, q: QueueIdx) -> Result<(), Refusal> {
        let cap = |q: &QueueIdx| self.queues[*q].caps[""].cap;
        let given = self.queues[q].children.iter().map(cap);
        if self.fails_on_exceeding(q) && cap(&q) < given.fold(0.0f32, |sum, cap| sum + cap) {
            return Err("other");
        }
        let path = self.template_path(q);
        for p in self.conf.configured_labels(&path) {
            if self.has_amounts(&path, &p)? && self.queues[q].mode != Mode::Absolute {
                return Err("other");
            }
        }
        self.read_template(q)?;
        self.reconfigure(q)?;
        let leaves = self.queues[q].children.clone();
        for leaf in &leaves {
            if self.queues[*leaf].dynamic {
                self.remake(*leaf)?;
                self.take_back(q, *leaf);
            } else {
                self.merge(*leaf, Some(*leaf))?;
            }
        }
        self.update_template(q);
        if leaves.iter().any(|leaf| !self.queues[*leaf].dynamic) {
            return Err("other");
        }
        let mut apps: Vec<u64> = Vec::new();
        for leaf in &leaves {
            apps.extend(&self.queues[*leaf].active);
            apps.extend(&self.queues[*leaf].waiting);
        }
        apps.sort_by_key(|a| self.apps[a].start);
        let mut first: Vec<QueueIdx> = Vec::new();
        for leaf in apps.iter().map(|a| self.apps[a].leaf) {
            if leaves.contains(&leaf) && !first.contains(&leaf) {
                first.push(leaf);
            }
        }
        for (p, part) in self.queues[q].template.clone() {
            let above = self.queues[q].caps.get(&p).map_or(0.0, |c| c.abs);
            let mut count = 0;
            if part.abs > 0.0 {
                count = ((above + SLACK) / part.abs).floor() as usize;
            }
            for leaf in first.iter().take(count) {
                self.take_vectors(q, *leaf);
                self.give(q, *leaf, &p);
            }
        }
        self.check_created_modes(&leaves)
    }

    /// Weights and percentages of created leaves exclude each other; a percentage counts where a leaf has it.
    fn check_created_modes(&self, leaves: &[QueueIdx]) -> Result<(), Refusal> {
        let queues = || leaves.iter().map(|leaf| &self.queues[*leaf]);
        let weighs = |q: &Queue| q.modes.values().any(|mode| *mode == Mode::Weight);
        let used = |q: &Queue| !q.active.is_empty() || !q.waiting.is_empty();
        let shares = |q: &Queue| {
            let percent = |p: &String| q.modes[p] != Mode::Weight && q.caps[p].cap > 0.0;
            used(q) && q.modes.keys().any(percent)
        };
        if self.settings.legacy && queues().any(weighs) && queues().any(shares) {
            return Err("mixed_capacity_modes");
        }
        Ok(())
    }

    /// Nothing of any partition of the parent; the last one of them sets the maximum on the default
    /// partition.
    fn take_back(&mut self, q: QueueIdx, leaf: QueueIdx) {
        let up = self.queues[q].clone();
        let labels: Vec<String> = up.caps.keys().cloned().collect();
        for p in hash_order(&labels, |p| string_hash(p), 0) {
            let max = up.template.get(&p).map_or(0.0, |t| t.max);
            let c = self.cap_mut(leaf, &p);
            (c.cap, c.abs) = (0.0, up.caps[&p].abs * 0.0);
            let c = self.cap_mut(leaf, "");
            (c.max, c.abs_max) = (max, max * up.caps[""].abs_max);
            let shown = self.cap_mut(leaf, &p).max;
            let types = self.types;
            let all = |v: f32| -> Vector {
                let v = f64::from(v * 100.0);
                (0..types).map(|i| (i, (Unit::Percent, v))).collect()
            };
            let vectors = &mut self.queues[leaf].vectors;
            vectors.entry(String::new()).or_default().1 = all(max);
            vectors.insert(p.clone(), (all(0.0), all(shown)));
            self.update_used(leaf, &p);
        }
    }

    fn take_vectors(&mut self, q: QueueIdx, leaf: QueueIdx) {
        let path = self.template_path(q);
        for p in self.conf.configured_labels(&path) {
            let text = |key: &str| self.conf.capacity_text(&path, &p, key);
            let low = self.entries(Some(text("capacity").unwrap_or("0")), 0.0);
            let high = self.entries(text("maximum-capacity"), 100.0);
            self.queues[leaf].vectors.insert(p, (low, high));
        }
    }

    fn give(&mut self, q: QueueIdx, leaf: QueueIdx, p: &str) {
        let above = self.queues[q].caps.get(p).map_or(0.0, |c| c.abs_max);
        let part = self.queues[q].template.get_mut(p).unwrap();
        part.given += part.abs;
        let part = part.clone();
        let c = self.cap_mut(leaf, p);
        (c.cap, c.abs) = (part.cap, part.abs);
        (c.max, c.abs_max) = (part.max, part.max * above);
    }

    /// What the used ratio of a leaf without a guarantee is a ratio of; none for other queues.
    pub(crate) fn template_guarantee(&self, q: QueueIdx, p: &str) -> Option<super::resources::Res> {
        let abs = self.queues[q].caps.get(p).map_or(0.0, |c| c.abs);
        if !self.is_below_managed(q) || abs.to_bits() != 0 {
            return None;
        }
        let template = &self.queues[self.queues[q].parent.unwrap()].template;
        Some(times(
            &self.total(p),
            template.get(p).map_or(0.0, |t| t.abs),
        ))
    }
}
