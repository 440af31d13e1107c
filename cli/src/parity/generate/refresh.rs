//! Refreshes: one setting changes, or the children of the root do.

use serde_json::{Map, json};

use super::PREFIX;
use super::dice::Dice;
use super::steps::Steps;

impl Steps<'_> {
    pub(super) fn reconfigure(&mut self, dice: &mut Dice) {
        let (leaves, managed) = (self.world.tree.leaves(), self.world.tree.managed());
        let leaf = if leaves.is_empty() { &managed } else { &leaves };
        let leaf = if leaf.is_empty() {
            "root"
        } else {
            dice.pick(leaf)
        };
        let queue = dice.pick(&self.world.tree.queues());
        let templates = if managed.is_empty() { 0 } else { 3 };
        if self.world.refreshes && dice.chance(45) {
            return self.change_children(dice);
        }
        let mut weights = [3, 3, 2, 2, 2, 2, 2, 2, 1, 2, 2, 1, 1, 1, templates];
        if !dice.is_real() {
            weights[9..14].fill(0);
        }
        let (key, value) = match dice.weighted(&weights) {
            0 => (
                format!("{leaf}.user-limit-factor"),
                dice.pick(&["1", "5", "-1", "0.5"]),
            ),
            1 => (
                format!("{queue}.maximum-capacity"),
                dice.pick(&["100", "70", "90"]),
            ),
            2 => (
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
            9 => (
                format!("{leaf}.user-settings.u0.weight"),
                dice.pick(&["2.5", "0.5", "1"]),
            ),
            10 => (
                "maximum-am-resource-percent".to_owned(),
                dice.pick(&["0.2", "1.0"]),
            ),
            11 => (format!("{leaf}.max-parallel-apps"), dice.pick(&["1", "4"])),
            12 => (
                format!("{leaf}.maximum-applications"),
                dice.pick(&["2", "50"]),
            ),
            13 => (
                format!("{leaf}.maximum-allocation-mb"),
                dice.pick(&["2048", "4096", "16384"]),
            ),
            _ if managed.is_empty() => ("node-locality-delay".to_owned(), "1"),
            _ => (
                format!("{}.leaf-queue-template.capacity", dice.pick(&managed)),
                dice.pick(&["50", "20", "2w", "[memory=2048,vcores=2]"]),
            ),
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
