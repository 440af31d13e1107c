//! Warnings about configurations that are accepted.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{Map, Set};
use crate::queue::{
    LegacyCapacity, Mends, PartitionSettings, QueueKind, QueueSettings, TreeSettings, VectorEntry,
};
use crate::resource::ResourceVector;

use super::diagnostic::{Diagnostic, clip, clip_key};
use super::effects;
use super::key_table::{KeyScope, has};
use super::keys;
use super::other_files::{RENDER, is_template};
use super::prefix::PREFIX;
use super::properties::Properties;
use super::queue::QueueContext;
use super::severity::Severity;

/// Warnings of one kind that a report shows; a generated file repeats its oddity.
const MOST: usize = 1_000;

/// Hints of one kind: the first ones make the point.
const HINTS: usize = 10;

/// Names that one hint about several lists.
const NAMED: usize = 4;

/// Findings of a kind that are counted and not listed.
pub(super) type Further = BTreeMap<(Severity, &'static str), usize>;

/// Adds the warnings about a configuration. Returns how many more there are of each kind.
pub(super) fn warnings(
    properties: &Properties,
    settings: &TreeSettings,
    out: &mut Vec<Diagnostic>,
) -> Further {
    let mut advice = Advice {
        properties,
        settings,
        out,
        counts: Map::default(),
        further: Further::new(),
    };
    advice.keys();
    advice.scheduler();
    for queue in &settings.queues {
        advice.list_of(queue);
        advice.queue(queue);
    }
    advice.siblings();
    advice.namesakes();
    for finding in effects::findings(properties, settings) {
        advice.push(finding);
    }
    advice.further
}

struct Advice<'a> {
    properties: &'a Properties,
    settings: &'a TreeSettings,
    out: &'a mut Vec<Diagnostic>,
    counts: Map<&'static str, usize>,
    further: Further,
}

impl Advice<'_> {
    fn push(&mut self, finding: Diagnostic) {
        let count = self.counts.entry(finding.code).or_default();
        *count += 1;
        let most = match finding.severity {
            Severity::Hint => HINTS,
            _ => MOST,
        };
        if *count <= most {
            self.out.push(finding);
        } else {
            let kind = (finding.severity, finding.code);
            *self.further.entry(kind).or_default() += 1;
        }
    }

    /// A warning at the value of a key.
    fn warn(&mut self, code: &'static str, key: &str, message: String, help: &str) {
        let mut finding = Diagnostic::warning(code, message).at(self.properties.span(key));
        if !help.is_empty() {
            finding = finding.help(help);
        }
        self.push(finding);
    }

    fn keys(&mut self) {
        let (properties, settings) = (self.properties, self.settings);
        let queue = |queue: &'_ QueueSettings| (queue.path.to_string(), queue.kind);
        let kinds: Map<String, QueueKind> = settings.queues.iter().map(queue).collect();
        for key in properties.keys() {
            let finding = match key.strip_prefix(PREFIX) {
                Some(rest) if rest == "root" || rest.starts_with("root.") => {
                    queue_key(rest, &kinds)
                }
                Some(rest) if keys::is_global(rest) => None,
                Some(rest) => Some(unknown(rest, keys::nearest_global(rest), PREFIX)),
                None => foreign(key, properties.in_site(key)),
            };
            if let Some(finding) = finding {
                self.push(finding.at(properties.name_span(key)));
            }
        }
    }

    fn scheduler(&mut self) {
        let scheduler = &self.settings.scheduler;
        if scheduler.maximum_applications <= 0 {
            let key = format!("{PREFIX}maximum-applications");
            let message = "no application will be admitted".to_owned();
            self.warn("W_MAX_APPS", &key, message, "");
        }
        self.reserved_nodes();
        self.continue_looking();
        let labels = "yarn.node-labels.enabled";
        let labelled = |queue: &&QueueSettings| queue.partitions.len() > 1;
        if !scheduler.node_labels
            && self.properties.has_site()
            && let Some(queue) = self.settings.queues.iter().find(labelled)
        {
            let message = format!(
                "`{}` has labels, but `{labels}` is not true",
                clip(&queue.path)
            );
            self.warn("W_LABEL_DISABLED", labels, message, "");
        }
    }

    /// Nodes that others reserved, and that are proposed again and again.
    fn reserved_nodes(&mut self) {
        let scheduler = &self.settings.scheduler;
        if !scheduler.multi_node.enabled {
            return;
        }
        let (nodes, setting) = match (
            scheduler.skip_reserved_nodes,
            scheduler.mends.reserved_last_node,
        ) {
            (true, true) => return,
            (false, _) => (
                "nodes that others reserved are",
                format!("{PREFIX}skip-allocate-on-nodes-with-reserved-containers"),
            ),
            (true, false) => (
                "the last node of an order, also when others reserved it, is",
                format!("{}reserved-last-node", Mends::PREFIX),
            ),
        };
        let message = format!("{nodes} proposed again and again, since `{setting}` is not true");
        let key = format!("{PREFIX}multi-node-placement-enabled");
        let help = "set it to true, or what waits behind such a proposal may wait for ever";
        self.warn("W_RESERVED_NODES", &key, message, help);
    }

    /// Reservations that are never given up for a node that is free.
    fn continue_looking(&mut self) {
        if !self.settings.scheduler.continue_looking {
            let key = format!("{PREFIX}reservations-continue-look-all-nodes");
            let message =
                "what an application reserved counts against its limits, and is not given \
                           up for a node that is free"
                    .to_owned();
            let help = "set it to true, or an application whose reservations fill its limits may \
                        wait for ever beside idle nodes";
            self.warn("W_NO_CONTINUE_LOOKING", &key, message, help);
        }
    }

    fn queue(&mut self, queue: &QueueSettings) {
        let key = |name: &str| format!("{PREFIX}{}.{name}", queue.path);
        let path = clip(&queue.path);
        if &*queue.path == "root" {
            for name in ["capacity", "maximum-capacity", "accessible-node-labels"] {
                let written = self.properties.raw(&key(name));
                if written.is_some_and(|text| !matches!(text, "100" | "100.0" | "*" | "-1")) {
                    let message = format!("`{name}` of `root` is fixed; this value has no effect");
                    self.warn("W_KEY_NO_EFFECT", &key(name), message, "");
                }
            }
        }
        let name = queue.name();
        let hidden = |c: char| {
            c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{a0}')
        };
        if name.is_empty() {
            let message = format!("`{path}` has an empty name");
            let list = format!("{PREFIX}{}.queues", queue.parent_path().unwrap_or("root"));
            self.warn(
                "W_QUEUE_NAME",
                &list,
                message,
                "remove the white space from the list",
            );
        } else if let Some(c) = name.chars().find(|&c| hidden(c)) {
            let message = format!("the name of `{path}` holds U+{:04X}", u32::from(c));
            let list = format!("{PREFIX}{}.queues", queue.parent_path().unwrap_or("root"));
            self.warn("W_QUEUE_NAME", &list, message, "");
        }
        for (label, partition) in &queue.partitions {
            if &*queue.path != "root" {
                self.partition(queue, label, partition);
            }
        }
        if queue.kind == QueueKind::Leaf {
            self.leaf(queue);
        }
        if queue.maximum_parallel <= 0 {
            let message = format!("no application of `{path}` will ever run");
            self.warn("W_MAX_APPS", &key("max-parallel-apps"), message, "");
        }
    }

    /// A list of children that nobody filled in.
    fn list_of(&mut self, queue: &QueueSettings) {
        let key = format!("{PREFIX}{}.queues", queue.path);
        if self.properties.raw(&key).is_some_and(is_template) {
            let path = clip(&queue.path);
            let message = format!("the list of queues below `{path}` is a part of a template");
            self.warn("W_QUEUE_NAME", &key, message, RENDER);
        }
    }

    fn partition(&mut self, queue: &QueueSettings, label: &str, partition: &PartitionSettings) {
        let path = clip(&queue.path);
        let low_key = QueueContext::label_key(&queue.path, label, "capacity");
        let high_key = QueueContext::label_key(&queue.path, label, "maximum-capacity");
        if !queue.accessible.contains(label) {
            let message = format!(
                "`{path}` has capacities on the label `{}`, which it may not use",
                clip(label)
            );
            let help = "add the label to accessible-node-labels";
            self.warn("W_LABEL_UNUSED", &low_key, message, help);
        }
        let legacy = self.settings.scheduler.legacy_queue_mode;
        for (key, setting) in [
            (&low_key, &partition.capacity),
            (&high_key, &partition.maximum),
        ] {
            let written = self.properties.raw(key).is_some_and(|text| text != "-1");
            let unset = if legacy {
                let nothing = LegacyCapacity::Absolute(ResourceVector::NONE);
                setting.legacy == LegacyCapacity::Unusable || setting.legacy == nothing
            } else {
                setting
                    .vector
                    .iter()
                    .all(|entry| *entry == VectorEntry::Unset)
            };
            if written && unset {
                let text = clip(self.properties.raw(key).unwrap_or_default());
                let message = format!("`{text}` counts as unset, in `{}`", clip_key(key));
                self.warn("W_CAPACITY_UNSET", key, message, "");
            }
        }
        let LegacyCapacity::Percent(most) = partition.maximum.legacy else {
            return;
        };
        if !(0.0..=100.0).contains(&most) {
            let message = format!("the maximum capacity of `{path}` is {most} %");
            self.warn(
                "W_MAXIMUM_RANGE",
                &high_key,
                message,
                "use 0 to 100, or -1 for 100",
            );
        } else if most <= 0.0 {
            let message = format!("the maximum capacity of `{path}` is 0: nothing can run in it");
            self.warn("W_CAPACITY_ZERO", &high_key, message, "");
        } else if let LegacyCapacity::Percent(low) = partition.capacity.legacy
            && low > most
        {
            let message =
                format!("the maximum capacity {most} % of `{path}` is below its capacity {low} %");
            let finding = Diagnostic::warning("W_MAXIMUM_BELOW", message)
                .at(self.properties.span(&high_key))
                .also(self.properties.span(&low_key), "the capacity")
                .help("the maximum binds; the rest of the guarantee cannot be used");
            self.push(finding);
        }
    }

    fn leaf(&mut self, queue: &QueueSettings) {
        let path = clip(&queue.path);
        // The value that counts may stand at the queue or be the scheduler's default.
        let key = |name: &str, properties: &Properties| {
            let own = format!("{PREFIX}{}.{name}", queue.path);
            if properties.raw(&own).is_some() {
                own
            } else {
                format!("{PREFIX}{name}")
            }
        };
        let share = queue.maximum_master_share;
        if !(share > 0.0 && share <= 1.0) {
            let key = key("maximum-am-resource-percent", self.properties);
            let message = format!("the share of `{path}` for application masters is {share}");
            let help = if share > 1.0 {
                "it is a fraction: 0.1 is ten percent"
            } else {
                "only the first application of the queue can become active"
            };
            self.warn("W_MASTER_SHARE", &key, message, help);
        }
        let percent = queue.leaf.user_limit_percent;
        if !(1.0..=100.0).contains(&percent) {
            let key = key("minimum-user-limit-percent", self.properties);
            let message = format!("the minimum user limit of `{path}` is {percent} %");
            self.warn("W_USER_LIMIT", &key, message, "use 1 to 100");
        }
        let factor = queue.leaf.user_limit_factor;
        let off = factor < 0.0 && (-1.0..=-1.0).contains(&factor);
        if !(factor > 0.0 || off) {
            let key = key("user-limit-factor", self.properties);
            let message = format!("the user limit factor of `{path}` is {factor}");
            self.warn(
                "W_USER_LIMIT",
                &key,
                message,
                "use a number above 0, or -1 for no limit",
            );
        }
        if queue.leaf.maximum_applications == Some(0) {
            let key = key("maximum-applications", self.properties);
            let message = format!("`{path}` admits no application");
            self.warn("W_MAX_APPS", &key, message, "");
        }
    }

    /// Siblings whose names differ only in case.
    fn siblings(&mut self) {
        let mut seen: Set<String> = Set::default();
        let mut warned = BTreeSet::new();
        for queue in &self.settings.queues {
            let folded = queue.path.to_lowercase();
            if !seen.insert(folded) {
                warned.insert(queue.path.to_string());
            }
        }
        for path in warned {
            let parent = path.rsplit_once('.').map_or("root", |(parent, _)| parent);
            let message = format!("`{}` differs from a sibling only in case", clip(&path));
            let key = format!("{PREFIX}{parent}.queues");
            self.warn("W_QUEUE_NAME", &key, message, "");
        }
    }

    /// Leaves of one name, which differ in their paths alone: one hint for all names.
    fn namesakes(&mut self) {
        let mut by_name: BTreeMap<&str, Vec<&QueueSettings>> = BTreeMap::new();
        for queue in &self.settings.queues {
            if queue.kind == QueueKind::Leaf {
                by_name.entry(queue.name()).or_default().push(queue);
            }
        }
        by_name.retain(|_, leaves| leaves.len() > 1);
        let named = by_name.first_key_value();
        let Some((name, [first, second, rest @ ..])) =
            named.map(|(name, leaves)| (*name, leaves.as_slice()))
        else {
            return;
        };
        let more = match rest.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let others = further_names(by_name.keys().skip(1));
        let (one, other) = (clip(&first.path), clip(&second.path));
        let message = format!(
            "several leaves are called `{}`: {one}, {other}{more}{others}",
            clip(name)
        );
        let parent = second
            .path
            .rsplit_once('.')
            .map_or("root", |(above, _)| above);
        let span = self.properties.span(&format!("{PREFIX}{parent}.queues"));
        let finding = Diagnostic::new("H_QUEUE_NAMESAKE", Severity::Hint, message)
            .at(span)
            .help("submit to such a queue by its full path; the name alone is refused");
        self.push(finding);
    }
}

fn unknown(rest: &str, near: Option<String>, start: &str) -> Diagnostic {
    let message = format!("no key `{}{}`", clip(start), clip(rest));
    let finding = Diagnostic::warning("W_KEY_UNKNOWN", message);
    match near {
        Some(near) => finding.help(format!("did you mean `{start}{near}`?")),
        None => finding,
    }
}

/// The end of a hint about names: those that it holds for as well, at most [`NAMED`] of them.
fn further_names<'a>(names: impl Iterator<Item = &'a &'a str>) -> String {
    let names: Vec<String> = names.map(|name| clip(name)).collect();
    let (shown, left) = names.split_at(names.len().min(NAMED));
    match (shown, left.len()) {
        ([], _) => String::new(),
        (shown, 0) => format!("; the same holds for `{}`", shown.join("`, `")),
        (shown, left) => {
            let shown = shown.join("`, `");
            format!("; the same holds for `{shown}` and {left} more")
        }
    }
}

/// A key without the scheduler's prefix.
fn foreign(key: &str, site: bool) -> Option<Diagnostic> {
    if key.contains("yarn.scheduler.capacity") {
        let odd = key.chars().find(|c| !c.is_ascii_graphic());
        let odd = odd.map_or(String::new(), |c| {
            format!(": it holds U+{:04X}", u32::from(c))
        });
        let message = format!("`{}` is not a key of the scheduler{odd}", clip_key(key));
        return Some(Diagnostic::warning("W_KEY_SPACE", message));
    }
    if let Some(near) = keys::nearest_site(key) {
        return Some(unknown(key, Some(near), ""));
    }
    if let Some(name) = key.strip_prefix(Mends::PREFIX) {
        let mut names = Mends::NAMES.iter();
        let known = names.any(|(known, _)| *known == name);
        return (!known).then(|| {
            let names = Mends::NAMES.map(|(name, _)| name).join("`, `");
            unknown(key, None, "").help(format!("the mends are `{names}`"))
        });
    }
    let known = ["yarn.", "hadoop.", "fs.", "ipc.", "ha."];
    if site || known.iter().any(|start| key.starts_with(start)) {
        return None;
    }
    let near = keys::nearest_global(key);
    Some(unknown(key, near.map(|near| format!("{PREFIX}{near}")), ""))
}

/// A key that starts with a queue's path.
fn queue_key(rest: &str, kinds: &Map<String, QueueKind>) -> Option<Diagnostic> {
    let mut at = rest.len();
    while let Some(dot) = rest[..at].rfind('.') {
        let (path, name) = (&rest[..dot], &rest[dot + 1..]);
        at = dot;
        let Some(kind) = kinds.get(path) else {
            continue;
        };
        if keys::is_queue(name) {
            return no_effect(path, name, *kind);
        }
        if path.contains('*') || name.split('.').any(|part| part == "*") {
            return None;
        }
        let start = format!("{PREFIX}{path}.");
        let mut parts = name.match_indices('.').map(|(dot, _)| dot);
        if let Some(dot) = parts.find(|&dot| keys::is_queue(&name[dot + 1..])) {
            let queue = format!("{path}.{}", &name[..dot]);
            // Keys of a queue that a submission may create are put there on purpose.
            if *kind == QueueKind::ManagedParent {
                return None;
            }
            let message = format!("no `queues` list names the queue `{}`", clip(&queue));
            let help = format!("add it to a list, or remove the keys of `{}`", clip(&queue));
            return Some(Diagnostic::warning("W_QUEUE_UNLISTED", message).help(help));
        }
        return Some(unknown(name, keys::nearest_queue(name), &start));
    }
    Some(unknown(rest, None, PREFIX))
}

fn no_effect(path: &str, name: &str, kind: QueueKind) -> Option<Diagnostic> {
    let leaf = kind == QueueKind::Leaf;
    let (what, useless) = if leaf {
        ("a leaf", has(KeyScope::Parent, name))
    } else {
        ("a parent", has(KeyScope::Leaf, name))
    };
    useless.then(|| {
        let message = format!(
            "`{name}` has no effect on `{}`, which is {what}",
            clip(path)
        );
        Diagnostic::warning("W_KEY_NO_EFFECT", message)
    })
}
