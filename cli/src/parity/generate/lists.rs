//! Random access lists of queues, templates and priorities.

use super::admissions::File;
use super::dice::Dice;

/// A list of users and groups as administrators write it, well or badly.
pub(super) fn list(dice: &mut Dice) -> String {
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
    match dice.weighted(&[4, 3, 5, 4, 4, 1, 2, 1]) {
        0 => " ".to_owned(),
        1 => "*".to_owned(),
        2 => dice.pick(&users).to_owned(),
        3 => format!(" {}", dice.pick(&groups)),
        4 => {
            let gap = dice.pick(&[" ", " ", "  ", "\t", " \n"]);
            format!("{}{gap}{}", dice.pick(&users), dice.pick(&groups))
        }
        5 => format!("\n  {}\n", dice.pick(&users)),
        6 => dice
            .pick(&["~knox", "~bob,ann", "~knox dev", "~* ops"])
            .to_owned(),
        _ => format!("{},*", dice.pick(&users)),
    }
}

/// Workflows that entries and tags name.
pub(super) const WORKFLOWS: [&str; 3] = ["w1", "W2", "w3"];

/// Lists of some queues and templates, and bounds on priorities.
pub(super) fn access_lists(file: &mut File, dice: &mut Dice) {
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
        templates(file, queue, dice);
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

/// Lists of the templates of a parent that creates queues, some of them by a wildcard.
fn templates(file: &mut File, queue: &str, dice: &mut Dice) {
    let places = [
        "leaf-queue-template",
        "auto-queue-creation-v2.template",
        "auto-queue-creation-v2.leaf-template",
        "auto-queue-creation-v2.parent-template",
    ];
    for place in places {
        for acl in ["acl_submit_applications", "acl_administer_queue"] {
            if dice.chance(35) {
                let of = if dice.chance(15) { "root.*" } else { queue };
                file.set(&format!("{of}.{place}.{acl}"), &list(dice));
            }
        }
        if dice.chance(15) {
            let value = priorities(dice);
            file.set(
                &format!("{queue}.{place}.acl_application_max_priority"),
                &value,
            );
        }
        if dice.chance(10) {
            let key = format!("{queue}.{place}.default-application-priority");
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

/// Priorities of workflows by queue, in most cases in force.
pub(super) fn workflows(file: &mut File, dice: &mut Dice) {
    let mut entries = Vec::new();
    for _ in 0..=dice.below(4) {
        let workflow = dice.pick(&WORKFLOWS);
        let queue = match dice.below(4) {
            0 => dice.pick(&["root.users.ann", "root.users.new", "b", "root.missing"]),
            _ => dice.pick(&file.queues()),
        };
        let priority = dice.pick(&["4", "9", "1", "12", "-1", "0"]);
        entries.push(format!("{workflow}:{queue}:{priority}"));
    }
    file.set("workflow-priority-mappings", &entries.join(","));
    if dice.chance(85) {
        file.set("workflow-priority-mappings-override.enable", "true");
    }
}
