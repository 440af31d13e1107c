//! Nodes: joining, leaving, labels, heartbeats and the attempts that follow.

use super::allocator::Assignment;
use super::resources::{Res, add, hash_order, node_hash, sub};
use super::state::{
    ContainerIdx, ContainerState, Event, LeftTags, Limits, Node, NodeIdx, NodeState, Scheduler,
};
use std::collections::{BTreeMap, BTreeSet};

impl Scheduler {
    /// Containers by application, then number.
    pub(crate) fn by_ref(&self, some: impl IntoIterator<Item = ContainerIdx>) -> Vec<ContainerIdx> {
        let mut out: Vec<ContainerIdx> = some.into_iter().collect();
        out.sort_by_key(|c| self.reference(*c));
        out
    }

    pub(crate) fn reference(&self, c: ContainerIdx) -> (u64, u64) {
        (self.containers[c].app, self.containers[c].id.unwrap_or(0))
    }

    fn add_to_label(&mut self, label: &str, r: &Res) {
        let sum = add(&self.total(label), r);
        self.label_total.insert(label.to_owned(), sum);
    }

    fn take_from_label(&mut self, label: &str, r: &Res) {
        let rest = sub(&self.total(label), r);
        self.label_total.insert(label.to_owned(), rest);
    }

    // Every change of a node that the label manager sees makes it send the scheduler the labels of
    // that node once more; this is handled after the change.

    pub(crate) fn add_node(&mut self, name: &str, rack: &str, res: Res, label: &str) {
        let n = self.nodes.len();
        // Labels that were set once stay known when a node comes back.
        let before = |node: &Node| node.name == name && node.labelled;
        let labelled = !label.is_empty() || self.nodes.iter().any(before);
        self.nodes.push(Node {
            name: name.to_owned(),
            host: name.rsplit_once(':').unwrap().0.to_owned(),
            rack: rack.to_owned(),
            partition: label.to_owned(),
            labelled,
            default_listed: label.is_empty(),
            total: res.clone(),
            allocated: self.zero.clone(),
            free: res.clone(),
            state: NodeState::Running,
            reserved: None,
            running: BTreeMap::new(),
            to_launch: BTreeSet::new(),
            launched: BTreeSet::new(),
            to_clean: BTreeSet::new(),
            enforced: false,
        });
        self.node_of.insert(name.to_owned(), n);
        self.cluster = add(&self.cluster, &res);
        self.add_to_label(label, &res);
        self.events
            .push_back(Event::Labels(Some((n, label.to_owned()))));
        self.update_cluster();
    }

    pub(crate) fn remove_node(&mut self, n: NodeIdx) {
        self.nodes[n].state = NodeState::Lost;
        let node = self.nodes[n].clone();
        self.take_from_label(&node.partition, &node.total);
        self.events.push_back(Event::Labels(None));
        for c in self.by_ref(node.running.keys().copied()) {
            self.complete(c, "KILL");
            self.free_space(c, true);
        }
        if let Some(c) = self.nodes[n].reserved {
            self.complete(c, "KILL");
        }
        self.events.push_back(Event::Labels(None));
        self.node_of.remove(&node.name);
        self.cluster = sub(&self.cluster, &self.nodes[n].total);
        self.update_cluster();
    }

    pub(crate) fn set_node_total(&mut self, n: NodeIdx, res: Res) {
        let node = self.nodes[n].clone();
        if res != node.total {
            self.events.push_back(Event::Labels(None));
            self.events
                .push_back(Event::Labels(Some((n, node.partition.clone()))));
            self.take_from_label(&node.partition, &node.total);
            self.add_to_label(&node.partition, &res);
            self.cluster = add(&sub(&self.cluster, &node.total), &res);
            self.nodes[n].free = sub(&res, &node.allocated);
            self.nodes[n].total = res;
            self.nodes[n].default_listed |= node.partition.is_empty();
        }
        self.update_cluster();
    }

    pub(crate) fn relabel_node(&mut self, n: NodeIdx, label: &str) {
        let node = self.nodes[n].clone();
        if node.partition == label && node.labelled {
            return;
        }
        self.nodes[n].labelled = true;
        self.take_from_label(&node.partition, &node.total);
        self.add_to_label(label, &node.total);
        self.events
            .push_back(Event::Labels(Some((n, label.to_owned()))));
    }

    /// Running containers stay and their charge moves; a reservation is dropped.
    pub(crate) fn receive_labels(&mut self, sent: Option<(NodeIdx, String)>) {
        if let Some((n, label)) = sent
            && self.node_of.contains_key(&self.nodes[n].name)
        {
            let node = self.nodes[n].clone();
            for c in self.by_ref(node.running.keys().copied()) {
                if !self.apps[&self.containers[c].app].done {
                    self.move_charge(c, &node.partition, &label);
                }
            }
            if let Some(c) = node.reserved {
                self.complete(c, "KILL");
            }
            self.nodes[n].partition = label;
        }
        self.update_cluster();
    }

    fn move_charge(&mut self, c: ContainerIdx, old: &str, new: &str) {
        let x = self.containers[c].clone();
        let zero = self.zero.clone();
        let app = self.apps.get_mut(&x.app).unwrap();
        let (leaf, user) = (app.leaf, app.user.clone());
        for (p, sign) in [(old, -1), (new, 1)] {
            let had = super::capacity::of(&app.used, p, &zero);
            app.used
                .insert(p.to_owned(), super::resources::change(&had, &x.res, sign));
        }
        for (p, sign) in [(old, -1), (new, 1)] {
            self.use_of_user(leaf, &user, &x.res, p, sign);
            for q in self.upward(leaf) {
                self.add_used(q, p, &x.res, sign);
            }
        }
        if x.is_am {
            self.apps.get_mut(&x.app).unwrap().am_partition = new.to_owned();
            let u = self.user(leaf, &user);
            self.add_am_used(leaf, u, old, &x.res, -1);
            self.add_am_used(leaf, u, new, &x.res, 1);
        }
    }

    /// The largest container that may be asked for: the setting, at most the largest node.
    pub(crate) fn max_allowed(&self, q: Option<usize>) -> Res {
        let mut top = self.maximum.clone();
        if !self.node_of.is_empty() {
            let big = self.node_of.values().fold(self.zero.clone(), |big, n| {
                super::resources::each_max(&big, &self.nodes[*n].total)
            });
            top = super::resources::each_min(&top, &big);
        }
        q.map_or(top.clone(), |q| {
            super::resources::each_min(&self.queues[q].max_alloc, &top)
        })
    }

    /// Space is free at once only when the container never started here, or the node says so.
    pub(crate) fn free_space(&mut self, c: ContainerIdx, by_node: bool) {
        let x = &self.containers[c];
        let node = &mut self.nodes[x.node];
        let Some(launched) = node.running.get(&c).copied() else {
            return;
        };
        if launched && !by_node {
            return;
        }
        node.running.remove(&c);
        node.free = add(&node.free, &x.res);
        node.allocated = sub(&node.allocated, &x.res);
        // The container has its tags from when it is fetched: until then none are taken away.
        if x.recover.is_some() && !x.tags.is_empty() {
            self.left_tags.push(LeftTags {
                app: x.app,
                node: node.name.clone(),
                rack: node.rack.clone(),
                tags: x.tags.clone(),
            });
        }
    }

    /// Reports launches and exits, then schedules; returns what was reported.
    pub(crate) fn heartbeat(&mut self, n: NodeIdx) -> (Vec<ContainerIdx>, Vec<ContainerIdx>) {
        let launched = std::mem::take(&mut self.nodes[n].to_launch);
        let exited = std::mem::take(&mut self.nodes[n].to_clean);
        for c in &launched {
            let node = &mut self.nodes[n];
            node.launched.insert(*c);
            if let Some(on) = node.running.get_mut(c) {
                *on = true;
            }
            if self.containers[*c].state == ContainerState::Acquired {
                self.containers[*c].state = ContainerState::Running;
            }
        }
        for c in self.by_ref(exited.iter().copied()) {
            self.free_space(c, true);
        }
        let node = &self.nodes[n];
        if node.state == NodeState::Decommissioning && node.total != node.allocated {
            self.events
                .push_back(Event::NodeTotal(n, node.allocated.clone()));
        }
        let beyond = self.overcommitted(n);
        self.events
            .extend(beyond.into_iter().map(Event::Overcommitted));
        if !self.settings.asynchronous {
            self.schedule_heartbeat(n);
        }
        (self.by_ref(launched), self.by_ref(exited))
    }

    /// What a node has no room for: the newest containers, masters last.
    pub(crate) fn overcommitted(&self, n: NodeIdx) -> Vec<ContainerIdx> {
        let node = &self.nodes[n];
        let mut held: Vec<ContainerIdx> = node.running.keys().copied().collect();
        held.sort_by_key(|c| (self.containers[*c].is_am, std::cmp::Reverse(*c)));
        let mut free = node.free.clone();
        let mut out = Vec::new();
        for c in held {
            if !node.enforced || self.rc.fits_in(&self.zero, &free) {
                break;
            }
            free = add(&free, &self.containers[c].res);
            out.push(c);
        }
        out
    }

    fn candidates(&self, n: NodeIdx) -> Vec<NodeIdx> {
        if self.settings.multi_node {
            let some = self.running_nodes(&self.nodes[n].partition);
            if !some.is_empty() {
                return hash_order(&some, |n| node_hash(&self.nodes[*n].name), 0);
            }
        }
        vec![n]
    }

    /// Running nodes of a partition, by name.
    pub(crate) fn running_nodes(&self, p: &str) -> Vec<NodeIdx> {
        let running = |n: &NodeIdx| {
            let node = &self.nodes[*n];
            let unlisted = p.is_empty() && !node.default_listed;
            let listed = !(self.settings.multi_node && unlisted);
            node.partition == p && node.state == NodeState::Running && listed
        };
        self.node_of.values().copied().filter(running).collect()
    }

    fn schedule_heartbeat(&mut self, n: NodeIdx) {
        let (mut offswitch, mut assigned) = (0, 0);
        while let Some(a) = self.attempt(&self.candidates(n)) {
            if a.level == super::asks::Level::OffSwitch {
                offswitch += 1;
            }
            let some = self.rc.more(&self.cluster, &a.res, &self.zero);
            if some {
                assigned += 1;
            }
            let s = &self.settings;
            let more = some
                && offswitch < s.max_offswitch
                && !a.reserving
                && s.multiple
                && (s.max_assign == -1 || assigned < s.max_assign);
            if !more {
                return;
            }
        }
    }

    /// One attempt on candidate nodes, committed at once.
    pub(crate) fn attempt(&mut self, nodes: &[NodeIdx]) -> Option<Assignment> {
        if self.settings.multi_node {
            for n in nodes {
                if self.nodes[*n].reserved.is_some() {
                    self.try_reservation(*n);
                }
            }
            return self.new_allocation(nodes);
        }
        let n = nodes[0];
        if self.nodes[n].reserved.is_some() {
            self.try_reservation(n);
            return None;
        }
        if self.rc.containers(&self.nodes[n].free, &self.minimum) <= 0 {
            return None;
        }
        self.new_allocation(nodes)
    }

    fn try_reservation(&mut self, n: NodeIdx) {
        let c = self.nodes[n].reserved.unwrap();
        let leaf = self.apps[&self.containers[c].app].leaf;
        let p = self.nodes[n].partition.clone();
        let mut limits = Limits::new(self.total(""));
        let a = self.assign_leaf(leaf, &[n], &p, &mut limits, true);
        self.commit(&a);
    }

    /// With exclusivity respected; then, on shared partitions, what idles is shared.
    fn new_allocation(&mut self, nodes: &[NodeIdx]) -> Option<Assignment> {
        let p = self.nodes[nodes[0]].partition.clone();
        let root = self.root;
        let a = self.assign(root, nodes, &p, &mut Limits::new(self.total(&p)), true);
        self.commit(&a);
        if self.rc.more(&self.cluster, &a.res, &self.zero) {
            return Some(a);
        }
        if p.is_empty() || self.labels.get(&p).copied().unwrap_or(true) {
            return None;
        }
        let a = self.assign(root, nodes, &p, &mut Limits::new(self.total("")), false);
        self.commit(&a);
        Some(a)
    }
}
