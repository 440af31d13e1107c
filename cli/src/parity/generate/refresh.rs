//! Refreshes: one setting changes, or the children of the root do.

use serde_json::{Map, json};

use super::PREFIX;
use super::dice::Dice;
use super::steps::Steps;

/// Whose key a refresh changes.
#[derive(Clone, Copy)]
enum Place {
    Leaf,
    Queue,
    /// A queue that creates its leaves.
    Template,
    Scheduler,
}

/// Changes: the key, how often, whether only the real scheduler is asked about it, and the values.
type Change = (Place, &'static str, usize, bool, &'static [&'static str]);

const CHANGES: [Change; 15] = [
    (
        Place::Leaf,
        "user-limit-factor",
        3,
        false,
        &["1", "5", "-1", "0.5"],
    ),
    (
        Place::Queue,
        "maximum-capacity",
        3,
        false,
        &["100", "70", "90"],
    ),
    (Place::Leaf, "ordering-policy", 2, false, &["fifo", "fair"]),
    (Place::Queue, "state", 2, false, &["RUNNING", "STOPPED"]),
    (
        Place::Leaf,
        "minimum-user-limit-percent",
        2,
        false,
        &["100", "30"],
    ),
    (
        Place::Leaf,
        "maximum-am-resource-percent",
        2,
        false,
        &["0.9", "0.1"],
    ),
    (Place::Queue, "priority", 2, false, &["0", "4", "9"]),
    (
        Place::Scheduler,
        "node-locality-delay",
        2,
        false,
        &["0", "3"],
    ),
    (Place::Queue, "capacity", 1, false, &["40", "2w", "-1"]),
    (
        Place::Leaf,
        "user-settings.u0.weight",
        2,
        true,
        &["2.5", "0.5", "1"],
    ),
    (
        Place::Scheduler,
        "maximum-am-resource-percent",
        2,
        true,
        &["0.2", "1.0"],
    ),
    (Place::Leaf, "max-parallel-apps", 1, true, &["1", "4"]),
    (Place::Leaf, "maximum-applications", 1, true, &["2", "50"]),
    (
        Place::Leaf,
        "maximum-allocation-mb",
        1,
        true,
        &["2048", "4096", "16384"],
    ),
    (
        Place::Template,
        "leaf-queue-template.capacity",
        3,
        false,
        &["50", "20", "2w", "[memory=2048,vcores=2]"],
    ),
];

impl Steps<'_> {
    pub(super) fn reconfigure(&mut self, dice: &mut Dice) {
        if self.world.refreshes && dice.chance(45) {
            return self.change_children(dice);
        }
        let tree = &self.world.tree;
        let (leaves, managed) = (tree.leaves(), tree.managed());
        let some = if leaves.is_empty() { &managed } else { &leaves };
        let leaf = if some.is_empty() {
            "root"
        } else {
            dice.pick(some)
        };
        let queue = dice.pick(&tree.queues());
        let real = dice.is_real();
        let weights = CHANGES.map(|(place, _, weight, rare, _)| match place {
            Place::Template if managed.is_empty() => 0,
            _ if rare && !real => 0,
            _ => weight,
        });
        let (place, key, _, _, values) = CHANGES[dice.weighted(&weights)];
        let value = dice.pick(values);
        let key = match place {
            Place::Leaf => format!("{leaf}.{key}"),
            Place::Queue => format!("{queue}.{key}"),
            Place::Template => format!("{}.{key}", dice.pick(&managed)),
            Place::Scheduler => key.to_owned(),
        };
        let mut pairs = Map::new();
        pairs.insert(format!("{PREFIX}{key}"), json!(value));
        self.out.push(json!({"do": "reconfigure", "set": pairs}));
    }

    /// Adds a leaf below the root, or stops or drops one that was added.
    fn change_children(&mut self, dice: &mut Dice) {
        let fresh = ["n0", "n1", "n2"];
        let name = dice.pick(&fresh);
        let path = format!("root.{name}");
        let mut listed = self.world.tree.below_root();
        listed.extend(self.added.iter().copied());
        let mut pairs = Map::new();
        let mut set = |key: String, value: &str| {
            pairs.insert(format!("{PREFIX}{key}"), json!(value));
        };
        // Whatever was left out before, no queue is listed without a capacity.
        for other in &self.added {
            set(format!("root.{other}.capacity"), self.world.tree.spare());
        }
        if !self.added.contains(&name) {
            let list = [listed.as_slice(), &[name]].concat().join(",");
            set("root.queues".to_owned(), &list);
            set(format!("{path}.capacity"), self.world.tree.spare());
            set(format!("{path}.state"), "RUNNING");
            self.added.push(name);
        } else if dice.chance(60) {
            set(format!("{path}.state"), dice.pick(&["STOPPED", "RUNNING"]));
        } else {
            listed.retain(|other| *other != name);
            set("root.queues".to_owned(), &listed.join(","));
            self.added.retain(|other| *other != name);
        }
        self.out.push(json!({"do": "reconfigure", "set": pairs}));
    }
}
