//! The cluster of a run: settings, nodes, resource types, guarantees for the fairness gap.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use capsched::api::{
    Fraction, NodeName, NodeSpec, PartitionSpec, PreemptionSettings, Reference, Sequential,
    StateView, TreeSettings,
};
use capsched::config::{self, ConfigSource, Layer, Loaded, Options, Report, Severity};
use capsched::queue::Mends;
use capsched::simulator::{NodeLine, Random, ResourceTypes};

use super::origin::Origin;
use crate::check::STANDARD_INPUT;
use crate::output::{MOST_OF_A_KIND, Problem, more_of_a_kind, note};

/// Everything that a run needs beside its trace.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// Settings of the scheduler.
    pub(crate) settings: TreeSettings,
    /// Names of the resource types.
    pub(crate) types: ResourceTypes,
    /// The nodes in the order of their registration.
    pub(crate) nodes: Vec<NodeLine>,
    /// Their partitions, without the default one.
    pub(crate) partitions: Vec<PartitionSpec>,
    /// Guarantees of the leaves in thousandths.
    pub(crate) guarantees: Vec<(String, u32)>,
    /// How preemption is configured.
    pub(crate) configured: PreemptionSettings,
    /// Rounds of preemption that runs are to have; none unless set.
    pub(crate) preemption: Option<PreemptionSettings>,
    /// Every property with its place.
    pub(crate) origin: Origin,
}

/// What switches the monitor on: with it off, every queue counts as protected.
const MONITOR_ON: &str = "<configuration><property>\
     <name>yarn.resourcemanager.scheduler.monitor.enable</name><value>true</value>\
     </property></configuration>";

/// The files of a configuration: later ones win. `monitor`: preemption is to run whatever they say.
pub(crate) fn sources_of(
    conf: Option<&PathBuf>,
    site: &[PathBuf],
    monitor: bool,
) -> Result<Vec<ConfigSource>> {
    let limits = Options::default().limits;
    let read = |path: &PathBuf, layer| {
        if path.as_path() == std::path::Path::new("-") {
            let source = crate::check::standard_input(limits.bytes);
            let source = source.map_err(|message| anyhow!(message))?;
            return Ok(ConfigSource { layer, ..source });
        }
        config::read_source(path, layer, &limits)
            .map_err(|finding| anyhow!(finding.message.clone()))
    };
    let mut sources = Vec::new();
    if let Some(path) = conf {
        sources.push(read(path, Layer::Scheduler)?);
    }
    for path in site {
        sources.push(read(path, Layer::Site)?);
    }
    if monitor {
        sources.push(ConfigSource {
            name: "--preemption".to_owned(),
            bytes: MONITOR_ON.as_bytes().to_vec(),
            layer: Layer::Site,
        });
    }
    Ok(sources)
}

/// The types that a trace names, as a file below those of the user.
pub(crate) fn types_source(types: &[String]) -> Option<ConfigSource> {
    let list = BTreeMap::from([("yarn.resource-types".to_owned(), types.join(","))]);
    (!types.is_empty()).then(|| ConfigSource {
        name: "(types of the trace)".to_owned(),
        bytes: xml(&list),
        layer: Layer::Site,
    })
}

/// Properties as a file.
fn xml(pairs: &BTreeMap<String, String>) -> Vec<u8> {
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;")
    };
    let mut out = "<configuration>\n".to_owned();
    for (name, value) in pairs {
        let (name, value) = (escaped(name), escaped(value));
        out.push_str(&format!(
            "<property><name>{name}</name><value>{value}</value></property>\n"
        ));
    }
    out.push_str("</configuration>\n");
    out.into_bytes()
}

/// Reads configuration files that are in memory; warnings go to standard error.
pub(crate) fn from_sources(sources: &[ConfigSource], reference: Reference) -> Result<Loaded> {
    let options = Options {
        reference,
        ..Options::default()
    };
    let mut loaded = config::load(sources, &options).map_err(|report| refused(&report))?;
    let faults = config::placement_faults(&loaded);
    if !faults.is_empty() {
        loaded.report.diagnostics = faults;
        return Err(refused(&loaded.report));
    }
    let (first, more) = loaded.report.first_of_each_kind(MOST_OF_A_KIND);
    for finding in first {
        if finding.severity == Severity::Warning {
            note(format_args!("warning: {finding}"));
        }
    }
    for (kind, count) in more {
        if kind.0 == Severity::Warning {
            note(format_args!("{}", more_of_a_kind(kind, count)));
        }
    }
    Ok(loaded)
}

/// A configuration that is not accepted, by its first error and its place.
pub(crate) fn refused(report: &Report) -> anyhow::Error {
    let first = report.first_error();
    let span = first.and_then(|finding| finding.span.as_ref());
    let place = span.and_then(|span| {
        let file = report.files.get(span.file)?;
        let (line, column) = file.position(span.bytes.start);
        Some(format!("{}:{line}:{column}: ", file.name))
    });
    let (place, first) = (
        place.unwrap_or_default(),
        first.map(ToString::to_string).unwrap_or_default(),
    );
    let file = span.map_or_else(|| report.files.last(), |span| report.files.get(span.file));
    // What a command made up is no file that could be checked.
    let advice = file.filter(|file| !file.name.starts_with('('));
    let advice = advice.map_or_else(String::new, |file| {
        let file = if file.name == STANDARD_INPUT {
            "-"
        } else {
            &file.name
        };
        format!("; `capsched check {file}` prints everything")
    });
    // An error without a place may come of the trace or the nodes: a check of the file alone does not show it.
    let help = report.first_error().filter(|_| span.is_none());
    let help = help.and_then(|finding| finding.help.as_deref());
    let help = help.map_or_else(String::new, |help| format!("; {help}"));
    anyhow::Error::new(Problem(format!(
        "{place}the configuration is refused: {first}{help}{advice}"
    )))
}

/// The name of a site that is no file.
const SITE_OF_THE_RUN: &str = "(site of the run)";

/// Another capacity-scheduler.xml on the site of a configuration.
pub(crate) fn on_site_of(origin: &Origin, conf: &Path, reference: Reference) -> Result<Loaded> {
    let [site, _] = origin.properties().pairs_with(&[]);
    let below = ConfigSource {
        name: SITE_OF_THE_RUN.to_owned(),
        bytes: xml(&site),
        layer: Layer::Site,
    };
    let limits = Options::default().limits;
    let file = config::read_source(conf, Layer::Scheduler, &limits);
    let file = file.map_err(|finding| anyhow!(finding.message.clone()))?;
    from_sources(&[below, file], reference)
}

/// The resource types of a configuration.
pub(crate) fn types_of(settings: &TreeSettings) -> Result<ResourceTypes> {
    let names = &settings.scheduler.resource_types;
    let extra: Vec<&str> = names.iter().skip(2).map(AsRef::as_ref).collect();
    ResourceTypes::with_extra(&extra).context("the resource types are named twice or too many")
}

/// A configuration for a trace that came without one: its own queues with equal weights, and no
/// limit for masters.
pub(crate) fn for_trace(
    queues: &BTreeSet<String>,
    nodes: &[NodeLine],
    types: &ResourceTypes,
    reference: Reference,
    sites: &[ConfigSource],
) -> Result<Loaded> {
    let pairs = equal_queues(queues);
    let site = limits_of(nodes, types);
    let own = |name: &str, pairs, layer| ConfigSource {
        name: name.to_owned(),
        bytes: xml(pairs),
        layer,
    };
    let mut sources = vec![
        own("(queues of the trace)", &pairs, Layer::Scheduler),
        own("(sizes of the nodes)", &site, Layer::Site),
    ];
    sources.extend_from_slice(sites);
    from_sources(&sources, reference)
}

/// The scheduler's properties for queues with equal weights.
fn equal_queues(queues: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    let mut put = |key: String, value: String| {
        pairs.insert(format!("yarn.scheduler.capacity.{key}"), value);
    };
    for (parent, names) in &children_of(queues) {
        let list: Vec<&str> = names.iter().copied().collect();
        put(format!("{parent}.queues"), list.join(","));
        for name in names {
            put(format!("{parent}.{name}.capacity"), "1w".to_owned());
            put(
                format!("{parent}.{name}.user-limit-factor"),
                "-1".to_owned(),
            );
        }
    }
    put("maximum-am-resource-percent".into(), "1.0".into());
    put("maximum-applications".into(), "1000000".into());
    // Without these the reference proposes reserved nodes again and again in global mode (YARN-11573).
    put(
        "skip-allocate-on-nodes-with-reserved-containers".into(),
        "true".into(),
    );
    put(
        "resource-calculator".into(),
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator".into(),
    );
    let mend = format!("{}reserved-last-node", Mends::PREFIX);
    pairs.insert(mend, "true".to_owned());
    pairs
}

/// Maximum allocations that the largest node bears, and the switch of the monitor.
fn limits_of(nodes: &[NodeLine], types: &ResourceTypes) -> BTreeMap<String, String> {
    let monitor = "yarn.resourcemanager.scheduler.monitor.enable";
    let mut site = BTreeMap::from([(monitor.to_owned(), "true".to_owned())]);
    let most = |index: usize| nodes.iter().map(|node| node.size[index]).max().unwrap_or(0);
    for (index, name) in types.names().iter().enumerate() {
        let key = match index {
            0 => "yarn.scheduler.maximum-allocation-mb".to_owned(),
            1 => "yarn.scheduler.maximum-allocation-vcores".to_owned(),
            _ => format!("yarn.resource-types.{name}.maximum-allocation"),
        };
        site.insert(key, most(index).max(1024).to_string());
    }
    site
}

/// The names below each queue above some leaves.
fn children_of(queues: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<&str>> {
    let mut children: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for queue in queues {
        let mut parent = "root".to_owned();
        let below = queue.strip_prefix("root.").unwrap_or(queue);
        for name in below.split('.') {
            children.entry(parent.clone()).or_default().insert(name);
            parent = format!("{parent}.{name}");
        }
    }
    children
}

impl Cluster {
    /// A cluster of these nodes under a configuration.
    pub(crate) fn new(loaded: Loaded, nodes: Vec<NodeLine>, types: ResourceTypes) -> Result<Self> {
        let labels: BTreeSet<&str> = nodes.iter().map(|node| node.partition.as_str()).collect();
        let partition = |name: &&str| PartitionSpec {
            name: (*name).to_owned(),
            exclusive: true,
        };
        let partitions: Vec<_> = labels
            .iter()
            .filter(|name| !name.is_empty())
            .map(partition)
            .collect();
        let mut cluster = Self {
            settings: loaded.settings.clone(),
            types,
            nodes,
            partitions,
            guarantees: Vec::new(),
            configured: loaded.preemption.clone(),
            preemption: None,
            origin: Origin::of_files(loaded),
        };
        cluster.guarantees = cluster.guarantees_by_queue()?;
        Ok(cluster)
    }

    /// The configuration with some values changed, by full name. `running`: for an engine that runs.
    pub(crate) fn edited(
        &self,
        changes: &[(String, String)],
        reference: Reference,
        running: bool,
    ) -> Result<Loaded, Report> {
        let options = Options {
            reference,
            resource_types: Some(self.types.names().to_vec()),
            running: running.then_some(self.settings.scheduler.calculator),
            ..Options::default()
        };
        config::with_changes(self.origin.properties(), changes, &options)
    }

    /// The same with another configuration, where one is given, and these nodes. Preemption runs where it did.
    pub(crate) fn like(&self, loaded: Option<Loaded>, nodes: Vec<NodeLine>) -> Result<Self> {
        let Some(loaded) = loaded else {
            return Ok(Self {
                nodes,
                ..self.clone()
            });
        };
        let mut cluster = Self::new(loaded, nodes, self.types.clone())?;
        cluster.preemption = self.preemption.as_ref().map(|runs| PreemptionSettings {
            enabled: true,
            observe_only: runs.observe_only,
            ..cluster.configured.clone()
        });
        Ok(cluster)
    }

    /// The same nodes, registered in an order drawn from a seed.
    pub(crate) fn shuffle(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        for last in (1..self.nodes.len()).rev() {
            let among = u64::try_from(last + 1).expect("a number of nodes fits in a u64");
            let chosen = usize::try_from(random.below(among)).expect("it is below a usize");
            self.nodes.swap(last, chosen);
        }
    }

    /// A sequential engine that knows no nodes.
    pub(crate) fn sequential(&self) -> Result<Sequential> {
        match Sequential::new(self.settings.clone(), &self.partitions) {
            Ok(engine) => Ok(engine),
            Err(error) => bail!("the engine refuses the configuration: {error}"),
        }
    }

    /// The state of an engine that knows all nodes and no application.
    pub(crate) fn view(&self) -> Result<StateView> {
        let mut engine = self.sequential()?;
        self.register(&mut engine)?;
        Ok(StateView::of(engine.ledger()))
    }

    /// Registers all nodes.
    pub(crate) fn register(&self, engine: &mut Sequential) -> Result<()> {
        let spec = |node: &NodeLine| -> Result<NodeSpec> {
            let name = NodeName::new(&node.host, 0)
                .map_err(|error| anyhow::Error::new(Problem(format!("a node: {error}"))))?;
            let mut spec = NodeSpec::new(name, node.size);
            spec.partition.clone_from(&node.partition);
            Ok(spec)
        };
        let specs: Vec<NodeSpec> = self.nodes.iter().map(spec).collect::<Result<_>>()?;
        let mut added = Vec::with_capacity(specs.len());
        engine.add_nodes(&specs, &mut added).map_err(|error| {
            let host = self.nodes.get(added.len()).map_or("", |node| &node.host);
            anyhow::Error::new(Problem(format!("{host}: {error}")))
        })
    }

    /// Guarantees as the engine works them out, whatever way capacities are written in.
    fn guarantees_by_queue(&self) -> Result<Vec<(String, u32)>> {
        let view = self.view()?;
        let leaf = |queue: &capsched::api::QueueView| {
            let part = queue.labels.get("")?;
            let leaf = queue.kind == "leaf";
            leaf.then(|| (queue.path.clone(), permille(part.abs_cap)))
        };
        Ok(view.queues.iter().filter_map(leaf).collect())
    }
}

#[expect(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share between 0 and 1 for a statistic"
)]
fn permille(share: Fraction) -> u32 {
    (share.0.clamp(0.0, 1.0) * 1000.0).round() as u32
}
