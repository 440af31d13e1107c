//! Random queue trees of one to three levels below the root.

use super::dice::Dice;
use super::set;
use serde_json::{Map, Value};

/// How the capacities of a tree are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Capacities {
    Percent,
    Weight,
    Absolute,
    /// A unit per resource type; needs the non-legacy queue mode.
    Vector,
}

/// A queue and what is below it.
#[derive(Debug)]
struct Queue {
    path: String,
    share: usize,
    children: Vec<Queue>,
    /// The template's share, in percent, of a queue that creates its leaves.
    template: Option<usize>,
    settings: Vec<(String, &'static str)>,
}

/// A drawn tree.
#[derive(Debug)]
pub(crate) struct Tree {
    root: Queue,
    pub(crate) capacities: Capacities,
    labels: Vec<&'static str>,
    gpu: bool,
}

impl Tree {
    /// Draws a tree.
    pub(crate) fn draw(
        wanted: Option<Capacities>,
        dice: &mut Dice,
        labels: &[&'static str],
        gpu: bool,
    ) -> Self {
        let modes = [
            Capacities::Percent,
            Capacities::Weight,
            Capacities::Absolute,
            Capacities::Vector,
        ];
        let drawn = modes[dice.weighted(&[5, 3, 3, 1])];
        let capacities = wanted.unwrap_or(drawn);
        let mut root = Queue {
            path: "root".to_owned(),
            share: 1,
            children: Vec::new(),
            template: None,
            settings: Vec::new(),
        };
        let mut count = 0;
        for _ in 0..=dice.below(3) {
            root.children
                .push(draw_queue(dice, "root", 1, &mut count, labels));
        }
        parent_settings(dice, &mut root);
        Self {
            root,
            capacities,
            labels: labels.to_vec(),
            gpu,
        }
    }

    /// Full paths of the leaves.
    pub(crate) fn leaves(&self) -> Vec<&str> {
        self.childless(false)
    }

    /// Full paths of the queues that create their leaves.
    pub(crate) fn managed(&self) -> Vec<&str> {
        self.childless(true)
    }

    fn childless(&self, managed: bool) -> Vec<&str> {
        let mut out = Vec::new();
        each(&self.root, &mut |queue| {
            if queue.children.is_empty() && queue.template.is_some() == managed {
                out.push(queue.path.as_str());
            }
        });
        out
    }

    /// Full paths of all queues.
    pub(crate) fn queues(&self) -> Vec<&str> {
        let mut out = Vec::new();
        each(&self.root, &mut |queue| out.push(queue.path.as_str()));
        out
    }

    /// Writes the keys of all queues.
    pub(crate) fn settings(&self, config: &mut Map<String, Value>) {
        if self.capacities == Capacities::Vector {
            set(config, "legacy-queue-mode.enabled", "false");
        }
        for label in &self.labels {
            let key = format!("root.accessible-node-labels.{label}.capacity");
            set(config, &key, "100");
        }
        each(&self.root, &mut |queue| self.queue_settings(queue, config));
    }

    fn queue_settings(&self, queue: &Queue, config: &mut Map<String, Value>) {
        for (key, value) in &queue.settings {
            set(config, &format!("{}.{key}", queue.path), value);
        }
        if let Some(percent) = queue.template {
            self.template_settings(queue, percent, config);
        }
        if queue.children.is_empty() {
            return;
        }
        let names: Vec<&str> = queue
            .children
            .iter()
            .filter_map(|child| child.path.rsplit('.').next())
            .collect();
        set(config, &format!("{}.queues", queue.path), &names.join(","));
        for (i, text) in self.capacity_texts(&queue.children).into_iter().enumerate() {
            let child = &queue.children[i];
            set(config, &format!("{}.capacity", child.path), &text);
            for label in &self.labels {
                let key = format!("{}.accessible-node-labels.{label}.capacity", child.path);
                set(config, &key, &text);
            }
        }
    }

    fn template_settings(&self, queue: &Queue, percent: usize, config: &mut Map<String, Value>) {
        let text = match self.capacities {
            Capacities::Absolute => "[memory=1024,vcores=1]".to_owned(),
            Capacities::Vector => format!("[memory={percent}%,vcores=1]"),
            Capacities::Percent | Capacities::Weight => percent.to_string(),
        };
        let template = format!("{}.leaf-queue-template", queue.path);
        set(config, &format!("{template}.capacity"), &text);
        let enabled = format!("{}.auto-create-child-queue.enabled", queue.path);
        set(config, &enabled, "true");
        if let Some(label) = self.labels.get(percent % 3) {
            let key = format!("{template}.accessible-node-labels.{label}.capacity");
            set(config, &key, &text);
        }
    }

    /// The capacities of siblings, by their shares.
    fn capacity_texts(&self, children: &[Queue]) -> Vec<String> {
        let sum: usize = children.iter().map(|child| child.share).sum();
        let mut left = 100;
        let mut texts = Vec::new();
        for (i, child) in children.iter().enumerate() {
            let percent = if i + 1 == children.len() {
                left
            } else {
                100 * child.share / sum
            };
            left -= percent;
            let units = leaf_shares(child);
            let gpu = if self.gpu {
                format!(",yarn.io/gpu={units}")
            } else {
                String::new()
            };
            texts.push(match self.capacities {
                Capacities::Percent => percent.to_string(),
                Capacities::Weight => format!("{}w", child.share),
                Capacities::Absolute => {
                    format!("[memory={},vcores={units}{gpu}]", 1024 * units)
                }
                Capacities::Vector => format!("[memory={percent}%,vcores={}w]", child.share),
            });
        }
        texts
    }
}

/// Shares of all leaves below a queue: parents of absolute capacities must not have less.
fn leaf_shares(queue: &Queue) -> usize {
    if queue.children.is_empty() {
        queue.share
    } else {
        queue.children.iter().map(leaf_shares).sum()
    }
}

fn each<'a>(queue: &'a Queue, visit: &mut impl FnMut(&'a Queue)) {
    visit(queue);
    for child in &queue.children {
        each(child, visit);
    }
}

fn draw_queue(
    dice: &mut Dice,
    parent: &str,
    level: usize,
    count: &mut usize,
    labels: &[&'static str],
) -> Queue {
    *count += 1;
    let mut queue = Queue {
        path: format!("{parent}.q{count}"),
        share: 1 + dice.below(9),
        children: Vec::new(),
        template: None,
        settings: Vec::new(),
    };
    let children = if level < 3 {
        dice.weighted(&[3, 1, 2])
    } else {
        0
    };
    for _ in 0..children {
        let child = draw_queue(dice, &queue.path, level + 1, count, labels);
        queue.children.push(child);
    }
    if children == 0 && dice.chance(12) {
        queue.template = Some(dice.pick(&[40, 60, 30, 100]));
        managed_settings(dice, &mut queue);
    } else if children == 0 {
        leaf_settings(dice, &mut queue, labels);
    } else {
        parent_settings(dice, &mut queue);
    }
    if dice.chance(30) {
        let value = dice.pick(&["100", "80", "60"]);
        queue.settings.push(("maximum-capacity".to_owned(), value));
    }
    if dice.chance(20) {
        let value = dice.pick(&["0", "1", "3", "5"]);
        queue.settings.push(("priority".to_owned(), value));
    }
    if !labels.is_empty() {
        let value = dice.pick(&["*", "*", "x", " "]);
        queue
            .settings
            .push(("accessible-node-labels".to_owned(), value));
    }
    queue
}

fn parent_settings(dice: &mut Dice, queue: &mut Queue) {
    if dice.chance(25) {
        let value = dice.pick(&["utilization", "priority-utilization"]);
        queue.settings.push(("ordering-policy".to_owned(), value));
    }
}

fn managed_settings(dice: &mut Dice, queue: &mut Queue) {
    let choices: [(&str, u16, &[&'static str]); 5] = [
        ("leaf-queue-template.maximum-capacity", 40, &["100", "50"]),
        ("leaf-queue-template.user-limit-factor", 30, &["10", "0.5"]),
        ("leaf-queue-template.max-parallel-apps", 20, &["2", "1"]),
        ("auto-create-child-queue.max-queues", 20, &["2", "1"]),
        (
            "auto-create-child-queue.fail-on-exceeding-parent-capacity",
            15,
            &["true"],
        ),
    ];
    for (key, chance, values) in choices {
        if dice.chance(chance) {
            queue.settings.push((key.to_owned(), dice.pick(values)));
        }
    }
}

fn leaf_settings(dice: &mut Dice, queue: &mut Queue, labels: &[&'static str]) {
    let choices: [(&str, u16, &[&'static str]); 9] = [
        ("minimum-user-limit-percent", 50, &["100", "50", "25", "10"]),
        ("user-limit-factor", 60, &["1", "10", "2", "0.5", "-1"]),
        ("maximum-am-resource-percent", 20, &["1.0", "0.5", "0.1"]),
        ("max-parallel-apps", 10, &["3", "2", "1"]),
        ("maximum-applications", 10, &["6", "3", "2"]),
        ("maximum-allocation-mb", 10, &["4096", "3072"]),
        ("user-settings.u0.weight", 10, &["2.0", "1.5", "0.5"]),
        ("user-settings.u1.weight", 10, &["0.75", "3.0"]),
        ("default-application-priority", 10, &["1", "3"]),
    ];
    for (key, chance, values) in choices {
        if dice.chance(chance) {
            queue.settings.push((key.to_owned(), dice.pick(values)));
        }
    }
    if dice.chance(35) {
        queue.settings.push(("ordering-policy".to_owned(), "fair"));
        if dice.chance(40) {
            let key = "ordering-policy.fair.enable-size-based-weight".to_owned();
            queue.settings.push((key, "true"));
        }
    }
    if !labels.is_empty() && dice.chance(25) {
        let key = "default-node-label-expression".to_owned();
        queue.settings.push((key, dice.pick(labels)));
    }
}
