//! Builds the queue tree and checks each parent against its children.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::queue::{
    CapacitySetting, ConfiguredState, LegacyCapacity, QueueKind, QueueSettings, VectorEntry,
};
use crate::resource::{ResourceVector, share};

use super::amount;
use super::diagnostic::{Diagnostic, clip};
use super::other_files::{RENDER, is_template};
use super::prefix::PREFIX;
use super::queue::{Numbers, QueueContext, Read};

/// Levels of queues, root included.
const DEPTH: usize = 32;
/// Queues of one tree.
const QUEUES: usize = 1_000_000;
/// Children of one queue.
const CHILDREN: usize = 100_000;
/// Bytes of a name and of a path.
pub(super) const NAME: usize = 256;
pub(super) const PATH: usize = 4_096;

/// How far a sum of fractions may be from 0 or 1.
const PRECISION: f32 = 0.0005;

/// Faults of a value that make the sums of its siblings meaningless.
const UNREADABLE: &[&str] = &[
    "E_NAN",
    "E_RANGE",
    "capacity_out_of_range",
    "not_a_number",
    "E_DIGITS",
    "E_MAX_QUEUES",
];

/// What legacy mode takes the capacities of some siblings for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LevelMode {
    Percent,
    Weight,
    Absolute,
}

/// The vectors of a plan queue are made of the percentages that legacy mode reads.
// As AbstractCSQueue.overrideCapacityVectorsForSpecialQueues.
fn show_as_percentages(read: &mut Read, types: usize) {
    for partition in read.settings.partitions.values_mut() {
        let percent = |value: &LegacyCapacity, otherwise| {
            let share = match value {
                LegacyCapacity::Percent(percent) => share::quotient(*percent, 100.0),
                _ => otherwise,
            };
            vec![VectorEntry::Percent(f64::from(share::product(share, 100.0))); types]
        };
        partition.capacity.vector = percent(&partition.capacity.legacy, 0.0);
        partition.maximum.vector = percent(&partition.maximum.legacy, 1.0);
    }
}

/// A percentage as a fraction that is not negative, or what stands for other kinds of values.
fn fraction(value: &LegacyCapacity, otherwise: f32) -> f32 {
    match value {
        LegacyCapacity::Percent(percent) => share::quotient(*percent, 100.0).max(0.0),
        _ => otherwise,
    }
}

/// Builds a tree in the order of the original.
pub(super) struct Builder<'a> {
    context: QueueContext<'a>,
    reads: Vec<Read>,
    doubled: Vec<(String, String)>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(context: QueueContext<'a>) -> Self {
        Self {
            context,
            reads: Vec::new(),
            doubled: Vec::new(),
        }
    }

    /// The queues, parents before their children.
    pub(super) fn build(mut self) -> Vec<QueueSettings> {
        if self.lists_too_many() {
            let key = format!("{PREFIX}root.queues");
            let message = format!("more than {QUEUES} queues");
            self.context.look.fail("E_LIMIT", &key, message);
            return vec![self.context.read("root", QueueKind::Parent, None).settings];
        }
        self.queue("root", None, 1);
        for (parent, name) in std::mem::take(&mut self.doubled) {
            let message = format!("`{}` is named twice below `{}`", clip(&name), clip(&parent));
            let key = format!("{PREFIX}{parent}.queues");
            self.context.look.fail("E_QUEUE_DUP", &key, message);
        }
        self.reads.into_iter().map(|read| read.settings).collect()
    }

    /// Whether the lists name more queues than a tree may have, before any of them is made.
    fn lists_too_many(&self) -> bool {
        let look = self.context.look;
        let lists = look.keys_below(PREFIX);
        let lists = lists.iter().filter(|key| key.ends_with(".queues"));
        let names = lists.filter_map(|key| look.properties().raw(key));
        names
            .map(|list| list.matches(',').count() + 1)
            .sum::<usize>()
            >= QUEUES
    }

    fn queue(&mut self, path: &str, parent: Option<usize>, depth: usize) -> usize {
        let look = self.context.look;
        let children = self.context.children(path);
        let kind = self.context.kind(path, !children.is_empty());
        if parent.is_none() && matches!(kind, QueueKind::Leaf | QueueKind::Plan) {
            self.no_children();
        }
        if kind != QueueKind::Leaf {
            // The original reads the depth of every parent, whether or not anything is created
            // below it. As AbstractParentQueue.setupQueueConfigs.
            self.context.depth(path);
        }
        let above = parent.map(|parent| &self.reads[parent]);
        let mut read = self.context.read(path, kind, above);
        if kind == QueueKind::Plan {
            show_as_percentages(&mut read, self.context.types.len());
        }
        let at = self.reads.len();
        self.reads.push(read);
        let mut below = Vec::with_capacity(children.len());
        if kind == QueueKind::Plan {
            below.push(self.reservation(path, at));
        }
        let key = format!("{PREFIX}{path}.queues");
        if children.len() > CHILDREN {
            let message = format!("`{}` has more than {CHILDREN} children", clip(path));
            look.fail("E_LIMIT", &key, message);
            return at;
        }
        let before = look.count();
        let mut names = BTreeSet::new();
        for name in &children {
            if !names.insert(name) {
                self.doubled.push((path.to_owned(), name.clone()));
            }
            let child = format!("{path}.{name}");
            if self.allowed(&key, name, &child, depth) {
                below.push(self.queue(&child, Some(at), depth + 1));
            }
        }
        let readable = !look.noted(before, UNREADABLE);
        if self.context.legacy && readable && !below.is_empty() && kind != QueueKind::Plan {
            self.check(at, &below);
        }
        if !self.context.legacy && kind == QueueKind::Parent && !below.is_empty() {
            self.check_types(at);
        }
        at
    }

    /// Notes that the root is no parent; names the file when it is one of another kind.
    fn no_children(&self) {
        let look = self.context.look;
        let key = format!("{PREFIX}root.queues");
        let (message, help) = match look.properties().other_file() {
            Some(other) => {
                let message = format!("`root` has no children: the file is {}", other.what);
                (message, other.next.to_owned())
            }
            None => {
                let message = "`root` has no children".to_owned();
                (message, format!("name them in `{key}`"))
            }
        };
        let span = look.properties().span(&key);
        let finding = Diagnostic::error("root_without_children", message)
            .at(span.or_else(|| look.properties().start()))
            .help(help);
        look.note(finding);
    }

    /// Whether a child can be a queue here.
    fn allowed(&self, key: &str, name: &str, path: &str, depth: usize) -> bool {
        let look = self.context.look;
        let refusal = if name.contains('.') {
            let message = format!(
                "the name `{}` holds a `.`, which separates names",
                clip(name)
            );
            Some(("E_QUEUE_NAME", message))
        } else if name.len() > NAME || path.len() > PATH {
            let message = format!(
                "the name `{}` has more than {NAME} bytes, or its path more than {PATH}",
                clip(name)
            );
            Some(("E_LIMIT", message))
        } else if depth >= DEPTH {
            let message = format!("`{}` is more than {DEPTH} levels deep", clip(path));
            Some(("E_QUEUE_DEPTH", message))
        } else if self.reads.len() >= QUEUES {
            Some(("E_LIMIT", format!("more than {QUEUES} queues")))
        } else {
            None
        };
        let allowed = refusal.is_none();
        if let Some((code, message)) = refusal {
            let properties = look.properties();
            let finding = Diagnostic::error(code, message).at(properties.span(key));
            look.note(match is_template(properties.raw(key).unwrap_or_default()) {
                true => finding.help(RENDER),
                false => finding,
            });
        }
        allowed
    }

    /// The leaf that a plan queue has from the start.
    fn reservation(&mut self, path: &str, plan: usize) -> usize {
        // As the constructor of PlanQueue, which reads these of itself for its reservations.
        let context = &self.context;
        let _largest: i32 = context
            .look
            .int(&QueueContext::key(path, "maximum-applications"), -1);
        let (user_limit_percent, user_limit_factor) = context.user_limits(path);
        let name = path.rsplit('.').next().unwrap_or(path);
        let path = format!("{path}.{name}-default");
        let mut read = self
            .context
            .read(&path, QueueKind::Leaf, Some(&self.reads[plan]));
        self.check_reservation(plan);
        let types = self.context.types.len();
        let whole = CapacitySetting {
            legacy: LegacyCapacity::Percent(100.0),
            vector: vec![VectorEntry::Percent(100.0); types],
        };
        for partition in read.settings.partitions.values_mut() {
            partition.capacity = whole.clone();
            partition.maximum = whole.clone();
            // The original never loads the share of a reservation queue by partition.
            partition.maximum_master_share = 0.0;
        }
        read.settings.maximum_master_share = 1.0;
        read.settings.leaf.user_limit_percent = user_limit_percent;
        read.settings.leaf.user_limit_factor = user_limit_factor;
        let numbers = Numbers {
            capacity: 1.0,
            weight: -1.0,
            minimum: ResourceVector::NONE,
            absolute: false,
            maximum: ResourceVector::NONE,
        };
        read.partitions = BTreeMap::from([(Arc::from(""), numbers)]);
        read.state = ConfiguredState::Running;
        self.reads.push(read);
        self.reads.len() - 1
    }

    /// The leaf of a plan takes the plan's whole capacity and maximum, which must be in order.
    // As AbstractAutoCreatedLeafQueue.setEntitlement, CSQueueUtils.checkMaxCapacity.
    fn check_reservation(&self, plan: usize) {
        let path = &self.reads[plan].settings.path;
        let mut shares = (1.0, 1.0);
        for read in &self.reads {
            let own = &read.settings.path;
            let inside = path.strip_prefix(&**own);
            if &**own == "root"
                || !inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            {
                continue;
            }
            let Some(of) = read.settings.partitions.get("") else {
                continue;
            };
            shares.0 = share::product(shares.0, fraction(&of.capacity.legacy, 0.0));
            shares.1 = share::product(shares.1, fraction(&of.maximum.legacy, 1.0));
        }
        if shares.0 > shares.1 {
            let message = format!("the maximum of `{}` is below its capacity", clip(path));
            let key = format!("{PREFIX}{path}.maximum-capacity");
            let look = self.context.look;
            look.fail("maximum_capacity_out_of_range", &key, message);
        }
    }

    /// Outside legacy mode the vector of a parent with children names types of the cluster alone.
    /// Vectors of other queues are only read by the cluster's types.
    // As AbsoluteResourceCapacityCalculator.setNormalizedResourceRatio.
    fn check_types(&self, parent: usize) {
        let QueueContext {
            look, types, rules, ..
        } = &self.context;
        let settings = &self.reads[parent].settings;
        for label in settings.partitions.keys().filter(|_| parent != 0) {
            let key = QueueContext::label_key(&settings.path, label, "capacity");
            let text = look.text(&key).unwrap_or_default();
            let named = amount::named_vector(&text, types, rules).unwrap_or_default();
            if let Some((name, _)) = named.get(types.len()) {
                let (path, name) = (clip(&settings.path), clip(name));
                let message =
                    format!("there is no resource type `{name}`, for the parent `{path}`");
                look.fail("E_VECTOR_TYPE", &key, message);
            }
        }
    }

    // As AbstractParentQueue.setChildQueues.
    fn check(&self, parent: usize, children: &[usize]) {
        let Some(below) = self.mode(parent, children) else {
            return;
        };
        let Some(own) = self.mode(parent, &[parent]) else {
            return;
        };
        let path = &self.reads[parent].settings.path;
        if below == LevelMode::Absolute || own == LevelMode::Absolute {
            if below != own && &**path != "root" {
                let message = format!(
                    "`{}` and its children do not both have absolute capacities",
                    clip(path)
                );
                self.capacity_error(
                    "absolute_below_relative_parent",
                    parent,
                    children,
                    "",
                    message,
                );
                return;
            }
            self.check_minimums(parent, children);
        }
        if below == LevelMode::Percent {
            for label in self.reads[parent].partitions.keys() {
                self.check_sum(parent, children, own, label);
            }
        }
    }

    /// The mode of some queues on the partitions of `parent`; nothing when they mix modes.
    // As AbstractParentQueue.getCapacityConfigurationTypeForQueues: an absolute value makes it
    // forget the percentages that it saw before.
    fn mode(&self, parent: usize, queues: &[usize]) -> Option<LevelMode> {
        let (mut percent, mut weight, mut absolute) = (false, false, false);
        for &queue in queues {
            for label in self.reads[parent].partitions.keys() {
                let Some(numbers) = self.reads[queue].partitions.get(label) else {
                    continue;
                };
                percent |= numbers.capacity > 0.0;
                weight |= numbers.weight >= 0.0;
                if numbers.absolute {
                    absolute = true;
                    percent = false;
                }
            }
        }
        let root = queues == [0];
        if !root && u8::from(percent) + u8::from(weight) + u8::from(absolute) > 1 {
            let path = clip(&self.reads[parent].settings.path);
            let message =
                format!("the children of `{path}` mix percentages, weights and absolute values");
            self.capacity_error("mixed_capacity_modes", parent, queues, "", message);
            return None;
        }
        Some(if weight || queues.is_empty() {
            LevelMode::Weight
        } else if absolute {
            LevelMode::Absolute
        } else {
            LevelMode::Percent
        })
    }

    fn check_minimums(&self, parent: usize, children: &[usize]) {
        for (label, own) in &self.reads[parent].partitions {
            let mut sum = ResourceVector::NONE;
            for &child in children {
                if let Some(numbers) = self.reads[child].partitions.get(label) {
                    let more = numbers.minimum;
                    sum = ResourceVector::build(|i| sum[i].saturating_add(more[i]));
                }
            }
            let cluster = ResourceVector::NONE;
            let calculator = self.context.calculator;
            if !own.minimum.is_none() && calculator.compare(&cluster, &own.minimum, &sum).is_lt() {
                let message = format!(
                    "`{}` has {}, its children have {sum} together",
                    clip(&self.reads[parent].settings.path),
                    own.minimum
                );
                self.capacity_error("children_exceed_parent", parent, children, label, message);
            }
        }
    }

    fn check_sum(&self, parent: usize, children: &[usize], own: LevelMode, label: &str) {
        let read = &self.reads[parent];
        let capacity = read.partitions[label].capacity;
        let mut sum = 0.0;
        for &child in children {
            let numbers = self.reads[child].partitions.get(label);
            sum = share::sum(sum, numbers.map_or(0.0, |numbers| numbers.capacity));
        }
        let path = clip(&read.settings.path);
        let place = if label.is_empty() {
            String::new()
        } else {
            format!(" on the label `{}`", clip(label))
        };
        // Far finer than `PRECISION`, and without the error of a sum in `f32`.
        let percent = format!("{:.3}", share::product(sum, 100.0));
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        let key = format!("{PREFIX}{}.allow-zero-capacity-sum", read.settings.path);
        let zero_allowed = || self.context.look.flag(&key, false);
        let message = if share::distance(1.0, sum) <= PRECISION {
            if own != LevelMode::Percent || share::magnitude(capacity) > 0.0 || zero_allowed() {
                return;
            }
            format!("the children of `{path}` have capacities{place}, but the queue has none")
        } else if share::magnitude(sum) > PRECISION {
            format!(
                "the capacities of the children of `{path}`{place} sum to {percent} %, not 100 %"
            )
        } else {
            if own != LevelMode::Percent
                || share::magnitude(capacity) <= PRECISION
                || zero_allowed()
            {
                return;
            }
            format!("the queue `{path}` has a capacity{place}, but its children have none")
        };
        self.capacity_error("capacity_sum", parent, children, label, message);
    }

    /// Notes an error about capacities, with those of the children.
    fn capacity_error(
        &self,
        code: &'static str,
        parent: usize,
        children: &[usize],
        label: &str,
        message: String,
    ) {
        let properties = self.context.look.properties();
        let path = &self.reads[parent].settings.path;
        let key = format!("{PREFIX}{path}.queues");
        let list = properties.span(&key);
        let help = match code {
            _ if is_template(properties.raw(&key).unwrap_or_default()) => RENDER,
            "capacity_sum" => {
                "let the values sum to 100, or give all siblings weights (`7w`, `3w`)"
            }
            "mixed_capacity_modes" => {
                "give all siblings the same kind of value, or set legacy-queue-mode.enabled to false"
            }
            "children_exceed_parent" => "raise the capacity of the parent, or lower the children's",
            _ => "give the queue and its children the same kind of value",
        };
        let mut finding = Diagnostic::error(code, message).at(list).help(help);
        for &child in children.iter().take(12) {
            let path = &self.reads[child].settings.path;
            let key = QueueContext::label_key(path, label, "capacity");
            let written = properties.raw(&key).unwrap_or_default();
            finding = finding.also(properties.span(&key), format!("{path}: {}", clip(written)));
        }
        self.context.look.note(finding);
    }
}
