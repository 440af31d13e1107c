//! Random steps over a cluster: mostly sensible ones, some that are refused.

use super::dice::Dice;
use super::{PREFIX, World};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const HOSTS: usize = 6;

/// Writes the steps of a scenario.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    world: &'a World,
    out: Vec<Value>,
    /// Applications submitted so far.
    apps: u32,
    /// Nodes that are registered.
    nodes: BTreeMap<usize, ()>,
}

impl<'a> Steps<'a> {
    /// No steps yet.
    pub(crate) fn new(world: &'a World) -> Self {
        Self {
            world,
            out: Vec::new(),
            apps: 0,
            nodes: BTreeMap::new(),
        }
    }

    /// All steps.
    pub(crate) fn finish(self) -> Vec<Value> {
        self.out
    }

    /// Records the state.
    pub(crate) fn state(&mut self) {
        self.out.push(json!({"do": "state"}));
    }

    /// The nodes to begin with.
    pub(crate) fn cluster(&mut self, dice: &mut Dice) {
        for node in 0..=dice.below(4) {
            self.add_node(node, dice);
        }
    }

    /// One step of any kind, and what belongs to it.
    pub(crate) fn step(&mut self, dice: &mut Dice) {
        let attempts = if self.world.asynchronous { 10 } else { 1 };
        let global = if self.world.global { 8 } else { 0 };
        let rounds = if self.world.preemption { 8 } else { 0 };
        let weights = [
            30, 12, 24, 14, attempts, global, 4, 2, 2, 2, 2, 2, 1, 1, 2, 3, rounds,
        ];
        match dice.weighted(&weights) {
            0 => self.heartbeat(dice),
            1 => self.submit(dice),
            2 => self.ask(dice),
            3 => self.with_app("complete_nth", "nth", dice),
            4 => {
                let node = self.node(dice);
                self.out.push(json!({"do": "schedule_node", "node": node}));
            }
            5 => self.schedule_partition(dice),
            6 => self.with_app("finish_app", "", dice),
            7 => self.with_app("kill_app", "", dice),
            8 => self.with_app("change_priority", "priority", dice),
            9 => self.move_app(dice),
            10 => {
                let node = dice.below(HOSTS);
                self.add_node(node, dice);
            }
            11 => {
                let node = self.node_number(dice);
                self.nodes.remove(&node);
                let node = name(node);
                self.out.push(json!({"do": "remove_node", "node": node}));
            }
            12 => self.relabel(dice),
            13 => {
                let node = self.node(dice);
                self.out.push(json!({"do": "decommission", "node": node}));
            }
            14 => {
                let (node, res) = (self.node(dice), self.node_size(dice));
                let step = json!({"do": "update_node_resource", "node": node, "res": res});
                self.out.push(step);
            }
            15 => self.reconfigure(dice),
            _ => self.preempt(dice),
        }
    }

    /// Time passes, and a round of preemption follows.
    fn preempt(&mut self, dice: &mut Dice) {
        let ms = dice.pick(&[0, 3000, 15_000, 60_000]);
        if ms > 0 {
            self.out.push(json!({"do": "advance_clock", "ms": ms}));
        }
        self.out.push(json!({"do": "preempt"}));
    }

    fn node_number(&self, dice: &mut Dice) -> usize {
        let known: Vec<usize> = self.nodes.keys().copied().collect();
        if known.is_empty() || dice.chance(3) {
            return dice.below(HOSTS);
        }
        dice.pick(&known)
    }

    fn node(&self, dice: &mut Dice) -> String {
        name(self.node_number(dice))
    }

    fn label(&self, dice: &mut Dice) -> Option<&'static str> {
        (!self.world.labels.is_empty() && dice.chance(40)).then(|| dice.pick(&self.world.labels))
    }

    fn sized(&self, mut amounts: Vec<usize>, gpus: usize) -> Value {
        if self.world.types == 3 {
            amounts.push(gpus);
        }
        json!(amounts)
    }

    fn node_size(&self, dice: &mut Dice) -> Value {
        let memory = dice.pick(&[8192, 4096, 12_288, 6000, 16_384]);
        let cores = dice.pick(&[8, 4, 12, 16, 3]);
        let gpus = dice.below(4);
        self.sized(vec![memory, cores], gpus)
    }

    fn container(&self, dice: &mut Dice) -> Value {
        let memory = dice.pick(&[1024, 2048, 3072, 4096, 1500, 100, 6144, 0, 20_000]);
        let cores = dice.pick(&[1, 1, 2, 3, 4, 0, 9]);
        let gpus = usize::from(dice.chance(30));
        self.sized(vec![memory, cores], gpus)
    }

    fn add_node(&mut self, node: usize, dice: &mut Dice) {
        self.nodes.insert(node, ());
        let labels: Vec<&str> = self.label(dice).into_iter().collect();
        let rack = format!("/r{}", node % 2 + 1);
        let res = self.node_size(dice);
        self.out.push(json!({
            "do": "add_node", "node": name(node), "rack": rack, "res": res, "labels": labels
        }));
    }

    fn relabel(&mut self, dice: &mut Dice) {
        let node = self.node(dice);
        let labels: Vec<&str> = self.label(dice).into_iter().collect();
        self.out
            .push(json!({"do": "update_node_labels", "node": node, "labels": labels}));
    }

    fn heartbeat(&mut self, dice: &mut Dice) {
        if dice.chance(60) {
            let node = self.node(dice);
            self.out.push(json!({"do": "heartbeat", "node": node}));
            return;
        }
        for node in self.nodes.keys() {
            let node = name(*node);
            self.out.push(json!({"do": "heartbeat", "node": node}));
        }
    }

    fn schedule_partition(&mut self, dice: &mut Dice) {
        let times = 1 + dice.below(3);
        let partition = self.label(dice).unwrap_or("");
        let step = json!({"do": "schedule_partition", "partition": partition, "times": times});
        self.out.push(step);
    }

    fn app(&self, dice: &mut Dice) -> u32 {
        let apps = usize::try_from(self.apps).unwrap_or(0);
        let back = dice.below(apps.min(6));
        self.apps - u32::try_from(back).unwrap_or(0)
    }

    fn with_app(&mut self, what: &str, number: &str, dice: &mut Dice) {
        let mut step = json!({"do": what, "app": self.app(dice)});
        if !number.is_empty() {
            step[number] = json!(dice.below(12));
        }
        self.out.push(step);
    }

    /// A leaf in nearly all cases.
    fn queue(&self, dice: &mut Dice) -> String {
        if dice.chance(3) {
            return dice.pick(&["root.missing", "root", "nowhere"]).to_owned();
        }
        if dice.chance(3) {
            return dice.pick(&self.world.tree.queues()).to_owned();
        }
        let (leaves, managed) = (self.world.tree.leaves(), self.world.tree.managed());
        if leaves.is_empty() || !managed.is_empty() && dice.chance(50) {
            let leaf = dice.pick(&["va", "vb", "vc"]);
            return format!("{}.{leaf}", dice.pick(&managed));
        }
        dice.pick(&leaves).to_owned()
    }

    fn move_app(&mut self, dice: &mut Dice) {
        let (app, queue) = (self.app(dice), self.queue(dice));
        self.out
            .push(json!({"do": "move_app", "app": app, "queue": queue}));
    }

    fn submit(&mut self, dice: &mut Dice) {
        self.apps += 1;
        let user = dice.pick(&["u0", "u1", "u2"]);
        let queue = self.queue(dice);
        let mut step = json!({
            "do": "submit", "app": self.apps, "user": user, "queue": queue,
            "am": self.sized(vec![dice.pick(&[1024, 2048, 512]), 1], 0),
        });
        let parent = queue.rsplit_once('.').map(|(parent, _)| parent);
        if let Some(parent) = parent.filter(|parent| self.world.tree.managed().contains(parent)) {
            step["placement_parent"] = json!(parent);
        }
        if dice.chance(40) {
            step["unmanaged"] = json!(true);
        }
        if dice.chance(30) {
            step["priority"] = json!(dice.below(12));
        }
        if let Some(label) = self.label(dice) {
            step[dice.pick(&["label", "am_label"])] = json!(label);
        }
        self.out.push(step);
    }

    fn ask(&mut self, dice: &mut Dice) {
        let mut step = json!({"do": "ask", "app": self.app(dice)});
        let mut requests = Vec::new();
        for _ in 0..dice.weighted(&[1, 6, 2]) {
            self.requests(dice, &mut requests);
        }
        if !requests.is_empty() {
            step["requests"] = json!(requests);
        }
        if dice.chance(12) {
            step["release_nth"] = json!([dice.below(12)]);
        }
        if dice.chance(5) {
            step["release"] = json!([dice.below(12) + 1]);
        }
        for (key, chance) in [("blacklist_add", 5), ("blacklist_remove", 5)] {
            if dice.chance(chance) {
                step[key] = json!([dice.pick(&["h1", "h2", "/r1", "h3"])]);
            }
        }
        if self.world.constraints && dice.chance(50) {
            step["scheduling_requests"] = json!([self.scheduling_request(dice)]);
        }
        self.out.push(step);
    }

    /// A request for anywhere, and in a third of all cases the hosts and racks below it.
    fn requests(&self, dice: &mut Dice, out: &mut Vec<Value>) {
        let count = dice.pick(&[1, 2, 4, 8, 3, 0]);
        let mut base = json!({
            "priority": 1 + dice.below(3), "res": self.container(dice), "count": count
        });
        if dice.chance(15) {
            base["id"] = json!(dice.below(3));
        }
        let mut any = base.clone();
        if let Some(label) = self.label(dice) {
            any["label"] = json!(label);
        }
        if dice.chance(35) {
            let strict = dice.chance(20);
            let host = dice.below(HOSTS);
            let mut add = |place: String, count: u64| {
                let mut request = base.clone();
                request["name"] = json!(place);
                request["count"] = json!(count);
                out.push(request);
            };
            if dice.chance(70) {
                add(format!("h{}", host + 1), count);
            }
            if dice.chance(50) {
                add(format!("h{}", (host + 2) % HOSTS + 1), 1);
            }
            add(format!("/r{}", host % 2 + 1), count);
            if strict {
                any["relax"] = json!(false);
            }
        }
        out.push(any);
    }

    fn scheduling_request(&self, dice: &mut Dice) -> Value {
        let constraint = dice.pick(&[
            "notin,node,web",
            "in,node,web",
            "cardinality,node,web,0,2",
            "in,rack,web",
            "notin,rack,web",
        ]);
        let mut request = json!({
            "priority": 6, "id": 10 + dice.below(3), "res": self.container(dice),
            "count": dice.below(4), "tags": ["web"],
        });
        if dice.chance(70) {
            request["constraint"] = json!(constraint);
        }
        request
    }

    fn reconfigure(&mut self, dice: &mut Dice) {
        let (leaves, managed) = (self.world.tree.leaves(), self.world.tree.managed());
        let leaf = dice.pick(if leaves.is_empty() { &managed } else { &leaves });
        let queue = dice.pick(&self.world.tree.queues());
        let templates = if managed.is_empty() { 0 } else { 3 };
        let (key, value) = match dice.weighted(&[3, 3, 2, 2, 2, 2, 2, 2, 1, templates]) {
            0 => (
                format!("{leaf}.user-limit-factor"),
                dice.pick(&["1", "5", "-1", "0.5"]),
            ),
            1 => (
                format!("{queue}.maximum-capacity"),
                dice.pick(&["100", "70", "90"]),
            ),
            2 if !leaves.is_empty() => (
                format!("{leaf}.ordering-policy"),
                dice.pick(&["fifo", "fair"]),
            ),
            3 => (format!("{queue}.state"), dice.pick(&["RUNNING", "STOPPED"])),
            4 => (
                format!("{leaf}.minimum-user-limit-percent"),
                dice.pick(&["100", "30"]),
            ),
            5 => (
                format!("{leaf}.maximum-am-resource-percent"),
                dice.pick(&["0.9", "0.1"]),
            ),
            6 => (format!("{queue}.priority"), dice.pick(&["0", "4", "9"])),
            7 => ("node-locality-delay".to_owned(), dice.pick(&["0", "3"])),
            8 => (format!("{queue}.capacity"), dice.pick(&["40", "2w", "-1"])),
            _ => (
                format!("{}.leaf-queue-template.capacity", dice.pick(&managed)),
                dice.pick(&["50", "20", "2w", "[memory=2048,vcores=2]"]),
            ),
        };
        let mut pairs = Map::new();
        pairs.insert(format!("{PREFIX}{key}"), json!(value));
        self.out.push(json!({"do": "reconfigure", "set": pairs}));
    }
}

fn name(node: usize) -> String {
    format!("h{}:1", node + 1)
}
