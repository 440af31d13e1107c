//! The answer to a `state` step.

use super::resources::Res;
use super::state::{ByLabel, NodeIdx, QueueIdx, QueueState, Scheduler};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A Java float as JSON: the fewest digits that read back, or a string.
fn float(x: f32) -> Value {
    if x.is_nan() {
        return json!("NaN");
    }
    if x.is_infinite() {
        return json!(if x > 0.0 { "Infinity" } else { "-Infinity" });
    }
    json!(x.to_string().parse::<f64>().unwrap())
}

impl Scheduler {
    pub(crate) fn dump(&self) -> Value {
        let mut out = json!({ "cluster": self.cluster });
        if !self.labels.is_empty() {
            let totals = self
                .partitions()
                .into_iter()
                .map(|p| (p.to_owned(), self.total(p)));
            out["partitions"] = json!(totals.collect::<ByLabel>());
        }
        let queues = self.tree(self.root).into_iter().map(|q| self.dump_queue(q));
        out["queues"] = queues.collect();
        out["nodes"] = self.node_of.values().map(|n| self.dump_node(*n)).collect();
        let apps = self.apps.keys().filter(|a| !self.apps[*a].done);
        out["apps"] = apps.map(|a| self.dump_app(*a)).collect();
        out
    }

    fn partitions(&self) -> Vec<&str> {
        std::iter::once("")
            .chain(self.labels.keys().map(String::as_str))
            .collect()
    }

    /// What is not zero, by partition.
    fn amounts(&self, map: &ByLabel) -> Value {
        let mut out = map.clone();
        out.retain(|p, r| *r != self.zero && self.partitions().contains(&p.as_str()));
        json!(out)
    }

    fn dump_queue(&self, q: QueueIdx) -> Value {
        let queue = self.q(q);
        let mut o = json!({
            "path": queue.path, "type": if queue.is_leaf { "leaf" } else { "parent" },
        });
        if self.is_flexible(q) {
            o["dynamic"] = json!(true);
        }
        match queue.state {
            QueueState::Running => {}
            QueueState::Stopped => o["state"] = json!("STOPPED"),
            QueueState::Draining => o["state"] = json!("DRAINING"),
        }
        if queue.priority != 0 {
            o["priority"] = json!(queue.priority);
        }
        if queue.is_leaf {
            o["active_apps"] = json!(queue.active.len());
            o["pending_apps"] = json!(queue.waiting.len());
            if !queue.parked.is_empty() {
                o["non_runnable_apps"] = json!(queue.parked.len());
            }
            o["max_apps"] = json!(queue.max_apps);
            o["max_apps_per_user"] = json!(queue.max_apps_user);
            o["max_alloc"] = json!(queue.max_alloc);
            o["num_active_users"] = json!(queue.users.num_active());
            o["users"] = self.dump_users(q);
        } else {
            o["num_apps"] = json!(queue.num_apps);
        }
        o["labels"] = self.dump_labels(q);
        o
    }

    fn dump_users(&self, q: QueueIdx) -> Value {
        let users = &self.queues[q].users;
        let mut out = Map::new();
        for u in users.present.iter().map(|u| &users.people[*u]) {
            let mut x = json!({
                "used": self.amounts(&u.used), "am_used": self.amounts(&u.am_used),
                "weight": float(u.weight), "active_apps": u.active, "pending_apps": u.pending,
            });
            if u.last_limit != self.zero {
                x["last_limit"] = json!(u.last_limit);
            }
            out.insert(u.name.clone(), x);
        }
        Value::Object(out)
    }

    fn dump_labels(&self, q: QueueIdx) -> Value {
        let queue = self.q(q);
        let mut known = self.partitions();
        let some = |map: &ByLabel, p: &str| map.get(p).is_some_and(|r| *r != self.zero);
        known.retain(|p| {
            queue.caps.contains_key(*p) || some(&queue.used, p) || some(&queue.pending, p)
        });
        let mut out = Map::new();
        for p in known {
            let c = queue.caps.get(p).cloned().unwrap_or_default();
            let mut x = json!({
                "cap": float(c.cap), "abs_cap": float(c.abs),
                "max_cap": float(c.max), "abs_max_cap": float(c.abs_max),
                "used_cap": float(c.used), "abs_used_cap": float(c.abs_used),
                "eff_min": self.eff_min(q, p), "eff_max": self.eff_max(q, p),
            });
            if c.weight != -1.0 || c.norm_weight != 0.0 {
                x["weight"] = float(c.weight);
                x["norm_weight"] = float(c.norm_weight);
            }
            let mut named: Vec<(&str, Option<&Res>)> = vec![
                ("used", queue.used.get(p)),
                ("reserved", queue.reserved.get(p)),
                ("pending", queue.pending.get(p)),
            ];
            if queue.is_leaf {
                named.push(("am_used", queue.am_used.get(p)));
                named.push(("am_limit", queue.am_limit.get(p)));
                named.push(("user_am_limit", queue.user_am_limit.get(p)));
            }
            for (name, r) in named {
                if let Some(r) = r.filter(|r| **r != self.zero) {
                    x[name] = json!(r);
                }
            }
            out.insert(p.to_owned(), x);
        }
        Value::Object(out)
    }

    fn dump_node(&self, n: NodeIdx) -> Value {
        let node = &self.nodes[n];
        let mut o = json!({
            "node": node.name, "total": node.total, "allocated": node.allocated,
            "available": node.free, "containers": node.running.len(),
        });
        if !node.partition.is_empty() {
            o["partition"] = json!(node.partition);
        }
        if let Some(c) = node.reserved {
            o["reserved"] = json!(self.reference(c));
        }
        o
    }

    fn dump_app(&self, a: u64) -> Value {
        let app = &self.apps[&a];
        let live: BTreeSet<u64> = app.live.keys().copied().collect();
        let mut o = json!({
            "app": a, "state": app.seen, "queue": self.queues[app.leaf].path,
            "priority": app.priority, "pending": self.amounts(&app.pending),
            "used": self.amounts(&app.used), "live": live,
        });
        let reserved = self.amounts(&app.reserved_res);
        if reserved.as_object().is_some_and(|r| !r.is_empty()) {
            o["reserved"] = reserved;
        }
        let kept: Vec<Value> = self
            .reservations(a)
            .into_iter()
            .map(|c| {
                json!([
                    self.containers[c].id,
                    self.nodes[self.containers[c].node].name
                ])
            })
            .collect();
        if !kept.is_empty() {
            o["reserved_containers"] = json!(kept);
        }
        o
    }
}
