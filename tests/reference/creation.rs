//! Queues that submissions make: the leaf that one names, with the parents that are missing.

use super::config::{P, Refusal};
use super::state::{Limits, QueueIdx, Scheduler};
use serde_json::Value;
use std::collections::BTreeMap;

impl Scheduler {
    pub(crate) fn path_above(&self, q: QueueIdx) -> &str {
        self.queues[q].parent.map_or("", |up| &self.queues[up].path)
    }

    /// The queue that a submission names; placement rules may have put it below another parent.
    pub(crate) fn name_of(step: &Value) -> String {
        let name = step["queue"].as_str().unwrap();
        let last = name.rsplit('.').next().unwrap();
        let placed = step["placement_parent"].as_str();
        placed.map_or(name.to_owned(), |parent| format!("{parent}.{last}"))
    }

    /// Makes the leaf of a submission.
    pub(crate) fn create_path(&mut self, path: &str) -> Option<QueueIdx> {
        let mut missing = Vec::new();
        let mut rest = path;
        let mut parent = loop {
            let (above, name) = rest.rsplit_once('.')?;
            if name.trim().is_empty() {
                return None;
            }
            missing.insert(0, name);
            rest = above;
            if let Some(q) = self.find_queue(above) {
                break q;
            }
        };
        // The name of a queue that was made does not lead to one that was configured.
        if self.queues[parent].dynamic && self.queues[parent].path != rest {
            return None;
        }
        if !self.may_create(parent, missing.len() as i64) {
            return None;
        }
        for (i, name) in missing.iter().enumerate() {
            let is_leaf = i + 1 == missing.len();
            let path = format!("{}.{name}", self.queues[parent].path);
            parent = match self.find_queue(&path) {
                Some(q) if is_leaf || self.queues[q].dynamic && !self.queues[q].is_leaf => q,
                Some(_) => return None,
                None => self.create_child(parent, name, is_leaf)?,
            };
        }
        Some(parent)
    }

    /// Whether that many levels may be made below a queue that exists.
    fn may_create(&self, q: QueueIdx, levels: i64) -> bool {
        let queue = self.q(q);
        let key = if queue.managed {
            "auto-create-child-queue.max-queues"
        } else {
            "auto-queue-creation-v2.max-queues"
        };
        let most = self.conf.text_int(&queue.path, key).unwrap_or(1000);
        if queue.is_leaf || queue.children.len() as i64 >= most {
            return false;
        }
        if queue.managed {
            return levels == 1 && !self.is_given_away(q);
        }
        let flag = "auto-queue-creation-v2.enabled";
        let enabled = queue.dynamic || self.conf.text_flag(&queue.path, flag);
        enabled && levels <= self.levels_left(q) && self.takes_weights(q)
    }

    fn depth(&self, path: &str) -> i64 {
        let key = "auto-queue-creation-v2.maximum-queue-depth";
        let own = self.conf.text_int(path, key);
        own.unwrap_or_else(|| self.conf.int(key, 2))
    }

    /// Levels count from the nearest queue that the configuration has.
    fn levels_left(&self, q: QueueIdx) -> i64 {
        let mut used = 0;
        let mut fixed = q;
        while self.queues[fixed].dynamic {
            used += 1;
            fixed = self.queues[fixed].parent.unwrap();
        }
        self.depth(&self.queues[fixed].path) - used
    }

    /// Legacy mode wants children that go by weights.
    fn takes_weights(&self, q: QueueIdx) -> bool {
        let children = &self.queues[q].children;
        let weighs = |c: &QueueIdx| {
            let queue = self.q(*c);
            queue.labels.iter().any(|p| queue.caps[p].weight >= 0.0)
        };
        !self.settings.legacy || children.is_empty() || children.iter().any(weighs)
    }

    /// Every queue on the way down updates its parent, with the whole cluster as the limit.
    fn create_child(&mut self, parent: QueueIdx, name: &str, is_leaf: bool) -> Option<QueueIdx> {
        let path = format!("{}.{name}", self.queues[parent].path);
        self.take_templates(parent, &path, is_leaf);
        let q = self.new_queue(&path, Some(parent), is_leaf);
        self.queues[q].dynamic = true;
        self.configure(q).ok()?;
        self.check_created(q).ok()?;
        self.update_absolute(q);
        self.first_state(q).ok()?;
        self.queues[parent].children.push(q);
        if self.queues[parent].managed {
            self.guarantee_new(parent, q).ok()?;
        }
        // Outside legacy mode the update begins one level higher.
        let above = self.queues[parent].parent.filter(|_| !self.settings.legacy);
        let from = above.unwrap_or(parent);
        self.update_queue(from, Limits::new(self.cluster.clone()));
        Some(q)
    }

    /// Sets up a created queue anew at a refresh.
    pub(crate) fn remake(&mut self, q: QueueIdx) -> Result<(), Refusal> {
        let queue = self.q(q);
        let (parent, path, is_leaf) = (queue.parent, queue.path.clone(), queue.is_leaf);
        self.take_templates(parent.unwrap(), &path, is_leaf);
        self.reconfigure(q)?;
        self.check_created(q)
    }

    /// The amounts of a created queue against those of its parent.
    fn check_created(&self, q: QueueIdx) -> Result<(), Refusal> {
        let parent = self.queues[q].parent.unwrap();
        let highs = &self.queues[parent].max_conf;
        self.check_amounts(q, &highs.clone())
    }

    /// Copies the settings of a parent's templates to a new child. Those of a managed parent come
    /// before the child's own, others after; among these the more explicit path wins.
    fn take_templates(&mut self, parent: QueueIdx, path: &str, is_leaf: bool) {
        let up = self.queues[parent].path.clone();
        let managed = self.queues[parent].managed;
        let mut heads = vec![format!("{P}{up}.leaf-queue-template.")];
        if !managed {
            let own = if is_leaf {
                "leaf-template"
            } else {
                "parent-template"
            };
            heads.clear();
            for kind in [own, "template"] {
                for from in self.template_paths(&up) {
                    heads.push(format!("{P}{from}.auto-queue-creation-v2.{kind}."));
                }
            }
        }
        for head in heads {
            let mut known = self.conf.queues.clone();
            known.extend(self.conf.created.clone());
            for (k, v) in known {
                let Some(key) = k.strip_prefix(&head) else {
                    continue;
                };
                let key = format!("{P}{path}.{key}");
                let taken = |map: &BTreeMap<String, String>| map.contains_key(&key);
                if managed || !taken(&self.conf.queues) && !taken(&self.conf.created) {
                    self.conf.created.insert(key, v);
                }
            }
        }
    }

    /// The path of a parent, then those whose last parts are `*`.
    fn template_paths(&self, parent: &str) -> Vec<String> {
        let mut parts: Vec<&str> = parent.split('.').collect();
        let mut out = vec![parent.to_owned()];
        let depth = self.depth(parent).max(0) as usize;
        for at in (1..parts.len()).rev().take(depth) {
            parts[at] = "*";
            out.push(parts.join("."));
        }
        out
    }
}
