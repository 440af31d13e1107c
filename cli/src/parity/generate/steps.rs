//! Random steps over a cluster: mostly sensible ones, some that are refused.

use super::World;
use super::dice::Dice;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) const HOSTS: usize = 6;

/// Writes the steps of a scenario.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    pub(super) world: &'a World,
    pub(super) out: Vec<Value>,
    /// Applications submitted so far.
    apps: u32,
    /// Queues that refreshes added so far, by their short names.
    pub(super) added: Vec<&'static str>,
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
            added: Vec::new(),
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
        let labels = if self.world.constraints { 4 } else { 1 };
        let refreshes = if self.world.refreshes { 14 } else { 3 };
        let weights = [
            30, 12, 24, 14, attempts, global, 4, 2, 2, 2, 2, 2, labels, 1, 2, refreshes, rounds,
        ];
        match dice.weighted(&weights) {
            0 => self.heartbeat(dice),
            1 => self.submit(dice),
            2 => self.ask(dice),
            3 => self.with_app("complete_nth", "nth", dice),
            4 => self.with_node("schedule_node", dice),
            5 => self.schedule_partition(dice),
            6 => self.with_app("finish_app", "", dice),
            7 => self.with_app("kill_app", "", dice),
            8 => self.with_app("change_priority", "priority", dice),
            9 => self.move_app(dice),
            10 => {
                let node = dice.below(HOSTS);
                self.add_node(node, dice);
            }
            11 => self.remove_node(dice),
            12 if self.world.constraints && dice.rare(60) => self.change_attributes(dice),
            12 => self.relabel(dice),
            13 => self.with_node("decommission", dice),
            14 => self.resize(dice),
            15 => self.reconfigure(dice),
            _ => self.preempt(dice),
        }
    }

    fn with_node(&mut self, what: &str, dice: &mut Dice) {
        let node = self.node(dice);
        self.out.push(json!({"do": what, "node": node}));
    }

    fn resize(&mut self, dice: &mut Dice) {
        let (node, res) = (self.node(dice), self.node_size(dice));
        let step = json!({"do": "update_node_resource", "node": node, "res": res});
        self.out.push(step);
    }

    fn remove_node(&mut self, dice: &mut Dice) {
        let node = self.node_number(dice);
        self.nodes.remove(&node);
        let node = name(node);
        self.out.push(json!({"do": "remove_node", "node": node}));
    }

    fn change_attributes(&mut self, dice: &mut Dice) {
        let (node, attributes) = (self.node(dice), attributes(dice));
        let step = json!({
            "do": "update_node_attributes", "node": node, "attributes": attributes
        });
        self.out.push(step);
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

    pub(super) fn label(&self, dice: &mut Dice) -> Option<&'static str> {
        (!self.world.labels.is_empty() && dice.chance(40)).then(|| dice.pick(&self.world.labels))
    }

    pub(super) fn sized(&self, mut amounts: Vec<usize>, gpus: usize) -> Value {
        if self.world.types == 3 {
            amounts.push(gpus);
        } else if self.world.types == 4 {
            amounts.extend([gpus, 2 * gpus]);
        }
        json!(amounts)
    }

    fn node_size(&self, dice: &mut Dice) -> Value {
        let memory = dice.pick(&[8192, 4096, 12_288, 6000, 16_384]);
        let cores = dice.pick(&[8, 4, 12, 16, 3]);
        let gpus = dice.below(4);
        self.sized(vec![memory, cores], gpus)
    }

    pub(super) fn container(&self, dice: &mut Dice) -> Value {
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
        let mut step = json!({
            "do": "add_node", "node": name(node), "rack": rack, "res": res, "labels": labels
        });
        if self.world.constraints && dice.rare(60) {
            step["attributes"] = attributes(dice);
        }
        self.out.push(step);
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

    pub(super) fn app(&self, dice: &mut Dice) -> u32 {
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
        let flexible = self.world.tree.flexible();
        if !flexible.is_empty() && dice.chance(55) {
            let below = dice.pick(&["va", "vb", "vc", "m.va", "m.vb", "n.va", "m.k.va"]);
            return format!("{}.{below}", dice.pick(&flexible));
        }
        if !self.added.is_empty() && dice.chance(20) {
            return format!("root.{}", dice.pick(&self.added));
        }
        if leaves.is_empty() && managed.is_empty() {
            return "root.none".to_owned();
        }
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
        let users = ["u0", "u1", "u2", "u3", "u4", "u5", "u6"];
        let user = dice.pick(&users[..if self.world.many_users { 7 } else { 3 }]);
        let queue = self.queue(dice);
        let mut step = json!({
            "do": "submit", "app": self.apps, "user": user, "queue": queue,
            "am": self.sized(vec![dice.pick(&[1024, 2048, 512]), 1], 0),
        });
        let parent = queue.rsplit_once('.').map(|(parent, _)| parent);
        if let Some(parent) = parent.filter(|parent| self.world.tree.creates(parent)) {
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
}

fn name(node: usize) -> String {
    format!("h{}:1", node + 1)
}

/// Attributes of a node, by prefix and name.
fn attributes(dice: &mut Dice) -> Value {
    let mut all = serde_json::Map::new();
    let choices = [
        ("rm.yarn.io/os", ["linux", "windows"]),
        ("nm.yarn.io/jdk", ["8", "11"]),
        ("rm.yarn.io/jdk", ["11", "8"]),
    ];
    for (name, values) in choices {
        if dice.chance(60) {
            all.insert(name.to_owned(), json!(dice.pick(&values)));
        }
    }
    if all.is_empty() {
        // A mapping without attributes changes nothing.
        all.insert("rm.yarn.io/spare".to_owned(), json!("yes"));
    }
    Value::Object(all)
}
