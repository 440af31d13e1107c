//! Random changes to recordings: other settings, other steps, other amounts.

use capsched::api::Reference;
use capsched::config::{Options, load_pairs};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const PREFIX: &str = "yarn.scheduler.capacity.";

/// A stream of numbers from a seed.
#[derive(Debug)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A number below `n`, by splitmix64.
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        usize::try_from(z % u64::try_from(n.max(1)).unwrap()).unwrap()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A recording without its answers and with changes.
pub(crate) fn scenario(mut recording: Value, dice: &mut Dice) -> Value {
    let types = recording["resource_types"].as_array().unwrap().len();
    // Some keep their steps, some their settings.
    let (settings, steps) = (dice.chance(75), dice.chance(75));
    if settings {
        let before = recording.clone();
        site(recording["site"].as_object_mut().unwrap(), dice);
        config(recording["config"].as_object_mut().unwrap(), types, dice);
        if !is_sound(&recording, &Map::new()) {
            recording = before;
        }
        labels(&mut recording, dice);
    }
    let header = recording.clone();
    let old = recording["steps"].as_array_mut().unwrap();
    let old: Vec<Value> = std::mem::take(old);
    let world = World::of(&old, recording["config"].as_object().unwrap());
    let mut new = Vec::new();
    for mut step in old {
        step.as_object_mut().unwrap().remove("expect");
        if step["do"] == "start" {
            continue;
        }
        if steps && step["do"] != "state" {
            if dice.chance(3) {
                continue;
            }
            if dice.chance(4) {
                let extra = world.extra(types, dice);
                let changes = extra["set"].as_object();
                if changes.is_none_or(|changes| is_sound(&header, changes)) {
                    new.push(extra);
                }
            }
            if dice.chance(12) {
                amounts(&mut step, dice);
            }
            if step["do"] != "submit" && dice.chance(2) {
                new.push(step.clone());
            }
        }
        new.push(step);
    }
    recording["steps"] = json!(new);
    recording
}

/// Whether a scenario's configuration is accepted with changes; what is refused has recordings of
/// its own, and the reference does not know all the reasons.
fn is_sound(scenario: &Value, changes: &Map<String, Value>) -> bool {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let pairs = |map: &Map<String, Value>| -> BTreeMap<String, String> {
        let pairs = map.iter();
        pairs
            .map(|(key, value)| (key.clone(), text(value)))
            .collect()
    };
    let site = pairs(scenario["site"].as_object().unwrap());
    let mut config = pairs(scenario["config"].as_object().unwrap());
    config.extend(pairs(changes));
    let types = scenario["resource_types"].as_array().unwrap().iter();
    let options = Options {
        resource_types: Some(types.map(text).collect()),
        // The model in `tests/reference` has the rules of 3.4.
        reference: Reference::Hadoop34,
        ..Options::default()
    };
    load_pairs(&site, &config, &options).is_ok()
}

fn labels(recording: &mut Value, dice: &mut Dice) {
    let labels = recording.get_mut("cluster_labels");
    for label in labels.and_then(Value::as_array_mut).into_iter().flatten() {
        if dice.chance(25) {
            label["exclusive"] = json!(label["exclusive"] == false);
        }
    }
}

fn site(site: &mut Map<String, Value>, dice: &mut Dice) {
    let choices: [(&str, &[&str]); 4] = [
        (
            "yarn.scheduler.minimum-allocation-mb",
            &["512", "1000", "1024", "2048"],
        ),
        (
            "yarn.scheduler.maximum-allocation-mb",
            &["8192", "6000", "16384"],
        ),
        ("yarn.scheduler.minimum-allocation-vcores", &["1", "2"]),
        ("yarn.cluster.max-application-priority", &["0", "5", "10"]),
    ];
    for (key, values) in choices {
        if dice.chance(12) {
            site.insert(key.to_owned(), json!(dice.pick(values)));
        }
    }
}

fn config(config: &mut Map<String, Value>, types: usize, dice: &mut Dice) {
    let class = "org.apache.hadoop.yarn.util.resource.";
    if types == 2 && dice.chance(15) {
        let kind = dice.pick(&["Dominant", "Default"]);
        let key = format!("{PREFIX}resource-calculator");
        config.insert(key, json!(format!("{class}{kind}ResourceCalculator")));
    }
    let global: [(&str, &[&str]); 15] = [
        (
            "maximum-am-resource-percent",
            &["1.0", "0.5", "0.2", "0.05"],
        ),
        ("node-locality-delay", &["0", "1", "2", "-1", "40"]),
        ("rack-locality-additional-delay", &["-1", "0", "1", "3"]),
        ("rack-locality-full-reset", &["true", "false"]),
        (
            "per-node-heartbeat.multiple-assignments-enabled",
            &["true", "false"],
        ),
        (
            "per-node-heartbeat.maximum-container-assignments",
            &["-1", "1", "2", "4"],
        ),
        (
            "per-node-heartbeat.maximum-offswitch-assignments",
            &["1", "2", "5", "100"],
        ),
        ("reservations-continue-look-all-nodes", &["true", "false"]),
        (
            "skip-allocate-on-nodes-with-reserved-containers",
            &["true", "false"],
        ),
        ("max-parallel-apps", &["4", "2", "1"]),
        ("user.max-parallel-apps", &["3", "2", "1"]),
        ("maximum-applications", &["20", "8", "3"]),
        ("legacy-queue-mode.enabled", &["false", "true", "true"]),
        ("global-queue-max-application", &["30", "7"]),
        ("user.u1.max-parallel-apps", &["1", "2"]),
    ];
    for (key, values) in global {
        if dice.chance(6) {
            config.insert(format!("{PREFIX}{key}"), json!(dice.pick(values)));
        }
    }
    let (leaves, parents) = queues(config);
    for leaf in &leaves {
        leaf_settings(config, leaf, dice);
    }
    for queue in leaves.iter().chain(&parents) {
        queue_settings(config, queue, dice);
    }
    for parent in &parents {
        if dice.chance(15) {
            let key = format!("{PREFIX}{parent}.ordering-policy");
            let policy = dice.pick(&["utilization", "priority-utilization"]);
            config.insert(key, json!(policy));
        }
    }
}

fn leaf_settings(config: &mut Map<String, Value>, leaf: &str, dice: &mut Dice) {
    let choices: [(&str, &[&str]); 12] = [
        (
            "minimum-user-limit-percent",
            &["100", "50", "33", "25", "10"],
        ),
        ("user-limit-factor", &["1", "10", "2", "0.5", "0.3", "-1"]),
        ("maximum-am-resource-percent", &["1.0", "0.5", "0.1"]),
        ("max-parallel-apps", &["3", "2", "1"]),
        ("maximum-applications", &["6", "3", "2"]),
        ("maximum-allocation-mb", &["4096", "3072", "5000"]),
        ("user-settings.u1.weight", &["2.0", "1.5", "0.5", "0.1"]),
        ("user-settings.u2.weight", &["0.75", "3.0"]),
        ("default-application-priority", &["1", "3"]),
        (
            "ordering-policy",
            &[
                "fair",
                "fifo",
                "fifo-for-pending-apps",
                "fifo-with-partitions",
            ],
        ),
        ("ordering-policy.fair.enable-size-based-weight", &["true"]),
        ("rack-locality-additional-delay", &["1", "2"]),
    ];
    for (key, values) in choices {
        if dice.chance(6) {
            config.insert(format!("{PREFIX}{leaf}.{key}"), json!(dice.pick(values)));
        }
    }
}

fn queue_settings(config: &mut Map<String, Value>, queue: &str, dice: &mut Dice) {
    let choices: [(&str, &[&str]); 5] = [
        ("maximum-capacity", &["100", "60", "33.3", "85.5"]),
        ("priority", &["0", "1", "3", "-2"]),
        ("max-parallel-apps", &["5", "3"]),
        ("accessible-node-labels", &["*", "x", " "]),
        ("default-node-label-expression", &["x", "y"]),
    ];
    for (key, values) in choices {
        if dice.chance(3) {
            config.insert(format!("{PREFIX}{queue}.{key}"), json!(dice.pick(values)));
        }
    }
    if queue != "root" && dice.chance(6) {
        let label = dice.pick(&["x", "y"]);
        let key = format!("{PREFIX}{queue}.accessible-node-labels.{label}.maximum-capacity");
        config.insert(key, json!(dice.pick(&["50", "100", "20"])));
    }
}

/// Full paths of leaves and of parents.
fn queues(config: &Map<String, Value>) -> (Vec<String>, Vec<String>) {
    let (mut leaves, mut parents, mut open) = (Vec::new(), Vec::new(), vec!["root".to_owned()]);
    while let Some(queue) = open.pop() {
        let children = config.get(&format!("{PREFIX}{queue}.queues"));
        match children.and_then(Value::as_str) {
            Some(names) => {
                let names = names
                    .split(',')
                    .map(str::trim)
                    .filter(|name| !name.is_empty());
                open.extend(names.map(|name| format!("{queue}.{name}")));
                parents.push(queue);
            }
            None => leaves.push(queue),
        }
    }
    (leaves, parents)
}

/// Changes one amount of a step.
fn amounts(step: &mut Value, dice: &mut Dice) {
    let fields = step.as_object_mut().unwrap();
    if let Some(requests) = fields.get_mut("requests").and_then(Value::as_array_mut) {
        for request in requests {
            match dice.below(6) {
                0 => request["count"] = json!(dice.below(6)),
                1 => resize(&mut request["res"], dice),
                2 => request["priority"] = json!(dice.below(4)),
                3 => request["relax"] = json!(dice.chance(50)),
                4 => request["label"] = json!(*dice.pick(&["x", "", "y"])),
                _ => request["id"] = json!(dice.below(3)),
            }
        }
        return;
    }
    for (key, least, most) in [("nth", 0, 9), ("priority", 0, 12), ("times", 1, 4)] {
        if let Some(value) = fields.get_mut(key) {
            *value = json!(least + dice.below(most));
        }
    }
    if let Some(app) = fields.get_mut("app").and_then(|app| app.as_u64())
        && fields["do"] != "submit"
    {
        fields.insert("app".to_owned(), json!(app.saturating_sub(1).max(1)));
    }
    for key in ["res", "am"] {
        if let Some(size) = fields.get_mut(key) {
            resize(size, dice);
        }
    }
}

fn resize(size: &mut Value, dice: &mut Dice) {
    let amounts = size.as_array_mut().unwrap();
    let i = dice.below(amounts.len());
    let old = amounts[i].as_i64().unwrap();
    amounts[i] = json!(
        *dice
            .pick(&[old / 2, old + 1, old * 2, old - 1, 0, old * 3 / 2])
            .max(&0)
    );
}

/// What the steps of a recording talk about.
#[derive(Debug)]
struct World {
    nodes: Vec<String>,
    apps: usize,
    leaves: Vec<String>,
    parents: Vec<String>,
    labels: Vec<String>,
}

impl World {
    fn of(steps: &[Value], config: &Map<String, Value>) -> Self {
        let mut nodes: Vec<String> = Vec::new();
        let mut labels = vec![String::new()];
        let mut apps = 0;
        for step in steps {
            if step["do"] == "add_node" {
                nodes.push(step["node"].as_str().unwrap().to_owned());
                let of = step["labels"].as_array().into_iter().flatten();
                labels.extend(of.filter_map(Value::as_str).map(str::to_owned));
            }
            apps += usize::from(step["do"] == "submit");
        }
        nodes.sort();
        nodes.dedup();
        if nodes.is_empty() {
            nodes.push("h1:1".to_owned());
        }
        let (leaves, parents) = queues(config);
        Self {
            nodes,
            apps,
            leaves,
            parents,
            labels,
        }
    }

    /// A step that the recording does not have.
    fn extra(&self, types: usize, dice: &mut Dice) -> Value {
        let node = dice.pick(&self.nodes).clone();
        let app = 1 + dice.below(self.apps);
        let mut size = vec![
            *dice.pick(&[8192, 4096, 12_288, 6000, 0]),
            *dice.pick(&[8, 4, 16, 0]),
            2,
        ];
        size.truncate(types);
        match dice.below(14) {
            0 => json!({"do": "move_app", "app": app, "queue": dice.pick(&self.leaves)}),
            1 => json!({"do": "change_priority", "app": app, "priority": dice.below(12)}),
            2 => json!({"do": "update_node_resource", "node": node, "res": size}),
            3 => {
                let label = dice.pick(&self.labels);
                let labels: Vec<&String> = [label].into_iter().filter(|l| !l.is_empty()).collect();
                json!({"do": "update_node_labels", "node": node, "labels": labels})
            }
            4 => json!({"do": "decommission", "node": node}),
            5 => json!({"do": "remove_node", "node": node}),
            6 => {
                let rack = dice.pick(&["/r1", "/r2"]);
                json!({"do": "add_node", "node": node, "rack": rack, "res": size, "labels": []})
            }
            7 => json!({"do": *dice.pick(&["kill_app", "finish_app"]), "app": app}),
            8 => self.reconfigure(dice),
            9 => json!({"do": "heartbeat", "node": node}),
            10 => json!({"do": "complete_nth", "app": app, "nth": dice.below(7)}),
            11 => {
                json!({"do": "ask", "app": app, "blacklist_add": [*dice.pick(&["h1", "h2"])],
                    "release_nth": [dice.below(5)]})
            }
            _ => json!({"do": "state"}),
        }
    }

    fn reconfigure(&self, dice: &mut Dice) -> Value {
        let leaf = dice.pick(&self.leaves);
        let all: Vec<&String> = self.leaves.iter().chain(&self.parents).collect();
        let queue = *dice.pick(&all);
        let choices: [(String, &[&str]); 12] = [
            (
                format!("{leaf}.user-limit-factor"),
                &["1", "5", "-1", "0.5"],
            ),
            (format!("{queue}.maximum-capacity"), &["100", "70", "33"]),
            (format!("{leaf}.ordering-policy"), &["fifo", "fair"]),
            (format!("{queue}.state"), &["RUNNING", "STOPPED"]),
            (format!("{leaf}.minimum-user-limit-percent"), &["100", "30"]),
            (
                format!("{leaf}.maximum-am-resource-percent"),
                &["0.9", "0.1"],
            ),
            (format!("{queue}.priority"), &["0", "4", "9"]),
            ("node-locality-delay".to_owned(), &["0", "3"]),
            (format!("{queue}.capacity"), &["40", "2w", "-1"]),
            (format!("{queue}.max-parallel-apps"), &["1", "3"]),
            (format!("{leaf}.user-settings.u1.weight"), &["0.5", "2"]),
            (format!("{leaf}.maximum-applications"), &["2", "9"]),
        ];
        let (key, values) = dice.pick(&choices);
        let mut set = Map::new();
        set.insert(format!("{PREFIX}{key}"), json!(dice.pick(values)));
        json!({"do": "reconfigure", "set": set})
    }
}
