//! Random queue trees of one to three levels below the root.

use super::dice::Dice;
use super::profile::Profile;
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
    /// Whether queues of any kind are created below it.
    flexible: bool,
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
        profile: Profile,
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
        let capacities = profile.capacities().unwrap_or(drawn);
        let mut root = Queue {
            path: "root".to_owned(),
            share: 1,
            children: Vec::new(),
            template: None,
            flexible: profile == Profile::Flexible && dice.chance(20),
            settings: Vec::new(),
        };
        let mut count = 0;
        for _ in 0..=dice.below(3) {
            root.children
                .push(draw_queue(dice, "root", 1, &mut count, labels, profile));
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
            let childless = queue.children.is_empty() && !queue.flexible;
            if childless && queue.template.is_some() == managed {
                out.push(queue.path.as_str());
            }
        });
        out
    }

    /// Full paths of the queues below which queues of any kind are created.
    pub(crate) fn flexible(&self) -> Vec<&str> {
        let mut out = Vec::new();
        each(&self.root, &mut |queue| {
            if queue.flexible {
                out.push(queue.path.as_str());
            }
        });
        out
    }

    /// Whether queues may appear below a path.
    pub(crate) fn creates(&self, path: &str) -> bool {
        let below = |of: &str| path == of || path.starts_with(&format!("{of}."));
        self.managed().contains(&path) || self.flexible().into_iter().any(below)
    }

    /// Short names of the root's children.
    pub(crate) fn below_root(&self) -> Vec<&str> {
        let children = self.root.children.iter();
        children
            .filter_map(|child| child.path.rsplit('.').next())
            .collect()
    }

    /// A capacity that a further child may have without a change to its siblings.
    pub(crate) fn spare(&self) -> &'static str {
        match self.capacities {
            Capacities::Percent => "0",
            Capacities::Weight => "2w",
            Capacities::Absolute => "[memory=512,vcores=1]",
            Capacities::Vector => "[memory=1w,vcores=1w]",
        }
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
        if queue.flexible {
            let key = format!("{}.auto-queue-creation-v2.enabled", queue.path);
            set(config, &key, "true");
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
    profile: Profile,
) -> Queue {
    *count += 1;
    let mut queue = Queue {
        path: format!("{parent}.q{count}"),
        share: 1 + dice.below(9),
        children: Vec::new(),
        template: None,
        flexible: false,
        settings: Vec::new(),
    };
    let children = if level < 3 {
        dice.weighted(&[3, 1, 2])
    } else {
        0
    };
    for _ in 0..children {
        let child = draw_queue(dice, &queue.path, level + 1, count, labels, profile);
        queue.children.push(child);
    }
    settings_of_kind(dice, &mut queue, labels, profile);
    settings_of_all(dice, &mut queue, labels);
    queue
}

/// What the kind of a queue decides, and its settings.
fn settings_of_kind(dice: &mut Dice, queue: &mut Queue, labels: &[&'static str], profile: Profile) {
    let childless = queue.children.is_empty();
    let flexible = if profile == Profile::Flexible { 50 } else { 4 };
    if dice.rare(flexible) {
        queue.flexible = true;
        flexible_settings(dice, queue);
    } else if childless && dice.chance(12) {
        queue.template = Some(dice.pick(&[40, 60, 30, 100]));
        managed_settings(dice, queue);
    } else if childless {
        leaf_settings(dice, queue, labels);
    } else {
        parent_settings(dice, queue);
    }
}

fn settings_of_all(dice: &mut Dice, queue: &mut Queue, labels: &[&'static str]) {
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
}

fn flexible_settings(dice: &mut Dice, queue: &mut Queue) {
    let choices: [(&str, u16, &[&'static str]); 11] = [
        ("template.capacity", 40, &["3w", "1w"]),
        ("leaf-template.capacity", 25, &["2w", "5w"]),
        ("parent-template.capacity", 25, &["4w", "1w"]),
        ("leaf-template.user-limit-factor", 40, &["10", "0.5"]),
        ("template.maximum-capacity", 30, &["80", "50"]),
        ("leaf-template.maximum-applications", 15, &["2", "1"]),
        ("leaf-template.ordering-policy", 25, &["fair", "fifo"]),
        ("template.priority", 15, &["2", "1"]),
        ("leaf-template.maximum-am-resource-percent", 20, &["0.3"]),
        ("max-queues", 25, &["3", "1", "2"]),
        ("maximum-queue-depth", 25, &["1", "2", "3"]),
    ];
    for (key, chance, values) in choices {
        if dice.chance(chance) {
            let key = format!("auto-queue-creation-v2.{key}");
            queue.settings.push((key, dice.pick(values)));
        }
    }
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

/// Keys of leaves with the chance that they are set, in percent, and their values.
const OF_LEAVES: [(&str, u16, &[&str]); 9] = [
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

/// The same for what only the real scheduler is asked about.
const RARE_OF_LEAVES: [(&str, u16, &[&str]); 7] = [
    ("user-settings.u3.weight", 8, &["0.3", "4"]),
    ("disable_preemption", 10, &["true"]),
    ("intra-queue-preemption.disable_preemption", 10, &["true"]),
    ("allow-zero-capacity-sum", 5, &["true"]),
    ("maximum-allocation-vcores", 5, &["2", "4"]),
    ("multi-node-sorting.policy", 5, &["usage"]),
    ("max-parallel-apps", 5, &["2", "5"]),
];

fn leaf_settings(dice: &mut Dice, queue: &mut Queue, labels: &[&'static str]) {
    for (key, chance, values) in OF_LEAVES {
        if dice.chance(chance) {
            queue.settings.push((key.to_owned(), dice.pick(values)));
        }
    }
    for (key, chance, values) in RARE_OF_LEAVES {
        if dice.rare(chance) {
            queue.settings.push((key.to_owned(), dice.pick(values)));
        }
    }
    order_settings(dice, queue, labels);
    if !labels.is_empty() && dice.chance(25) {
        let key = "default-node-label-expression".to_owned();
        queue.settings.push((key, dice.pick(labels)));
    }
}

fn order_settings(dice: &mut Dice, queue: &mut Queue, labels: &[&'static str]) {
    if dice.chance(35) {
        queue.settings.push(("ordering-policy".to_owned(), "fair"));
        if dice.chance(40) {
            let key = "ordering-policy.fair.enable-size-based-weight".to_owned();
            queue.settings.push((key, "true"));
        }
    } else if dice.rare(10) {
        let order = dice.pick(&["fifo-with-partitions", "fifo-for-pending-apps"]);
        queue.settings.push(("ordering-policy".to_owned(), order));
        if !labels.is_empty() && dice.chance(60) {
            let key = "ordering-policy.exclusive-enforced-partitions".to_owned();
            queue.settings.push((key, dice.pick(labels)));
        }
    }
}
