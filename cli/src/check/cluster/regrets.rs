//! Hints about a configuration on a given cluster: what works as it reads and hurts later.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{PartitionView, QueueView, ResourceVector, StateView};
use capsched::config::{Diagnostic, Loaded, Span};
use capsched::queue::{LegacyCapacity, QueueSettings, VectorEntry};

use super::hint;

/// All hints; each code stands once for a parent or a label, the rest is counted.
pub(super) fn hints(loaded: &Loaded, state: &StateView) -> Vec<Diagnostic> {
    let on = OnCluster { loaded, state };
    let mut all = on.scaled_down();
    all.extend(on.nothing_fits());
    all.extend(on.one_master());
    all.extend(on.labels_without_nodes());
    all.extend(on.labels_without_queues());
    all
}

struct OnCluster<'a> {
    loaded: &'a Loaded,
    state: &'a StateView,
}

impl<'a> OnCluster<'a> {
    fn place(&self, path: &str, name: &str) -> Option<Span> {
        let key = |name: &str| format!("yarn.scheduler.capacity.{path}.{name}");
        let properties = &self.loaded.properties;
        let own = properties.span(&key(name));
        own.or_else(|| properties.span(&key("capacity")))
    }

    fn settings(&self, path: &str) -> Option<&'a QueueSettings> {
        let mut queues = self.loaded.settings.queues.iter();
        queues.find(|queue| &*queue.path == path)
    }

    fn leaves(&self) -> impl Iterator<Item = (&'a QueueView, &'a PartitionView)> {
        let running = |queue: &&QueueView| queue.leaf.is_some() && queue.state.is_none();
        let leaves = self.state.queues.iter().filter(running);
        leaves.filter_map(|queue| Some((queue, queue.labels.get("")?)))
    }

    /// One hint about several queues, at the first of them.
    fn about(
        &self,
        code: &'static str,
        queues: &[(&QueueView, String)],
        name: &str,
        help: &str,
    ) -> Option<Diagnostic> {
        let (first, message) = queues.first()?;
        let message = match queues.len() - 1 {
            0 => message.clone(),
            n => format!("{message}; so it is with {n} more"),
        };
        let mut finding = hint(
            code,
            message,
            self.place(&first.path, name),
            help.to_owned(),
        );
        for (queue, _) in queues.iter().skip(1).take(4) {
            finding = finding.also(self.place(&queue.path, name), "this one too");
        }
        Some(finding)
    }

    /// Amounts that the cluster does not have.
    // As AbstractParentQueue.calculateEffectiveResourcesAndCapacity, which scales children down.
    fn scaled_down(&self) -> Vec<Diagnostic> {
        let mut by_parent: BTreeMap<&str, Vec<(&QueueView, String)>> = BTreeMap::new();
        for view in &self.state.queues {
            let settings = self.settings(&view.path);
            let asked = settings.and_then(|queue| self.guaranteed(queue));
            let (Some(asked), Some(part)) = (asked, view.labels.get("")) else {
                continue;
            };
            let types = &self.loaded.settings.scheduler.resource_types;
            let less = part.eff_min.iter().enumerate();
            let less = less.filter(|(index, has)| **has < asked[*index]);
            let less: Vec<String> = less
                .map(|(index, has)| format!("{has} of {} {}", asked[index], types[index]))
                .collect();
            if let (false, Some((parent, _))) = (less.is_empty(), view.path.rsplit_once('.')) {
                let message = format!("`{}` gets {}", view.path, less.join(" and "));
                by_parent.entry(parent).or_default().push((view, message));
            }
        }
        let help = "the cluster is smaller than the amounts: lower them, or use percentages";
        let all = by_parent.values();
        all.filter_map(|queues| self.about("H_SCALED_DOWN", queues, "capacity", help))
            .collect()
    }

    /// The amounts that a queue is to have, where it is given amounts.
    fn guaranteed(&self, queue: &QueueSettings) -> Option<ResourceVector> {
        let capacity = &queue.partitions.get("")?.capacity;
        if self.loaded.settings.scheduler.legacy_queue_mode {
            return match capacity.legacy {
                LegacyCapacity::Absolute(amounts) => Some(amounts),
                _ => None,
            };
        }
        let mut amounts = ResourceVector::NONE;
        for (index, entry) in capacity.vector.iter().enumerate() {
            if let VectorEntry::Absolute(amount) = entry {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "amounts of a configuration are whole numbers"
                )]
                amounts.set(index, *amount as i64);
            }
        }
        (!amounts.is_none()).then_some(amounts)
    }

    /// Leaves that are too small for any container.
    // As RegularContainerAllocator.checkHeadroom.
    fn nothing_fits(&self) -> Option<Diagnostic> {
        let smallest = &self.loaded.settings.scheduler.minimum_allocation;
        let mut queues = Vec::new();
        for (queue, part) in self.leaves() {
            if part.eff_max.first().is_some_and(|most| *most < smallest[0]) {
                let message = format!(
                    "`{}` may use {} MiB at most, and the smallest container has {} MiB",
                    queue.path, part.eff_max[0], smallest[0]
                );
                queues.push((queue, message));
            }
        }
        let help = "raise its maximum, or stop the queue";
        self.about("H_NOTHING_FITS", &queues, "maximum-capacity", help)
    }

    /// Leaves whose applications run one by one.
    // As LeafQueue.activateApplications, which always admits one.
    fn one_master(&self) -> Option<Diagnostic> {
        let smallest = &self.loaded.settings.scheduler.minimum_allocation;
        let mut queues = Vec::new();
        for (queue, part) in self.leaves() {
            let limit = part.am_limit.as_ref().and_then(|limit| limit.first());
            let fits = part
                .eff_max
                .first()
                .is_some_and(|most| *most >= smallest[0]);
            if let Some(limit) = limit.filter(|limit| fits && **limit < 2 * smallest[0]) {
                let message = format!(
                    "masters in `{}` may use {limit} MiB: its applications run one at a time",
                    queue.path
                );
                queues.push((queue, message));
            }
        }
        let help = "raise maximum-am-resource-percent, or the guarantee of the queue";
        self.about("H_ONE_MASTER", &queues, "maximum-am-resource-percent", help)
    }

    /// Labels of the nodes, without the default partition.
    fn labels(&self) -> BTreeSet<&'a str> {
        let all = self.state.partitions.iter().flat_map(|all| all.keys());
        all.map(String::as_str)
            .filter(|label| !label.is_empty())
            .collect()
    }

    fn labels_without_nodes(&self) -> Vec<Diagnostic> {
        let known = self.labels();
        let mut by_label: BTreeMap<&str, &QueueSettings> = BTreeMap::new();
        for queue in &self.loaded.settings.queues {
            for label in queue.partitions.keys() {
                if !label.is_empty() && !known.contains(&**label) && &*queue.path != "root" {
                    by_label.entry(label).or_insert(queue);
                }
            }
        }
        let one = |(label, queue): (&&str, &&QueueSettings)| {
            let name = format!("accessible-node-labels.{label}.capacity");
            let message = format!(
                "`{}` has a capacity on the label `{label}`, and no node has the label",
                queue.path
            );
            let help = "label nodes, or remove the capacity".to_owned();
            hint(
                "H_LABEL_WITHOUT_NODES",
                message,
                self.place(&queue.path, &name),
                help,
            )
        };
        by_label.iter().map(one).collect()
    }

    fn labels_without_queues(&self) -> Vec<Diagnostic> {
        let usable = |label: &&str| {
            let mut leaves = self
                .state
                .queues
                .iter()
                .filter(|queue| queue.leaf.is_some());
            leaves.any(|queue| {
                let part = queue.labels.get(*label);
                let some = part.is_some_and(|part| part.eff_max.iter().any(|most| *most > 0));
                let settings = self.settings(&queue.path);
                some && settings.is_some_and(|queue| queue.accessible.contains(label))
            })
        };
        let labels = self.labels();
        let idle = labels.iter().filter(|label| !usable(label));
        idle.map(|label| {
            let message = format!("no leaf may use nodes with the label `{label}`");
            let help = "give a queue the label in accessible-node-labels and a capacity on it";
            hint(
                "H_LABEL_WITHOUT_QUEUES",
                message,
                self.place("root", "queues"),
                help.to_owned(),
            )
        })
        .collect()
    }
}
