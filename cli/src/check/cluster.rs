//! The tree of queues on a given cluster: effective capacities, and where each setting comes from.

mod regrets;
mod table;

use anyhow::{Result, anyhow};
use capsched::api::{PartitionView, QueueView, StateView};
use capsched::config::{
    self, ConfigSource, Diagnostic, EffectiveValue, Loaded, Options, Origin, Severity, Span,
};
use capsched::queue::QueueKind;
use capsched::simulator::MappingReport;
use serde_json::{Map, Value, json};

use crate::play::{Cluster, NodeSource, TraceArgs, types_of, types_source};

/// One queue with what it has of the cluster and how it came to its settings.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) view: QueueView,
    pub(super) values: Vec<(EffectiveValue, Option<Span>)>,
}

/// The queues of a configuration on a cluster.
#[derive(Debug)]
pub(super) struct Tree {
    types: Vec<String>,
    nodes: usize,
    state: StateView,
    rows: Vec<Row>,
    /// Settings of the leaves that each parent would create.
    created: Vec<(String, Vec<EffectiveValue>)>,
    hints: Vec<Diagnostic>,
}

impl Tree {
    /// The tree of sources that are accepted.
    pub(super) fn of(
        sources: &[ConfigSource],
        from: &NodeSource,
        options: &Options,
    ) -> Result<Self> {
        let mut sources = sources.to_vec();
        sources.extend(types_source(&from.types()?.offered));
        let loaded = config::load(&sources, options);
        let loaded = loaded.map_err(|report| anyhow!("the types of the nodes: {report}"))?;
        let types = types_of(&loaded.settings)?;
        let import = TraceArgs::default().options(types.clone());
        let nodes = from.read(&mut MappingReport::default(), &import)?;
        let cluster = Cluster::new(loaded.clone(), nodes, types)?;
        let state = cluster.view()?;
        let hints = regrets::hints(&loaded, &state);
        Ok(Self {
            types: cluster
                .types
                .names()
                .iter()
                .map(ToString::to_string)
                .collect(),
            nodes: cluster.nodes.len(),
            rows: rows(&loaded, &state),
            created: created(&loaded),
            state,
            hints,
        })
    }

    /// What an operator of this cluster regrets later.
    pub(super) fn take_hints(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.hints)
    }

    /// The tree for people; `values`: the queues whose settings are listed below it.
    pub(super) fn text(&self, values: &[String]) -> String {
        table::text(self, values)
    }

    /// The paths that are asked for and that do not exist.
    pub(super) fn unknown<'a>(&self, paths: &'a [String]) -> Option<&'a str> {
        let known = |path: &&String| {
            self.rows.iter().any(|row| row.view.path == **path)
                || self.created.iter().any(|(created, _)| created == *path)
        };
        paths.iter().find(|path| !known(path)).map(String::as_str)
    }

    pub(super) fn to_json(&self, at: impl Fn(&Span) -> Value) -> Value {
        let queues: Vec<Value> = self.rows.iter().map(|row| self.row(row, &at)).collect();
        let created: Map<String, Value> = self
            .created
            .iter()
            .map(|(path, values)| {
                let values: Vec<Value> = values.iter().map(|one| value(one, Value::Null)).collect();
                (path.clone(), values.into())
            })
            .collect();
        let mut partitions = Map::new();
        match &self.state.partitions {
            Some(all) => {
                for (name, total) in all {
                    partitions.insert(name.clone(), self.amounts(total));
                }
            }
            None => {
                partitions.insert(String::new(), self.amounts(&self.state.cluster));
            }
        }
        json!({
            "nodes": self.nodes,
            "partitions": partitions,
            "queues": queues,
            "created_leaves": created,
        })
    }

    fn amounts(&self, amounts: &[i64]) -> Value {
        let pairs = self.types.iter().zip(amounts);
        let pairs = pairs.map(|(name, amount)| (name.clone(), (*amount).into()));
        Value::Object(pairs.collect())
    }

    fn row(&self, row: &Row, at: &impl Fn(&Span) -> Value) -> Value {
        let partition = |(label, part): (&String, &PartitionView)| {
            let masters = part.am_limit.as_deref().map(|limit| self.amounts(limit));
            let of_user = part.user_am_limit.as_deref();
            let part = json!({
                "guaranteed": self.amounts(&part.eff_min),
                "maximum": self.amounts(&part.eff_max),
                "guaranteed_fraction": part.abs_cap,
                "maximum_fraction": part.abs_max_cap,
                "masters": masters,
                "masters_of_one_user": of_user.map(|limit| self.amounts(limit)),
            });
            (label.clone(), part)
        };
        let leaf = row.view.leaf.as_ref();
        let values = row.values.iter();
        let values: Vec<Value> = values
            .map(|(one, span)| value(one, span.as_ref().map_or(Value::Null, at)))
            .collect();
        json!({
            "path": row.view.path,
            "type": row.view.kind,
            "partitions": row.view.labels.iter().map(partition).collect::<Map<String, Value>>(),
            "max_applications": leaf.map(|leaf| leaf.max_apps),
            "max_applications_of_one_user": leaf.map(|leaf| leaf.max_apps_per_user),
            "values": values,
        })
    }
}

fn value(one: &EffectiveValue, at: Value) -> Value {
    json!({
        "name": one.name,
        "value": one.value,
        "source": one.origin.word(),
        "property": one.property,
        "at": at,
    })
}

/// The declared queues in the order of the tree.
fn rows(loaded: &Loaded, state: &StateView) -> Vec<Row> {
    let row = |view: &QueueView| {
        let mut queues = loaded.settings.queues.iter();
        let queue = queues.find(|queue| *queue.path == *view.path)?;
        let values = config::effective_values(loaded, queue).into_iter();
        let values = values.map(|one| {
            let span = one.property.as_deref();
            let span = span.and_then(|key| loaded.properties.span(key));
            (one, span)
        });
        Some(Row {
            view: view.clone(),
            values: values.collect(),
        })
    };
    state.queues.iter().filter_map(row).collect()
}

/// What a leaf would have that a submission creates, for each parent that creates leaves.
fn created(loaded: &Loaded) -> Vec<(String, Vec<EffectiveValue>)> {
    let parents = loaded.settings.queues.iter();
    let parents = parents.filter(|queue| queue.creation.is_some() && queue.kind != QueueKind::Leaf);
    let leaf = |parent| {
        let templates = &loaded.settings.templates;
        let queue = templates.dynamic(parent, "<created>", true).ok()?;
        let values = config::effective_values(loaded, &queue);
        Some((queue.path.to_string(), values))
    };
    parents.filter_map(leaf).collect()
}

/// A hint with its place.
fn hint(code: &'static str, message: String, place: Option<Span>, help: String) -> Diagnostic {
    Diagnostic::new(code, Severity::Hint, message)
        .at(place)
        .help(help)
}

/// Whether a value is more than the default of an empty configuration.
fn is_set(origin: Origin) -> bool {
    origin != Origin::Default
}
