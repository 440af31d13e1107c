//! Settings of one queue, below those of its parent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::queue::{
    Accessible, ChildOrder, ConfiguredState, LifetimeSettings, QueueAccess, QueueKind,
    QueueSettings, ReferenceRules,
};
use crate::resource::{Calculator, ResourceVector};

use super::access;
use super::amount::{self, BadAllocation};
use super::diagnostic::{Diagnostic, clip};
use super::number;
use super::prefix::PREFIX;
use super::properties::Look;
use super::scheduler;

pub(super) const LABELS: &str = "accessible-node-labels";

/// What every queue of a configuration is read with.
pub(super) struct QueueContext<'a> {
    pub(super) look: &'a Look<'a>,
    pub(super) types: &'a [Arc<str>],
    pub(super) calculator: Calculator,
    pub(super) legacy: bool,
    /// Largest allocation that a queue may have.
    pub(super) largest: ResourceVector,
    /// `yarn.cluster.max-application-priority`.
    pub(super) priority: i32,
    /// What the release that is followed reads otherwise.
    pub(super) rules: ReferenceRules,
}

/// A queue's settings and what only the checks of the tree need.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) settings: QueueSettings,
    pub(super) partitions: BTreeMap<Arc<str>, Numbers>,
    pub(super) state: ConfiguredState,
}

/// The numbers that legacy mode keeps of a queue on one partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Guaranteed share as a fraction; 0 when the value is no percentage.
    pub(super) capacity: f32,
    /// −1 when the value is no weight.
    pub(super) weight: f32,
    pub(super) minimum: ResourceVector,
    /// Whether the queue counts as one of absolute capacity.
    pub(super) absolute: bool,
    pub(super) maximum: ResourceVector,
}

impl QueueContext<'_> {
    /// A key of a queue.
    pub(super) fn key(path: &str, name: &str) -> String {
        format!("{PREFIX}{path}.{name}")
    }

    /// A key of a queue on a partition.
    pub(super) fn label_key(path: &str, label: &str, name: &str) -> String {
        if label.is_empty() {
            Self::key(path, name)
        } else {
            format!("{PREFIX}{path}.{LABELS}.{label}.{name}")
        }
    }

    /// Names of the children, in order; a list of white space names one queue, the empty name.
    pub(super) fn children(&self, path: &str) -> Vec<String> {
        let text = self.look.text(&Self::key(path, "queues"));
        let text = text.unwrap_or_default();
        let names = text.split(',').filter(|name| !name.is_empty());
        names.map(|name| number::trim(name).to_owned()).collect()
    }

    /// The kind of a queue with or without children.
    pub(super) fn kind(&self, path: &str, children: bool) -> QueueKind {
        let flag = |name: &str| self.look.flag(&Self::key(path, name), false);
        let reservable = flag("reservable");
        let managed = flag("auto-create-child-queue.enabled");
        let inner = children || managed || flag("auto-queue-creation-v2.enabled");
        if reservable && inner {
            let message = format!("`{}` has children, so it cannot be reservable", clip(path));
            let key = Self::key(path, "reservable");
            self.look.fail("reservable_parent", &key, message);
        }
        match (reservable, managed, inner) {
            (true, _, false) => QueueKind::Plan,
            (_, true, _) => QueueKind::ManagedParent,
            (_, _, true) => QueueKind::Parent,
            _ => QueueKind::Leaf,
        }
    }

    /// Reads a queue in the order of the original, which decides what error comes first.
    pub(super) fn read(&self, path: &str, kind: QueueKind, parent: Option<&Read>) -> Read {
        let above = parent.map(|parent| &parent.settings);
        let accessible = self.accessible(path, above);
        let default_partition = self.default_partition(path, &accessible, above);
        let (settings, numbers) = self.partitions(path, parent);
        let maximum_allocation = self.maximum_allocation(path, above);
        let configured = self.state(path);
        let state = self.effective_state(path, configured, parent);
        let access = self.access(path);
        let user_weights = self.user_weights(path, above);
        let key = |name: &str| Self::key(path, name);
        let preemption_disabled = self.preemption_disabled(path);
        let intra = self.intra_preemption_disabled(path);
        let priority = self.look.int(&key("priority"), 0);
        let node_policy = self.node_policy(path);
        let lifetime = self.lifetime(path);
        let parallel = self
            .look
            .int(&scheduler::key("max-parallel-apps"), i32::MAX);
        let maximum_parallel = self.look.plain_int(&key("max-parallel-apps"), parallel);
        let mut queue = QueueSettings {
            path: path.into(),
            kind,
            dynamic: false,
            accessible,
            partitions: settings,
            default_partition,
            state: configured,
            priority,
            child_order: ChildOrder::Utilization,
            maximum_allocation,
            maximum_parallel,
            user_weights,
            maximum_master_share: self.master_share(path),
            leaf: self.leaf(path, kind == QueueKind::Leaf),
            creation: self.creation(path, kind),
            preemption_disabled,
            intra_queue_preemption_disabled: intra || preemption_disabled,
            lifetime,
            node_policy,
            access,
        };
        if kind == QueueKind::Leaf {
            self.check_leaf(&mut queue);
        } else {
            queue.child_order = self.child_order(path, above);
            self.check_template(&queue);
        }
        Read {
            settings: queue,
            partitions: numbers,
            state,
        }
    }

    fn accessible(&self, path: &str, above: Option<&QueueSettings>) -> Accessible {
        let Some(above) = above else {
            return Accessible::All;
        };
        let key = Self::key(path, LABELS);
        let Some(text) = self.look.text(&key) else {
            return above.accessible.clone();
        };
        let names = text.split(',').map(number::trim);
        let names: BTreeSet<Arc<str>> = names.filter(|n| !n.is_empty()).map(Arc::from).collect();
        let own = if names.contains("*") {
            Accessible::All
        } else {
            Accessible::Only(names)
        };
        let outside = match (&above.accessible, &own) {
            (Accessible::Only(_), Accessible::All) => Some("*".to_owned()),
            (Accessible::Only(more), Accessible::Only(names)) => {
                names.difference(more).next().map(ToString::to_string)
            }
            _ => None,
        };
        // Children of root are not measured by it: it may use everything.
        if let Some(label) = outside
            && above.parent_path().is_some()
        {
            let message = format!(
                "`{}` may use the label `{}`, its parent may not",
                clip(path),
                clip(&label)
            );
            self.look.fail("label_not_in_parent", &key, message);
        }
        own
    }

    fn default_partition(
        &self,
        path: &str,
        accessible: &Accessible,
        above: Option<&QueueSettings>,
    ) -> Option<Arc<str>> {
        let key = Self::key(path, "default-node-label-expression");
        if let Some(text) = self.look.text(&key) {
            return Some(number::trim(&text).into());
        }
        let above = above?;
        let inherits = match (accessible, &above.accessible) {
            (Accessible::All, Accessible::All) => true,
            (Accessible::Only(own), Accessible::Only(more)) => more.is_subset(own),
            _ => false,
        };
        inherits.then(|| above.default_partition.clone()).flatten()
    }

    fn maximum_allocation(&self, path: &str, above: Option<&QueueSettings>) -> ResourceVector {
        let mut own = above.map_or(self.largest, |above| above.maximum_allocation);
        let key = Self::key(path, "maximum-allocation");
        let text = self.look.text(&key).filter(|text| !text.is_empty());
        let Some(text) = text else {
            for (i, name) in ["mb", "vcores"].into_iter().enumerate() {
                let key = Self::key(path, &format!("maximum-allocation-{name}"));
                let value: i64 = self.look.int(&key, -1).into();
                if value != -1 {
                    own.set(i, value);
                    self.check_allocation(path, &key, value, i);
                }
            }
            return own;
        };
        match amount::allocation(&text, self.types) {
            Ok(amounts) => {
                for i in 0..self.types.len() {
                    self.check_allocation(path, &key, amounts[i], i);
                }
                amounts
            }
            Err(bad) => {
                let message = match bad {
                    BadAllocation::Form(pair) => {
                        format!("`{}` is not of the form `type=amount`", clip(&pair))
                    }
                    BadAllocation::Unit(pair) => {
                        format!("the unit of `{}` is neither M nor G", clip(&pair))
                    }
                    BadAllocation::Type(name) => {
                        format!("there is no resource type `{}`", clip(&name))
                    }
                    BadAllocation::Number(pair) => {
                        format!("the number of `{}` is too large", clip(&pair))
                    }
                };
                self.look.fail("maximum_allocation_syntax", &key, message);
                own
            }
        }
    }

    fn check_allocation(&self, path: &str, key: &str, value: i64, index: usize) {
        if value > self.largest[index] {
            let message = format!(
                "the maximum allocation of `{}` has {value} {}, the cluster's has {}",
                clip(path),
                self.types[index],
                self.largest[index]
            );
            self.look.fail("maximum_allocation", key, message);
        }
    }

    fn state(&self, path: &str) -> Option<ConfiguredState> {
        let key = Self::key(path, "state");
        let text = self.look.text(&key)?;
        match text.to_uppercase().as_str() {
            "RUNNING" => Some(ConfiguredState::Running),
            "STOPPED" => Some(ConfiguredState::Stopped),
            _ => {
                let message = format!("no state `{}`", clip(&text));
                let finding = Diagnostic::error("state_unknown", message)
                    .at(self.look.properties().span(&key))
                    .help("use RUNNING or STOPPED, without white space");
                self.look.note(finding);
                None
            }
        }
    }

    fn effective_state(
        &self,
        path: &str,
        configured: Option<ConfiguredState>,
        parent: Option<&Read>,
    ) -> ConfiguredState {
        let above = parent.map_or(ConfiguredState::Running, |parent| parent.state);
        if configured == Some(ConfiguredState::Running) && above == ConfiguredState::Stopped {
            let message = format!("`{}` is to run, but its parent is stopped", clip(path));
            self.look
                .fail("state_of_parent", &Self::key(path, "state"), message);
        }
        configured.unwrap_or(above)
    }

    fn access(&self, path: &str) -> QueueAccess {
        let default = if path == "root" { "*" } else { " " };
        let list = |name: &str| {
            let text = self.look.text(&Self::key(path, name));
            access::access_list(text.as_deref().unwrap_or(default))
        };
        QueueAccess {
            submit: list("acl_submit_applications"),
            administer: list("acl_administer_queue"),
            priorities: Vec::new(),
        }
    }

    // As UserWeights.createByConfig.
    fn user_weights(&self, path: &str, above: Option<&QueueSettings>) -> BTreeMap<String, f32> {
        let mut all = above
            .map(|above| above.user_weights.clone())
            .unwrap_or_default();
        let prefix = Self::key(path, "user-settings.");
        for key in self.look.keys_below(&prefix) {
            let rest = &key[prefix.len()..];
            let Some(at) = rest.find(".weight") else {
                continue;
            };
            let before = rest[..at].chars().next_back();
            let user = format!("{}{}", &rest[..at], &rest[at + ".weight".len()..]);
            if before.is_none_or(char::is_whitespace) || user.is_empty() {
                continue;
            }
            let weight = self.look.float(&key, f32::NEG_INFINITY);
            if weight.is_nan() {
                self.look.fail("E_NAN", &key, "a weight that is no number");
            } else if weight != f32::NEG_INFINITY || self.look.has(&key) {
                all.insert(user, weight);
            }
        }
        all
    }

    // As CSQueuePreemptionSettings.isQueueHierarchyPreemptionDisabled.
    fn preemption_disabled(&self, path: &str) -> bool {
        let monitors = "yarn.resourcemanager.scheduler.monitor.enable";
        !self.look.flag(monitors, false) || self.inherited_flag(path, "disable_preemption")
    }

    // As CSQueuePreemptionSettings.isIntraQueueHierarchyPreemptionDisabled.
    pub(super) fn intra_preemption_disabled(&self, path: &str) -> bool {
        let enabled =
            "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled";
        let name = "intra-queue-preemption.disable_preemption";
        !self.look.flag(enabled, false) || self.inherited_flag(path, name)
    }

    /// The flag of the nearest queue that sets it, this one or an ancestor.
    fn inherited_flag(&self, path: &str, name: &str) -> bool {
        let mut path = path;
        loop {
            let text = self.look.text(&Self::key(path, name));
            if let Some(flag) = text.and_then(|text| number::boolean(&text)) {
                return flag;
            }
            match path.rsplit_once('.') {
                Some((above, _)) => path = above,
                None => return false,
            }
        }
    }

    // As CapacitySchedulerConfiguration.getMultiNodesSortingAlgorithmPolicy.
    fn node_policy(&self, path: &str) -> Option<Arc<str>> {
        let own = Self::key(path, "multi-node-sorting.policy");
        let general = scheduler::key("multi-node-sorting.policy");
        let key = if self.look.has(&own) { own } else { general };
        let name = self.look.text(&key).filter(|name| !name.is_empty())?;
        let name = number::trim(&name);
        match scheduler::node_policy_class(self.look, name) {
            None => {
                let message = format!("the policy `{}` has no class", clip(name));
                self.look.fail("multi_node_policy", &key, message);
                None
            }
            Some((key, class)) if scheduler::node_policy(&class).is_none() => {
                let properties = self.look.properties();
                let finding = scheduler::unknown_node_policy(properties, &key, &class);
                self.look.note(finding);
                None
            }
            Some(_) => Some(name.into()),
        }
    }

    // As QueueAppLifetimeAndLimitSettings.
    fn lifetime(&self, path: &str) -> LifetimeSettings {
        let ancestors = path.match_indices('.').map(|(at, _)| &path[..at]);
        let (mut maximum_s, mut default_s, mut known) = (-1, -1, false);
        for part in ancestors.chain([path]) {
            let own = self.lifetime_of(part, path, MAXIMUM);
            if own >= 0 || part == "root" {
                maximum_s = own;
            }
            let own = self.lifetime_of(part, path, DEFAULT);
            known |= own >= 0;
            default_s = match own {
                _ if own >= 0 || part == "root" => own,
                _ if known && default_s <= maximum_s => default_s,
                _ => maximum_s,
            };
            if default_s <= 0 && part != "root" {
                default_s = maximum_s;
            }
        }
        if maximum_s > 0 && default_s > maximum_s {
            let message = format!(
                "the default lifetime {default_s} of `{}` is above its maximum {maximum_s}",
                clip(path)
            );
            self.look
                .fail("lifetime", &Self::key(path, DEFAULT), message);
        }
        LifetimeSettings {
            maximum_s,
            default_s,
        }
    }

    /// A number of this queue or, without noting errors again, of an ancestor.
    fn lifetime_of(&self, part: &str, path: &str, name: &str) -> i64 {
        let key = Self::key(part, name);
        if part == path {
            return self.look.long(&key, -1);
        }
        let text = self.look.properties().text(&key);
        let text = text.ok().flatten();
        text.and_then(|text| number::integer(&text)).unwrap_or(-1)
    }

    pub(super) fn master_share(&self, path: &str) -> f32 {
        let name = "maximum-am-resource-percent";
        let general = self.look.float(&scheduler::key(name), 0.1);
        self.look.float(&Self::key(path, name), general)
    }

    fn child_order(&self, path: &str, above: Option<&QueueSettings>) -> ChildOrder {
        let key = Self::key(path, "ordering-policy");
        let Some(text) = self.look.text(&key) else {
            return above.map_or(ChildOrder::Utilization, |above| above.child_order);
        };
        match number::trim(&text) {
            "utilization" => ChildOrder::Utilization,
            "priority-utilization" => ChildOrder::PriorityUtilization,
            other => {
                let message = format!("no order of queues `{}`", clip(other));
                let finding = Diagnostic::error("ordering_policy", message)
                    .at(self.look.properties().span(&key))
                    .help("a parent has `utilization` or `priority-utilization`");
                self.look.note(finding);
                ChildOrder::Utilization
            }
        }
    }
}

const MAXIMUM: &str = "maximum-application-lifetime";
const DEFAULT: &str = "default-application-lifetime";
