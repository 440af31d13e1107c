//! Random queue mappings and access lists, with submissions and questions about them.

use serde_json::{Map, Value, json};

use super::PREFIX;
use super::dice::Dice;
use super::lists::{WORKFLOWS, access_lists, list, workflows};
use super::rules::{json_rules, legacy_rules, site_rules, wanted};

/// Names that stand for users, and sometimes for queues and groups.
pub(super) const USERS: [&str; 9] = [
    "ann", "bob", "cid", "dan.lee", "eve", "fay", "gus", "zoe", "%user",
];
pub(super) const GROUPS: [&str; 12] = [
    "dev", "staff", "qa", "ops", "g.one", "two.x", "default", "users", "ann", "etl", "root", "new",
];
pub(super) const APPLICATIONS: [&str; 6] = ["job", "etl", "b", "ann", "x.y", "new"];
/// The user that the resource manager runs as in recordings.
const DAEMON: &str = "yarn";
const ADMINISTRATOR: &str = "adm";

/// Parts of the keys of placement rules, which a refresh draws anew.
const RULE_KEYS: &[&str] = &[".queue-mappings", ".mapping-rule"];
/// Parts of the keys of access lists and priorities, which a refresh draws anew.
const LIST_KEYS: &[&str] = &[".acl_", ".default-application-priority"];

/// A configuration file under construction, and the queues in it.
pub(super) struct File {
    pub(super) pairs: Vec<(String, String)>,
    /// Full paths of leaves.
    pub(super) leaves: Vec<&'static str>,
    /// Full paths of parents.
    pub(super) parents: Vec<&'static str>,
    /// Parents that create queues.
    pub(super) creators: Vec<&'static str>,
}

impl File {
    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.pairs
            .push((format!("{PREFIX}{key}"), value.to_owned()));
    }

    /// The same file without the keys that hold one of these.
    fn without(&mut self, keys: &[&str]) -> &mut Self {
        self.pairs
            .retain(|(key, _)| !keys.iter().any(|known| key.contains(known)));
        self
    }

    /// Parents and leaves.
    pub(super) fn queues(&self) -> Vec<&'static str> {
        [self.parents.as_slice(), self.leaves.as_slice()].concat()
    }

    fn xml(&self) -> String {
        let mut text = String::from("<?xml version=\"1.0\"?>\n<configuration>\n");
        for (key, value) in &self.pairs {
            let value = value.replace('&', "&amp;").replace('<', "&lt;");
            text += &format!("  <property><name>{key}</name><value>{value}</value></property>\n");
        }
        text + "</configuration>\n"
    }
}

/// One of four trees: static, with a managed parent, with flexible parents, or flexible to the root.
fn tree(dice: &mut Dice) -> File {
    let kind = dice.weighted(&[4, 3, 5, 1]);
    let weights = kind >= 2 || dice.chance(30);
    let mut file = File {
        pairs: Vec::new(),
        leaves: vec![
            "root.default",
            "root.b",
            "root.a.etl",
            "root.a.qa",
            "root.a.ann",
        ],
        parents: vec!["root", "root.a"],
        creators: Vec::new(),
    };
    let share = |percent: &'static str| if weights { "1w" } else { percent };
    let mut below = "default,b,a,users".to_owned();
    let mut top = vec![("default", "20"), ("b", "20"), ("a", "30"), ("users", "30")];
    if dice.chance(50) {
        below += ",dev";
        top[0].1 = "10";
        top.push(("dev", "10"));
        file.leaves.push("root.dev");
    }
    file.set("root.queues", &below);
    for (name, percent) in top {
        file.set(&format!("root.{name}.capacity"), share(percent));
    }
    file.set("root.a.queues", "etl,qa,ann");
    for (name, percent) in [("etl", "50"), ("qa", "30"), ("ann", "20")] {
        file.set(&format!("root.a.{name}.capacity"), share(percent));
    }
    creators(&mut file, kind, dice);
    if dice.chance(20) {
        let queue = dice.pick(&file.queues());
        file.set(&format!("{queue}.state"), "STOPPED");
    }
    file
}

/// How queues appear below `root.users`, and elsewhere.
fn creators(file: &mut File, kind: usize, dice: &mut Dice) {
    match kind {
        1 => {
            file.set("root.users.auto-create-child-queue.enabled", "true");
            file.set("root.users.leaf-queue-template.capacity", "10");
            if dice.chance(30) {
                file.set("root.users.auto-create-child-queue.max-queues", "2");
            }
            file.parents.push("root.users");
            file.creators.push("root.users");
        }
        2 | 3 => flexible_parents(file, kind == 3, dice),
        _ => {
            file.set("root.users.queues", "ann,bob,dan_dot_lee");
            let weights = file.pairs.iter().any(|(_, value)| value == "1w");
            for (name, percent) in [("ann", "40"), ("bob", "40"), ("dan_dot_lee", "20")] {
                let share = if weights { "1w" } else { percent };
                file.set(&format!("root.users.{name}.capacity"), share);
            }
            file.parents.push("root.users");
            file.leaves
                .extend(["root.users.ann", "root.users.bob", "root.users.dan_dot_lee"]);
        }
    }
}

/// `root.users` and some others, in which queues of any kind appear.
fn flexible_parents(file: &mut File, to_the_root: bool, dice: &mut Dice) {
    let mut flexible = vec!["root.users"];
    if dice.chance(40) {
        flexible.push("root.a");
    }
    if to_the_root {
        flexible.push("root");
    }
    for path in flexible {
        let prefix = format!("{path}.auto-queue-creation-v2");
        file.set(&format!("{prefix}.enabled"), "true");
        if dice.chance(30) {
            let depth = dice.pick(&["1", "2", "3"]);
            file.set(&format!("{prefix}.maximum-queue-depth"), depth);
        }
        if dice.chance(20) {
            file.set(&format!("{prefix}.max-queues"), dice.pick(&["2", "1", "4"]));
        }
        file.creators.push(path);
    }
    file.parents.push("root.users");
}

/// Groups of every user; the last user has none, and is not listed.
fn groups(dice: &mut Dice) -> Value {
    let mut all = Map::new();
    for user in USERS.into_iter().filter(|user| *user != "zoe") {
        let mut own: Vec<&str> = Vec::new();
        for _ in 0..dice.below(5) {
            let group = dice.pick(&GROUPS);
            if !own.contains(&group) {
                own.push(group);
            }
        }
        all.insert(user.to_owned(), json!(own));
    }
    all.insert(DAEMON.to_owned(), json!(["hadoop"]));
    all.insert(ADMINISTRATOR.to_owned(), json!(["wheel"]));
    Value::Object(all)
}

fn head(kind: &str, file: &File, site: Map<String, Value>, groups: Value) -> Value {
    let nodes: Vec<Value> = (1..=4)
        .map(|i| json!({"node": format!("n{i}:45454"), "res": [102_400, 50]}))
        .collect();
    json!({
        "name": "generated", "description": format!("random {kind}"), "source": "", "site": site,
        "xml": file.xml(), "groups": groups, "resource_types": ["memory-mb", "vcores"],
        "cluster_labels": [], "nodes": nodes, "start": {"accepted": true}, "recorded_with": "",
    })
}

/// Rules of either format, and whether they go before what a client names.
fn placement_rules(file: &mut File, dice: &mut Dice) {
    if dice.chance(50) {
        json_rules(file, dice);
    } else {
        legacy_rules(file, dice);
    }
    if dice.chance(65) {
        file.set("queue-mappings-override.enable", "true");
    }
}

/// Rules, and submissions that they place: one of each list of numbers.
pub(crate) fn mapping(header: Vec<u16>, lists: &[Vec<u16>]) -> Value {
    let mut dice = Dice::new(header);
    let mut file = tree(&mut dice);
    let mut site = Map::new();
    placement_rules(&mut file, &mut dice);
    site_rules(&mut site, &mut dice);
    let tagged = dice.chance(25);
    if tagged {
        let key = "yarn.resourcemanager.application-tag-based-placement";
        site.insert(format!("{key}.enable"), json!("true"));
        let users = dice.pick(&["ann", "ann,bob", "cid, bob,eve", "zoe"]);
        if dice.chance(50) {
            access_lists(&mut file, &mut dice);
        }
        site.insert(format!("{key}.username.whitelist"), json!(users));
    }
    let mut out = head("mappings", &file, site, groups(&mut dice));
    let refreshes = dice.chance(40);
    let submissions = lists.iter().map(|numbers| {
        let mut dice = Dice::new(numbers.clone());
        if refreshes && dice.chance(6) {
            placement_rules(file.without(RULE_KEYS), &mut stretched(numbers));
            return json!({"refresh": file.xml(), "expect": {}});
        }
        let mut job = json!({
            "user": dice.pick(&USERS), "queue": wanted(&file, &mut dice),
            "name": dice.pick(&APPLICATIONS), "expect": {},
        });
        if tagged && dice.chance(75) {
            let tail = dice.pick(&["", "", "", "=", "=x"]);
            job["tags"] = json!([format!("userid={}{tail}", dice.pick(&USERS))]);
        }
        job
    });
    out["submissions"] = submissions.collect();
    out
}

/// Access lists, and a question about them from each list of numbers.
pub(crate) fn access(header: Vec<u16>, lists: &[Vec<u16>]) -> Value {
    let mut dice = Dice::new(header);
    let mut file = tree(&mut dice);
    access_lists(&mut file, &mut dice);
    if dice.chance(50) {
        placement_rules(&mut file, &mut dice);
    }
    if dice.chance(40) {
        workflows(&mut file, &mut dice);
    }
    let mut site = Map::new();
    let on = if dice.chance(15) { "false" } else { "true" };
    site.insert("yarn.acl.enable".to_owned(), json!(on));
    if dice.chance(80) {
        site.insert("yarn.admin.acl".to_owned(), json!(list(&mut dice)));
    }
    if dice.chance(70) {
        let key = "yarn.cluster.max-application-priority".to_owned();
        site.insert(key, json!(dice.pick(&["10", "5", "0"])));
    }
    let mut out = head("access", &file, site, groups(&mut dice));
    let refreshes = dice.chance(40);
    let checks = lists.iter().map(|numbers| {
        let mut dice = Dice::new(numbers.clone());
        if refreshes && dice.chance(6) {
            access_lists(file.without(LIST_KEYS), &mut stretched(numbers));
            return json!({"refresh": file.xml(), "expect": {}});
        }
        question(&file, &mut dice)
    });
    out["checks"] = checks.collect();
    out
}

/// Dice with numbers enough for a further file.
fn stretched(numbers: &[u16]) -> Dice {
    let of = |i: u16| {
        let number = numbers.get(usize::from(i) % numbers.len().max(1));
        number.copied().unwrap_or(0) ^ i.wrapping_mul(40_503)
    };
    Dice::new((0..300).map(of).collect())
}

fn question(file: &File, dice: &mut Dice) -> Value {
    let user = match dice.below(12) {
        0 => DAEMON,
        1 => ADMINISTRATOR,
        _ => dice.pick(&USERS),
    };
    let mut question = match dice.weighted(&[4, 4, 2, 1]) {
        0 => json!({
            "check": "submit", "user": user, "queue": wanted(file, dice),
        }),
        1 => {
            let acl = dice.pick(&["SUBMIT_APPLICATIONS", "ADMINISTER_QUEUE"]);
            let queue = match dice.below(4) {
                0 => wanted(file, dice),
                _ => dice.pick(&file.queues()).to_owned(),
            };
            json!({"check": "queue_acl", "user": user, "acl": acl, "queue": queue})
        }
        2 => {
            let (queue, owner) = (wanted(file, dice), dice.pick(&USERS));
            json!({"check": "modify_app", "user": user, "queue": queue, "owner": owner})
        }
        _ => json!({"check": "cluster_admin", "user": user}),
    };
    if question["check"] == "submit" && dice.chance(40) {
        question["priority"] = json!(dice.below(14));
    }
    if question["check"] == "submit" && dice.chance(50) {
        question["tags"] = json!([format!("workflowid:{}", dice.pick(&WORKFLOWS))]);
    }
    if dice.chance(12) {
        question["real_user"] = json!(dice.pick(&["knox", "bob", ADMINISTRATOR]));
    }
    question["expect"] = json!({});
    question
}
