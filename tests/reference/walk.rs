//! The walk down the tree: gates, order of children, order of applications.

use super::allocator::{Assignment, Skip};
use super::resources::{Res, add, fits, sub};
use super::state::{CachedLimit, Limits, NodeIdx, QueueIdx, Scheduler};
use std::cmp::Ordering;

/// What the order of children looks at.
struct Rank {
    access: bool,
    abs: f32,
    abs_used: f32,
    used: f32,
    priority: i64,
    configured: Res,
}

/// `Double.compare`.
fn double(a: f32, b: f32) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => a.total_cmp(&b),
        (x, y) => x.cmp(&y),
    }
}

fn compare_ranks(a: &Rank, b: &Rank, p: &str, zero: &Res) -> Ordering {
    if !p.is_empty() && a.access != b.access {
        return b.access.cmp(&a.access);
    }
    if (a.abs > 0.0) != (b.abs > 0.0) {
        return (b.abs > 0.0).cmp(&(a.abs > 0.0));
    }
    let (u, v) = if a.abs > 0.0 {
        (a.used, b.used)
    } else {
        (a.abs_used, b.abs_used)
    };
    let first = if a.priority == b.priority || (u < 1.0) != (v < 1.0) {
        double(u, v)
    } else {
        b.priority.cmp(&a.priority)
    };
    if first != Ordering::Equal {
        return first;
    }
    if a.configured != *zero || b.configured != *zero {
        return b.configured.cmp(&a.configured);
    }
    double(b.abs, a.abs)
}

impl Scheduler {
    fn queue_pending(&self, q: QueueIdx, p: &str, respect: bool) -> bool {
        let look = if respect { p } else { "" };
        let pending = super::capacity::of(&self.queues[q].pending, look, &self.zero);
        self.rc.more(&self.cluster, &pending, &self.zero)
    }

    /// The maximum-capacity gate; sets the headroom.
    fn gate(&self, q: QueueIdx, p: &str, limits: &mut Limits, held: &Res, respect: bool) -> bool {
        let rc = self.rc;
        let top = if respect {
            rc.min(&self.cluster, &self.eff_max(q, p), &limits.limit)
        } else {
            self.total(p)
        };
        let used = self.used(q, p);
        limits.headroom = sub(&top, &used);
        if rc.compare(&self.cluster, &used, &top) == Ordering::Less {
            return true;
        }
        let may_give_back =
            self.settings.continue_looking && rc.more(&self.cluster, held, &self.zero);
        may_give_back && rc.compare(&self.cluster, &sub(&used, held), &top) == Ordering::Less
    }

    /// What a parent leaves to one child.
    pub(crate) fn child_limits(
        &self,
        parent: QueueIdx,
        child: QueueIdx,
        limits: &mut Limits,
        p: &str,
        scheduling: bool,
    ) -> Limits {
        limits.limit = self
            .rc
            .min(&self.cluster, &limits.limit, &self.eff_max(parent, p));
        let top = if scheduling {
            sub(&limits.limit, &limits.blocked)
        } else {
            limits.limit.clone()
        };
        let free = sub(&top, &self.used(parent, p));
        Limits::new(
            self.rc
                .round_down(&add(&free, &self.used(child, p)), &self.minimum),
        )
    }

    fn ordered(&self, parent: QueueIdx, p: &str) -> Vec<QueueIdx> {
        let by_priority = self.queues[parent].policy == "priority-utilization";
        let rank = |c: QueueIdx| {
            let queue = self.q(c);
            let cap = queue.caps.get(p).cloned().unwrap_or_default();
            Rank {
                access: self.can_access(c, p),
                abs: cap.abs,
                abs_used: cap.abs_used,
                used: cap.used,
                priority: if by_priority { queue.priority } else { 0 },
                configured: super::capacity::of(&queue.min_conf, p, &self.zero),
            }
        };
        let mut out = self.queues[parent].children.clone();
        out.sort_by(|a, b| compare_ranks(&rank(*a), &rank(*b), p, &self.zero));
        out
    }

    /// One attempt below a queue.
    pub(crate) fn assign(
        &mut self,
        q: QueueIdx,
        nodes: &[NodeIdx],
        p: &str,
        limits: &mut Limits,
        respect: bool,
    ) -> Assignment {
        if self.queues[q].is_leaf {
            return self.assign_leaf(q, nodes, p, limits, respect);
        }
        let mut out = Assignment::nothing(&self.zero);
        if (respect && !self.can_access(q, p)) || !self.queue_pending(q, p, respect) {
            return out;
        }
        out.level = super::asks::Level::OffSwitch;
        if let [n] = nodes {
            let n = &self.nodes[*n];
            if n.reserved.is_some() || !self.rc.fits_in(&self.minimum, &n.free) {
                return out;
            }
        }
        let mut could = self.zero.clone();
        if let Some(r) = self.queues[q].reserved_now.get("") {
            could[..2].copy_from_slice(&r[..2]);
        }
        if !self.gate(q, p, limits, &could, respect) {
            return out;
        }
        let mut got = Assignment::nothing(&self.zero);
        for c in self.ordered(q, p) {
            let mut below = self.child_limits(q, c, limits, p, true);
            let a = self.assign(c, nodes, p, &mut below, respect);
            if self.rc.more(&self.cluster, &a.res, &self.zero) {
                return Assignment { skipped: None, ..a };
            }
            if a.skipped == Some(Skip::QueueLimit) {
                if got.skipped != Some(Skip::QueueLimit) {
                    got = a;
                }
                let block = if self.queues[c].is_leaf {
                    below.headroom
                } else {
                    below.blocked
                };
                let block = self.rc.max(&self.cluster, &block, &self.zero);
                limits.blocked = add(&limits.blocked, &block);
            }
        }
        out.skipped = got.skipped;
        out.level = got.level;
        out.requested = got.requested;
        out.excess = got.excess;
        out.app = got.app;
        out
    }

    /// The user gate.
    fn may_assign(
        &self,
        q: QueueIdx,
        app: u64,
        p: &str,
        limit: &Res,
        limits: &mut Limits,
        held: &Res,
    ) -> bool {
        let rc = self.rc;
        let users = &self.queues[q].users;
        let Some(u) = users.find(&self.apps[&app].user) else {
            return false;
        };
        let used = |p: &str| super::capacity::of(&users.people[u].used, p, &self.zero);
        limits.unreserve = self.zero.clone();
        if !rc.more(&self.cluster, &used(p), limit) {
            return true;
        }
        let enough = !rc.more(&self.cluster, &sub(&used(""), held), limit);
        if self.settings.continue_looking && enough {
            limits.unreserve = sub(&used(p), limit);
            return true;
        }
        false
    }

    /// One attempt in a leaf.
    pub(crate) fn assign_leaf(
        &mut self,
        q: QueueIdx,
        nodes: &[NodeIdx],
        p: &str,
        limits: &mut Limits,
        respect: bool,
    ) -> Assignment {
        self.set_current_limit(q, limits);
        if let [n] = nodes
            && let Some(c) = self.nodes[*n].reserved
            && self.apps[&self.containers[c].app].leaf == q
        {
            let app = self.containers[c].app;
            return self.assign_app(app, nodes, p, limits, respect, Some(c));
        }
        let none = Assignment::nothing(&self.zero);
        if (respect && !self.can_access(q, p)) || !self.queue_pending(q, p, respect) {
            return none;
        }
        if self.queues[q].limit_version != self.queues[q].users.version {
            self.queues[q].limit_cache.clear();
            self.queues[q].limit_version = self.queues[q].users.version;
        }
        let mut check = true;
        for app in self.served_apps(q, p) {
            let held = super::capacity::of(&self.apps[&app].reserved_res, "", &self.zero);
            if check {
                if !self.gate(q, p, limits, &held, respect) {
                    return none;
                }
                check = self.settings.continue_looking && held != self.zero;
            }
            if !self.user_gate(q, app, p, limits, respect, &held) {
                continue;
            }
            let a = self.assign_app(app, nodes, p, limits, respect, None);
            let proposes = self.rc.more(&self.cluster, &a.res, &self.zero);
            if proposes || a.skipped == Some(Skip::QueueLimit) {
                return a;
            }
            if a.skipped != Some(Skip::Other) {
                return none;
            }
        }
        none
    }

    /// The user gate with its memory of earlier applications of the same user.
    fn user_gate(
        &mut self,
        q: QueueIdx,
        app: u64,
        p: &str,
        limits: &mut Limits,
        respect: bool,
        held: &Res,
    ) -> bool {
        let user = self.apps[&app].user.clone();
        let place = (p.to_owned(), respect);
        let known = self.queues[q]
            .limit_cache
            .get(&place)
            .and_then(|c| c.get(&user))
            .cloned();
        let limit = self.limit_for(q, app, p, respect, known.as_ref().map(|e| e.limit.clone()));
        let held_before = self.zero.clone();
        let mut entry = known.unwrap_or(CachedLimit {
            limit: limit.clone(),
            open: true,
            held: held_before,
        });
        let mut open = false;
        if entry.open || !fits(held, &entry.held) {
            open = self.may_assign(q, app, p, &limit, limits, held);
            if !open && fits(&entry.held, held) {
                entry.open = false;
                entry.held.clone_from(held);
            }
        }
        self.queues[q]
            .limit_cache
            .entry(place)
            .or_default()
            .insert(user, entry);
        open
    }
}
