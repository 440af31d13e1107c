//! What differs between two configurations: scheduler, queues, effective resources.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{QueueView, StateView};
use capsched::config::{self, Loaded};
use capsched::queue::QueueSettings;
use serde_json::{Value, json};

use super::Side;

/// A value that differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ValueChange {
    pub(super) name: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// Amounts of a queue on a partition that differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AmountChange {
    pub(super) label: String,
    pub(super) name: &'static str,
    pub(super) before: Vec<i64>,
    pub(super) after: Vec<i64>,
}

/// How a queue differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Added,
    Removed,
    Changed,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// A queue that differs.
#[derive(Debug)]
pub(super) struct QueueChange {
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) values: Vec<ValueChange>,
    pub(super) amounts: Vec<AmountChange>,
}

/// Everything that differs.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) types: Vec<String>,
    pub(super) scheduler: Vec<ValueChange>,
    pub(super) queues: Vec<QueueChange>,
}

impl Changes {
    pub(super) fn between(before: &Side, after: &Side) -> Self {
        let types = &after.loaded.settings.scheduler.resource_types;
        Self {
            types: types.iter().map(ToString::to_string).collect(),
            scheduler: of_scheduler(&before.loaded, &after.loaded),
            queues: of_queues(before, after),
        }
    }

    pub(super) fn count(&self, kind: Kind) -> usize {
        self.queues
            .iter()
            .filter(|queue| queue.kind == kind)
            .count()
    }

    pub(super) fn to_json(&self) -> Value {
        let value =
            |one: &ValueChange| json!({"name": one.name, "before": one.before, "after": one.after});
        let amounts = |amounts: &[i64]| -> Value {
            let pairs = self.types.iter().zip(amounts);
            Value::Object(
                pairs
                    .map(|(name, amount)| (name.clone(), (*amount).into()))
                    .collect(),
            )
        };
        let amount = |one: &AmountChange| {
            json!({
                "partition": one.label,
                "name": one.name,
                "before": amounts(&one.before),
                "after": amounts(&one.after),
            })
        };
        let queue = |one: &QueueChange| {
            json!({
                "path": one.path,
                "change": one.kind.word(),
                "values": one.values.iter().map(value).collect::<Vec<_>>(),
                "resources": one.amounts.iter().map(amount).collect::<Vec<_>>(),
            })
        };
        json!({
            "added": self.count(Kind::Added),
            "removed": self.count(Kind::Removed),
            "changed": self.count(Kind::Changed),
            "scheduler": self.scheduler.iter().map(value).collect::<Vec<_>>(),
            "queues": self.queues.iter().map(queue).collect::<Vec<_>>(),
        })
    }
}

/// Settings of the whole scheduler.
fn of_scheduler(before: &Loaded, after: &Loaded) -> Vec<ValueChange> {
    let fields = |loaded: &Loaded| -> BTreeMap<String, String> {
        let all = config::scheduler_json(loaded, None);
        let fields = all.as_object().into_iter().flatten();
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        fields
            .map(|(name, value)| (name.clone(), text(value)))
            .collect()
    };
    let (before, mut after) = (fields(before), fields(after));
    let pairs = before.into_iter().filter_map(|(name, before)| {
        let after = after.remove(&name)?;
        (before != after).then_some(ValueChange {
            name,
            before,
            after,
        })
    });
    pairs.collect()
}

fn of_queues(before: &Side, after: &Side) -> Vec<QueueChange> {
    let index = |side: &'_ Side| -> BTreeMap<String, QueueSettings> {
        let queues = side.loaded.settings.queues.iter();
        queues
            .map(|queue| (queue.path.to_string(), queue.clone()))
            .collect()
    };
    let (old, new) = (index(before), index(after));
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |path: &&String| {
        let kind = match (old.get(*path), new.get(*path)) {
            (None, _) => Kind::Added,
            (_, None) => Kind::Removed,
            _ => Kind::Changed,
        };
        let values = of_values(
            old.get(*path).map(|queue| (&before.loaded, queue)),
            new.get(*path).map(|queue| (&after.loaded, queue)),
        );
        let amounts = of_amounts(view(before, path), view(after, path));
        let differs = kind != Kind::Changed || !values.is_empty() || !amounts.is_empty();
        differs.then(|| QueueChange {
            path: (*path).clone(),
            kind,
            values,
            amounts,
        })
    };
    paths.iter().filter_map(change).collect()
}

fn view<'a>(side: &'a Side, path: &str) -> Option<&'a QueueView> {
    let state: &StateView = side.view.as_ref()?;
    state.queues.iter().find(|queue| queue.path == path)
}

/// The settings of a queue before and after; those of one side alone are shown when they are set.
fn of_values(
    before: Option<(&Loaded, &QueueSettings)>,
    after: Option<(&Loaded, &QueueSettings)>,
) -> Vec<ValueChange> {
    let values = |side: Option<(&Loaded, &QueueSettings)>| -> BTreeMap<&'static str, String> {
        let Some((loaded, queue)) = side else {
            return BTreeMap::new();
        };
        let all = config::effective_values(loaded, queue).into_iter();
        all.filter(|one| {
            (before.is_some() && after.is_some()) || one.origin == config::Origin::Queue
        })
        .map(|one| (one.name, one.value))
        .collect()
    };
    let (old, new) = (values(before), values(after));
    let names: BTreeSet<&'static str> = old.keys().chain(new.keys()).copied().collect();
    let change = |name: &str| {
        let (before, after) = (old.get(name), new.get(name));
        (before != after).then(|| ValueChange {
            name: name.to_owned(),
            before: before.cloned().unwrap_or_default(),
            after: after.cloned().unwrap_or_default(),
        })
    };
    names.into_iter().filter_map(change).collect()
}

fn of_amounts(before: Option<&QueueView>, after: Option<&QueueView>) -> Vec<AmountChange> {
    let labels = |view: Option<&QueueView>| -> Vec<String> {
        view.into_iter()
            .flat_map(|view| view.labels.keys().cloned())
            .collect()
    };
    let all: BTreeSet<String> = labels(before).into_iter().chain(labels(after)).collect();
    let mut changes = Vec::new();
    for label in all {
        let part =
            |view: Option<&QueueView>| view.and_then(|view| view.labels.get(&label)).cloned();
        let (old, new) = (part(before), part(after));
        let of = |pick: fn(&capsched::api::PartitionView) -> &Vec<i64>| {
            let amounts = |part: &Option<capsched::api::PartitionView>| {
                part.as_ref()
                    .map(|part| pick(part).clone())
                    .unwrap_or_default()
            };
            (amounts(&old), amounts(&new))
        };
        for (name, (before, after)) in [
            ("guaranteed", of(|part| &part.eff_min)),
            ("maximum", of(|part| &part.eff_max)),
        ] {
            if before != after {
                changes.push(AmountChange {
                    label: label.clone(),
                    name,
                    before,
                    after,
                });
            }
        }
    }
    changes
}
