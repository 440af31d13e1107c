//! Proposals are checked once more and carried out; what was decided is written down.

use super::allocator::Assignment;
use super::asks::Level;
use super::capacity::of;
use super::resources::{Res, add, change, sub};
use super::state::{ANY, ContainerIdx, ContainerState, Event, NodeState, QueueIdx, Scheduler};
use serde_json::{Map, Value, json};

/// A proposal with what it is about.
struct Proposal<'a> {
    a: &'a Assignment,
    c: ContainerIdx,
    node: usize,
    app: u64,
    p: String,
    release: Option<ContainerIdx>,
    again: bool,
}

impl Scheduler {
    /// The start of every decision about one container.
    pub(crate) fn decision(&self, kind: &str, c: ContainerIdx) -> Map<String, Value> {
        let x = &self.containers[c];
        let d = json!({
            "kind": kind, "app": x.app, "container": x.id, "node": self.nodes[x.node].name,
            "res": x.res,
        });
        d.as_object().unwrap().clone()
    }

    pub(crate) fn log(&mut self, kind: &str, c: ContainerIdx, reason: &str) {
        let mut d = self.decision(kind, c);
        d.insert("reason".to_owned(), json!(reason));
        self.decisions.push(d);
    }

    pub(crate) fn commit(&mut self, a: &Assignment) {
        if !self.rc.more(&self.cluster, &a.res, &self.zero) {
            if let Some(c) = a.excess
                && self.containers[c].state != ContainerState::Done
                && self
                    .node_of
                    .contains_key(&self.nodes[self.containers[c].node].name)
            {
                self.give_up(c, "excess", 0);
            }
            return;
        }
        let (c, node, app) = (a.container.unwrap(), a.node.unwrap(), a.app.unwrap());
        let p = self.nodes[node].partition.clone();
        let again = a.reserving && self.containers[c].state == ContainerState::Reserved;
        let x = Proposal {
            a,
            c,
            node,
            app,
            p,
            release: a.excess,
            again,
        };
        let done = self.accept(&x) && self.apply(&x);
        let kind = match (a.reserving, again) {
            (true, true) => "re_reserve",
            (true, false) => "reserve",
            _ => "allocate",
        };
        if done {
            self.log_proposal(kind, &x);
        } else {
            self.log_reject(kind, &x);
        }
    }

    fn log_proposal(&mut self, kind: &str, x: &Proposal<'_>) {
        let mut d = self.decision(kind, x.c);
        let key = self.containers[x.c].key;
        let requested = x.a.requested.map(Level::name);
        let more = json!({
            "priority": key.0, "id": key.1, "locality": x.a.level.name(), "requested": requested,
        });
        d.extend(more.as_object().unwrap().clone());
        if !x.p.is_empty() {
            d.insert("partition".to_owned(), json!(x.p));
        }
        if !x.a.respect {
            d.insert("borrowed_partition".to_owned(), json!(true));
        }
        if x.a.fulfilled.is_some() {
            d.insert("from_reservation".to_owned(), json!(true));
        }
        self.decisions.push(d);
    }

    /// Equal refusals in a row are counted.
    fn log_reject(&mut self, kind: &str, x: &Proposal<'_>) {
        let d = json!({
            "kind": "reject", "app": x.app, "node": self.nodes[x.node].name,
            "res": self.containers[x.c].res, "what": kind,
        });
        let d = d.as_object().unwrap().clone();
        if let Some(last) = self.decisions.last_mut() {
            let mut plain = last.clone();
            let times = plain.remove("times").and_then(|n| n.as_i64()).unwrap_or(1);
            if plain == d {
                last.insert("times".to_owned(), json!(times + 1));
                return;
            }
        }
        self.decisions.push(d);
    }

    fn accept(&mut self, x: &Proposal<'_>) -> bool {
        let gone = |c: ContainerIdx| self.containers[c].state == ContainerState::Done;
        if x.release.is_some_and(gone) || self.nodes[x.node].state != NodeState::Running {
            return false;
        }
        let reserved = self.nodes[x.node].reserved;
        let possible = if !x.a.reserving {
            self.accept_allocation(x)
        } else if self.containers[x.c].state == ContainerState::Reserved {
            reserved == Some(x.c)
        } else {
            reserved.is_none()
        };
        possible && (x.again || x.a.fulfilled.is_some() || self.within_limits(x))
    }

    fn accept_allocation(&self, x: &Proposal<'_>) -> bool {
        let (app, node) = (&self.apps[&x.app], &self.nodes[x.node]);
        let Some(ask) = app.asks.get(&self.containers[x.c].key) else {
            return false;
        };
        let look = if x.a.respect { x.p.as_str() } else { "" };
        let asked = ask.count(ANY) > 0
            && (ask.fixed.is_none() || self.holds(app, ask, x.node, look))
            && (x.a.level == Level::OffSwitch || ask.count(&node.rack) > 0)
            && (x.a.level != Level::NodeLocal || ask.count(&node.host) > 0);
        let given_up = x.release.is_none_or(|c| {
            let c = (c, &self.containers[c]);
            c.1.state != ContainerState::Reserved || self.nodes[c.1.node].reserved == Some(c.0)
        });
        let own = node.reserved == x.a.fulfilled;
        asked && own && given_up && self.rc.fits_in(&x.a.res, &node.free)
    }

    fn within_limits(&mut self, x: &Proposal<'_>) -> bool {
        let released = x
            .release
            .map_or(self.zero.clone(), |c| self.containers[c].res.clone());
        let app = &self.apps[&x.app];
        let users = &self.queues[app.leaf].users;
        let Some(u) = users.find(&app.user) else {
            return false;
        };
        let used = sub(&of(&users.people[u].used, &x.p, &self.zero), &released);
        let (leaf, name) = (app.leaf, app.user.clone());
        let limit = self.user_limit(leaf, &name, &x.p, x.a.respect);
        if self.rc.more(&self.cluster, &used, &limit) {
            return false;
        }
        let net = sub(&x.a.res, &released);
        self.upward(leaf).into_iter().all(|q| {
            let top = if x.a.respect {
                self.eff_max(q, &x.p)
            } else {
                self.total(&x.p)
            };
            self.rc.fits_in(&add(&self.used(q, &x.p), &net), &top)
        })
    }

    fn apply(&mut self, x: &Proposal<'_>) -> bool {
        let key = self.containers[x.c].key;
        let app = self.apps.get_mut(&x.app).unwrap();
        let leaf = app.leaf;
        let Some((_, ask)) = app.asks.get(&key).map(|a| (a.count(ANY), a)) else {
            return false;
        };
        if ask.count(ANY) <= 0 {
            return false;
        }
        if self.containers[x.c].id.is_none() {
            self.containers[x.c].id = Some(app.next_id);
            app.next_id += 1;
        }
        if x.a.reserving {
            self.reserve(x.app, x.c, x.node);
        } else {
            self.containers[x.c].tags.clone_from(&ask.tags);
            self.place(x);
        }
        if x.again {
            return true;
        }
        if !x.a.reserving
            && let Some(c) = x.release
            && self.containers[c].state == ContainerState::Reserved
        {
            let key = self.containers[c].key;
            let choices = self.apps[&x.app].reserved.get(&key).map_or(0, Vec::len);
            self.give_up(c, "exchange", choices);
        }
        if x.a.fulfilled.is_none() {
            let res = self.containers[x.c].res.clone();
            self.charge(leaf, x.app, &x.p, &res, 1);
            self.flag(leaf, x.app, false);
        }
        if x.a.reserving {
            let res = self.containers[x.c].res.clone();
            self.add_reserved(leaf, &x.p, &res, 1);
        }
        true
    }

    fn place(&mut self, x: &Proposal<'_>) {
        if x.a.fulfilled.is_some() {
            self.unreserve(x.c);
        }
        let key = self.containers[x.c].key;
        let recover = self.ask_served(x.app, key, x.a.level, x.node);
        let container = &mut self.containers[x.c];
        container.state = ContainerState::Allocated;
        container.recover = Some(recover);
        let app = self.apps.get_mut(&x.app).unwrap();
        app.fresh.push(x.c);
        app.live.insert(container.id.unwrap(), x.c);
        // The ask's size, not the container's.
        let sum = add(&of(&app.used, &x.p, &self.zero), &x.a.res);
        app.used.insert(x.p.clone(), sum);
        let node = &mut self.nodes[x.node];
        node.free = sub(&node.free, &container.res);
        node.allocated = add(&node.allocated, &container.res);
        node.running.insert(x.c, false);
        self.events.push_back(Event::Allocated(x.app));
    }

    fn reserve(&mut self, app: u64, c: ContainerIdx, node: usize) {
        let state = self.apps.get_mut(&app).unwrap();
        let x = &mut self.containers[c];
        let name = &self.nodes[node].name;
        let held = state.reserved.entry(x.key).or_default();
        let again = x.state == ContainerState::Reserved && held.iter().any(|h| h.1 == c);
        let count = state.re_reservations.entry(x.key).or_default();
        if again {
            *count += 1;
        } else {
            x.state = ContainerState::Reserved;
            held.retain(|h| h.0 != *name);
            held.push((name.clone(), c));
            *count = 0;
            let p = &self.nodes[node].partition;
            let sum = add(&of(&state.reserved_res, p, &self.zero), &x.res);
            state.reserved_res.insert(p.clone(), sum);
        }
        self.nodes[node].reserved = Some(c);
    }

    /// Takes a reservation from application, node and queues' reserved figures.
    pub(crate) fn unreserve(&mut self, c: ContainerIdx) -> bool {
        let x = self.containers[c].clone();
        let app = self.apps.get_mut(&x.app).unwrap();
        let Some(held) = app.reserved.get_mut(&x.key) else {
            return false;
        };
        if !held.iter().any(|h| h.1 == c) {
            return false;
        }
        held.retain(|h| h.1 != c);
        if held.is_empty() {
            app.reserved.remove(&x.key);
        }
        app.re_reservations.insert(x.key, 0);
        let p = self.nodes[x.node].partition.clone();
        let sum = sub(&of(&app.reserved_res, &p, &self.zero), &x.res);
        app.reserved_res.insert(p.clone(), sum);
        let leaf = app.leaf;
        self.nodes[x.node].reserved = None;
        self.add_reserved(leaf, &p, &x.res, -1);
        true
    }

    /// Gives up a reservation in a commit.
    fn give_up(&mut self, c: ContainerIdx, reason: &str, choices: usize) {
        if self.containers[c].state != ContainerState::Reserved || !self.unreserve(c) {
            return;
        }
        self.log("unreserve", c, reason);
        if choices > 1 {
            self.decisions
                .last_mut()
                .unwrap()
                .insert("choices".to_owned(), json!(choices));
        }
        let x = self.containers[c].clone();
        let (leaf, p) = (self.apps[&x.app].leaf, self.nodes[x.node].partition.clone());
        self.flag(leaf, x.app, false);
        self.charge(leaf, x.app, &p, &x.res, -1);
    }

    /// Books usage of leaf, user and ancestors.
    pub(crate) fn charge(&mut self, leaf: QueueIdx, app: u64, p: &str, r: &Res, sign: i64) {
        let user = self.apps[&app].user.clone();
        self.add_used(leaf, p, r, sign);
        self.use_of_user(leaf, &user, r, p, sign);
        for q in self.upward(leaf).into_iter().skip(1) {
            self.add_used(q, p, r, sign);
        }
    }

    /// Moves an application's AM share of a partition, for leaf and user.
    pub(crate) fn add_am_used(&mut self, leaf: QueueIdx, user: usize, p: &str, r: &Res, sign: i64) {
        let queue = &mut self.queues[leaf];
        let sum = change(&of(&queue.am_used, p, &self.zero), r, sign);
        queue.am_used.insert(p.to_owned(), sum);
        let user = &mut queue.users.people[user];
        let sum = change(&of(&user.am_used, p, &self.zero), r, sign);
        user.am_used.insert(p.to_owned(), sum);
    }
}
