//! Random queue mappings and access lists, with submissions and questions about them.

use serde_json::{Map, Value, json};

use super::PREFIX;
use super::dice::Dice;

/// Names that stand for users, and sometimes for queues and groups.
const USERS: [&str; 9] = [
    "ann", "bob", "cid", "dan.lee", "eve", "fay", "gus", "zoe", "%user",
];
const GROUPS: [&str; 12] = [
    "dev", "staff", "qa", "ops", "g.one", "two.x", "default", "users", "ann", "etl", "root", "new",
];
const APPLICATIONS: [&str; 6] = ["job", "etl", "b", "ann", "x.y", "new"];
/// The user that the resource manager runs as in recordings.
const DAEMON: &str = "yarn";
const ADMINISTRATOR: &str = "adm";

/// A configuration file under construction, and the queues in it.
struct File {
    pairs: Vec<(String, String)>,
    /// Full paths of leaves.
    leaves: Vec<&'static str>,
    /// Full paths of parents.
    parents: Vec<&'static str>,
    /// Parents that create queues.
    creators: Vec<&'static str>,
}

impl File {
    fn set(&mut self, key: &str, value: &str) {
        self.pairs
            .push((format!("{PREFIX}{key}"), value.to_owned()));
    }

    /// Parents and leaves.
    fn queues(&self) -> Vec<&'static str> {
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
    if dice.chance(15) {
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

/// The target of a rule, in most cases one that can be.
fn target(file: &File, dice: &mut Dice) -> String {
    let parent = dice.pick(&[
        "root.users",
        "root.a",
        "root",
        "users",
        "a",
        "root.users.%primary_group",
        "%primary_group",
        "root.missing",
        "%specified",
    ]);
    let variable = dice.pick(&[
        "%user",
        "%primary_group",
        "%secondary_group",
        "%application",
        "%specified",
        "%default",
        "x%user",
        "%nothing",
    ]);
    match dice.weighted(&[5, 3, 3, 6, 1, 1, 1]) {
        0 => dice.pick(&file.leaves).to_owned(),
        1 => {
            let leaf = dice.pick(&file.leaves);
            leaf.rsplit('.').next().unwrap_or(leaf).to_owned()
        }
        2 => variable.to_owned(),
        3 => format!("{parent}.{variable}"),
        4 => format!("{parent}.{}", dice.pick(&["new", "etl", "ann"])),
        5 => dice.pick(&file.parents).to_owned(),
        _ => dice
            .pick(&["missing", "root.a.missing", "etl", "a.qa", "root"])
            .to_owned(),
    }
}

fn legacy_rules(file: &mut File, dice: &mut Dice) {
    let mut rules = Vec::new();
    for _ in 0..=dice.below(4) {
        let target = target(file, dice);
        let (kind, name) = match dice.weighted(&[4, 4, 3]) {
            0 => ("u", "%user"),
            1 => ("u", dice.pick(&USERS)),
            _ => ("g", dice.pick(&GROUPS)),
        };
        rules.push(format!("{kind}:{name}:{target}"));
    }
    file.set("queue-mappings", &rules.join(","));
    if dice.chance(25) {
        let (name, target) = (dice.pick(&APPLICATIONS), target(file, dice));
        let rule = format!("{name}:{target}");
        let rules = dice.pick(&["", "%application:%application,"]).to_owned() + &rule;
        let key = "yarn.scheduler.queue-placement-rules.app-name".to_owned();
        file.pairs.push((key, rules));
    }
}

fn json_rules(file: &mut File, dice: &mut Dice) {
    let mut rules = Vec::new();
    for _ in 0..=dice.below(5) {
        rules.push(json_rule(file, dice));
    }
    file.set("mapping-rule-format", "json");
    file.set("mapping-rule-json", &json!({"rules": rules}).to_string());
}

fn json_rule(file: &File, dice: &mut Dice) -> Value {
    let policy = dice.pick(&[
        "user",
        "specified",
        "primaryGroup",
        "secondaryGroup",
        "primaryGroupUser",
        "secondaryGroupUser",
        "applicationName",
        "custom",
        "custom",
        "defaultQueue",
        "setDefaultQueue",
        "reject",
    ]);
    let (kind, name) = match dice.weighted(&[5, 4, 3, 3]) {
        0 => ("user", "*"),
        1 => ("user", dice.pick(&USERS)),
        2 => ("group", dice.pick(&GROUPS)),
        _ => ("application", dice.pick(&["job", "etl", "*", "ann", "x.y"])),
    };
    let mut rule = json!({"type": kind, "matches": name, "policy": policy});
    if policy == "custom" {
        rule["customPlacement"] = json!(target(file, dice));
    } else if policy == "setDefaultQueue" {
        rule["value"] = json!(target(file, dice));
    }
    if dice.chance(55) {
        let parents = ["root.users", "root.a", "root", "users", "root.missing", "a"];
        rule["parentQueue"] = json!(dice.pick(&parents));
    }
    if dice.chance(60) {
        rule["create"] = json!(dice.chance(70));
    }
    if dice.chance(60) {
        let fallback = dice.pick(&["skip", "placeDefault", "reject"]);
        rule["fallbackResult"] = json!(fallback);
    }
    rule
}

/// The name of a queue as a client may send it.
fn wanted(file: &File, dice: &mut Dice) -> String {
    match dice.weighted(&[8, 4, 3, 2, 4, 1]) {
        0 => "default".to_owned(),
        1 => dice.pick(&file.leaves).to_owned(),
        2 => {
            let queue = dice.pick(&file.queues());
            queue.rsplit('.').next().unwrap_or(queue).to_owned()
        }
        3 => dice.pick(&file.parents).to_owned(),
        4 => {
            let parent = dice.pick(&file.parents);
            format!("{parent}.{}", dice.pick(&["new", "ann", "new.two", "etl"]))
        }
        _ => dice
            .pick(&["missing", "root.missing", "a.qa", "root"])
            .to_owned(),
    }
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

/// Rules, and submissions that they place: one of each list of numbers.
pub(crate) fn mapping(header: Vec<u16>, lists: &[Vec<u16>]) -> Value {
    let mut dice = Dice::new(header);
    let mut file = tree(&mut dice);
    let mut site = Map::new();
    if dice.chance(50) {
        json_rules(&mut file, &mut dice);
    } else {
        legacy_rules(&mut file, &mut dice);
    }
    if dice.chance(65) {
        file.set("queue-mappings-override.enable", "true");
    }
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
    let submissions = lists.iter().map(|numbers| {
        let mut dice = Dice::new(numbers.clone());
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

/// A list of users and groups as administrators write it, well or badly.
fn list(dice: &mut Dice) -> String {
    let users = [
        "ann",
        "bob",
        "cid",
        "dan.lee",
        "ann,bob",
        "cid , ann",
        "*",
        "",
    ];
    let groups = ["dev", "ops", "staff,qa", "dev ops", "*", "wheel"];
    match dice.weighted(&[4, 3, 5, 4, 4, 1, 1]) {
        0 => " ".to_owned(),
        1 => "*".to_owned(),
        2 => dice.pick(&users).to_owned(),
        3 => format!(" {}", dice.pick(&groups)),
        4 => {
            let gap = dice.pick(&[" ", " ", "  ", "\t", " \n"]);
            format!("{}{gap}{}", dice.pick(&users), dice.pick(&groups))
        }
        5 => format!("\n  {}\n", dice.pick(&users)),
        _ => format!("{},*", dice.pick(&users)),
    }
}

fn access_lists(file: &mut File, dice: &mut Dice) {
    for queue in file.queues() {
        let chance = if queue == "root" { 75 } else { 45 };
        for acl in ["acl_submit_applications", "acl_administer_queue"] {
            if dice.chance(chance) {
                file.set(&format!("{queue}.{acl}"), &list(dice));
            }
        }
        if dice.chance(5) {
            file.set(&format!("{queue}.acl_submit_reservations"), &list(dice));
        }
    }
    for queue in file.creators.clone() {
        let places = [
            "leaf-queue-template",
            "auto-queue-creation-v2.template",
            "auto-queue-creation-v2.leaf-template",
            "auto-queue-creation-v2.parent-template",
        ];
        for place in places {
            for acl in ["acl_submit_applications", "acl_administer_queue"] {
                if dice.chance(35) {
                    file.set(&format!("{queue}.{place}.{acl}"), &list(dice));
                }
            }
        }
    }
    for leaf in file.leaves.clone() {
        if dice.chance(20) {
            let value = priorities(dice);
            file.set(&format!("{leaf}.acl_application_max_priority"), &value);
        }
        if dice.chance(10) {
            let key = format!("{leaf}.default-application-priority");
            file.set(&key, dice.pick(&["3", "1", "20"]));
        }
    }
}

/// Groups of users with their largest and usual priorities.
fn priorities(dice: &mut Dice) -> String {
    let mut groups = Vec::new();
    for _ in 0..=dice.below(2) {
        let mut words = Vec::new();
        if dice.chance(70) {
            words.push(format!(
                "user={}",
                dice.pick(&["ann", "bob", "*", "ann,bob"])
            ));
        }
        if dice.chance(60) || words.is_empty() {
            words.push(format!("group={}", dice.pick(&["dev", "ops", "staff"])));
        }
        words.push(format!("max_priority={}", dice.pick(&[7, 3, 5, 12])));
        if dice.chance(60) {
            words.push(format!("default_priority={}", dice.pick(&[4, 2, 9])));
        }
        groups.push(format!("[{}]", words.join(" ")));
    }
    groups.join(dice.pick(&[" ", ",", ""]))
}

/// Access lists, and a question about them from each list of numbers.
pub(crate) fn access(header: Vec<u16>, lists: &[Vec<u16>]) -> Value {
    let mut dice = Dice::new(header);
    let mut file = tree(&mut dice);
    access_lists(&mut file, &mut dice);
    if dice.chance(35) {
        file.set("queue-mappings", "u:%user:root.users.%user");
        if dice.chance(70) {
            file.set("queue-mappings-override.enable", "true");
        }
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
    let checks = lists
        .iter()
        .map(|numbers| question(&file, &mut Dice::new(numbers.clone())));
    out["checks"] = checks.collect();
    out
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
            let queue = dice.pick(&file.queues());
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
    question["expect"] = json!({});
    question
}
