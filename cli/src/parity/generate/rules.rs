//! Random placement rules of both formats, and names of queues that clients send.

use serde_json::{Map, Value, json};

use super::admissions::{APPLICATIONS, File, GROUPS, USERS};
use super::dice::Dice;

/// Names in matchers that stand for those of the submission.
const VARIABLES: [&str; 6] = [
    "%user",
    "%primary_group",
    "%secondary_group",
    "%application",
    "%specified",
    "%default",
];
/// Legacy rules that are refused or read in an unusual way.
const MALFORMED: [&str; 7] = [
    "u:ann",
    "x:ann:root.b",
    "u::root.b",
    "u:ann:",
    "u:ann:root.b:c",
    " ",
    "g:%user:%user",
];
/// Names of queues that clients send by mistake.
const UNUSUAL: [&str; 9] = [
    "DEFAULT",
    "root.default",
    "Root.b",
    "root.b.",
    ".b",
    "root..b",
    " b",
    "%user",
    "root.users.%user",
];

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

pub(super) fn legacy_rules(file: &mut File, dice: &mut Dice) {
    let mut rules = Vec::new();
    for _ in 0..=dice.below(4) {
        let target = target(file, dice);
        let (kind, name) = match dice.weighted(&[8, 8, 6, 1, 1]) {
            0 => ("u", "%user"),
            1 => ("u", dice.pick(&USERS)),
            2 => ("g", dice.pick(&GROUPS)),
            3 => ("u", dice.pick(&VARIABLES)),
            _ => ("g", dice.pick(&VARIABLES)),
        };
        let gap = dice.pick(&["", "", "", "", " ", "\n "]);
        rules.push(format!("{gap}{kind}:{gap}{name}{gap}:{target}{gap}"));
    }
    if dice.chance(4) {
        rules.push(dice.pick(&MALFORMED).to_owned());
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

pub(super) fn json_rules(file: &mut File, dice: &mut Dice) {
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
    let (kind, name) = matcher(dice);
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

/// Whom a rule is for: a kind, and a name or a variable.
fn matcher(dice: &mut Dice) -> (&'static str, &'static str) {
    match dice.weighted(&[10, 8, 6, 6, 4]) {
        0 => ("user", "*"),
        1 => ("user", dice.pick(&USERS)),
        2 => ("group", dice.pick(&GROUPS)),
        3 => ("application", dice.pick(&["job", "etl", "*", "ann", "x.y"])),
        _ => {
            let kind = dice.pick(&["group", "user", "application"]);
            (kind, dice.pick(&VARIABLES))
        }
    }
}

/// The name of a queue as a client may send it.
pub(super) fn wanted(file: &File, dice: &mut Dice) -> String {
    match dice.weighted(&[16, 8, 6, 4, 8, 2, 4, 2]) {
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
        5 => dice
            .pick(&["missing", "root.missing", "a.qa", "root"])
            .to_owned(),
        // A queue that appears for a user or a group, perhaps below one that does not exist.
        6 => {
            let parent = dice.pick(&["root.users", "users", "root.users.dev", "root.new"]);
            format!(
                "{parent}.{}",
                dice.pick(&["bob", "dan_dot_lee", "dan.lee", "gus"])
            )
        }
        _ => dice.pick(&UNUSUAL).to_owned(),
    }
}

/// The list of placement rules in the site's file, which may name rules of either kind.
pub(super) fn site_rules(site: &mut Map<String, Value>, dice: &mut Dice) {
    if dice.chance(20) {
        let lists = [
            "user-group",
            "app-name",
            "user-group,app-name",
            "app-name,user-group",
            "",
        ];
        let key = "yarn.scheduler.queue-placement-rules".to_owned();
        site.insert(key, json!(dice.pick(&lists)));
    }
}
