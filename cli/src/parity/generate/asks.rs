//! Calls of applications: requests, releases, blacklists, scheduling requests.

use serde_json::{Value, json};

use super::dice::Dice;
use super::steps::{HOSTS, Steps};

/// Constraints that the model knows.
const PLAIN: [&str; 5] = [
    "notin,node,web",
    "in,node,web",
    "cardinality,node,web,0,2",
    "in,rack,web",
    "notin,rack,web",
];

impl Steps<'_> {
    pub(super) fn ask(&mut self, dice: &mut Dice) {
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
        if self.world.updates && dice.chance(70) {
            let lines = 1 + dice.weighted(&[6, 2, 1]);
            let lines: Vec<_> = (0..lines).map(|_| self.update(dice)).collect();
            step["updates"] = json!(lines);
        }
        self.out.push(step);
    }

    /// A change of a container.
    fn update(&self, dice: &mut Dice) -> Value {
        let change = ["increase", "increase", "decrease"][dice.below(3)];
        let mut update = json!({"change": change, "res": self.container(dice)});
        if dice.chance(90) {
            update["nth"] = json!(dice.below(12));
        } else {
            update["container"] = json!(dice.below(12) + 1);
        }
        if dice.chance(5) {
            update["version"] = json!(dice.below(3));
        }
        update
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
        let tag = if dice.rare(33) { "db" } else { "web" };
        let mut request = json!({
            "priority": 6, "id": 10 + dice.below(3), "res": self.container(dice),
            "count": dice.below(4), "tags": [tag],
        });
        if dice.rare(15) {
            request["tags"] = json!(["web", "db"]);
        }
        if dice.chance(80) {
            let label = self.label(dice).filter(|_| dice.rare(60));
            let text = if let Some(label) = label {
                format!("yarn_node_partition/={label}")
            } else if dice.is_real() {
                constraint(dice, 0)
            } else {
                PLAIN[dice.below(PLAIN.len())].to_owned()
            };
            request["constraint"] = json!(text);
        }
        request
    }
}

/// A constraint in its text form; brackets are at most two deep.
fn constraint(dice: &mut Dice, depth: usize) -> String {
    let brackets = if depth < 2 { 3 } else { 0 };
    match dice.weighted(&[12, brackets, brackets]) {
        0 => single(dice),
        kind => {
            let word = if kind == 1 { "and" } else { "or" };
            let left = constraint(dice, depth + 1);
            let right = constraint(dice, depth + 1);
            format!("{word}({left}:{right})")
        }
    }
}

fn single(dice: &mut Dice) -> String {
    let scope = dice.pick(&["node", "node", "rack"]);
    let space = dice.pick(&["", "", "", "all/", "not-self/", "self/"]);
    let tags = dice.pick(&["web", "db"]);
    match dice.weighted(&[4, 4, 4, 1, 2, 1]) {
        0 => format!("notin,{scope},{space}{tags}"),
        1 => format!("in,{scope},{space}{tags}"),
        2 => {
            let (low, high) = (dice.below(2), dice.below(4));
            format!("cardinality,{scope},{space}{tags},{low},{high}")
        }
        3 => format!("notin,{scope},web,{space}db"),
        4 => {
            let equal = dice.pick(&["=", "!="]);
            let name = dice.pick(&["os", "rm.yarn.io/os", "nm.yarn.io/jdk", "jdk"]);
            let value = dice.pick(&["linux", "8", "windows", "11"]);
            format!("{name}{equal}{value}")
        }
        _ => format!("notin,{scope},{space}db,web"),
    }
}
