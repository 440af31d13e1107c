//! `simulate`: a trace played on the engine in virtual time.

use std::collections::BTreeSet;
use std::path::PathBuf;

use engine::api::{Engine, ModeKind, PartitionSpec, ResourceVector, Stepped};
use engine::config::Loaded;
use engine::simulator::import::{ImportOptions, Source, nodes as nodes_in, open};
use engine::simulator::{
    Driver, DriverSettings, NodeLine, OrderSettings, ResourceTypes, RunNodes, RunReport, fitted_to,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::conf::{self, Conf};
use crate::refusal;
use crate::sizes::Size;
use crate::tables::Table;
use crate::watch::{self, Collected};

/// A node of a run.
#[derive(FromPyObject)]
pub(crate) struct NodeDict {
    #[pyo3(item)]
    host: String,
    #[pyo3(item)]
    size: Size,
    #[pyo3(item, default = "/default-rack".to_owned())]
    rack: String,
    #[pyo3(item, default)]
    partition: String,
}

/// The nodes of a run: a file, or a list.
#[derive(FromPyObject)]
pub(crate) enum Nodes {
    /// A file in any form that the importers know.
    File(PathBuf),
    /// One by one.
    List(Vec<NodeDict>),
}

/// One trace file or several, which are merged by time.
#[derive(FromPyObject)]
pub(crate) enum Trace {
    /// One file.
    One(PathBuf),
    /// Several files.
    Many(Vec<PathBuf>),
}

impl Trace {
    fn files(self) -> PyResult<Vec<PathBuf>> {
        match self {
            Self::Many(files) if files.is_empty() => Err(refusal("trace: there is no file")),
            Self::One(file) => Ok(vec![file]),
            Self::Many(files) => Ok(files),
        }
    }
}

/// What a run came to.
#[pyclass(frozen, module = "capsched")]
#[derive(Debug)]
pub(crate) struct Simulation {
    /// The jobs, a row for each, in the order in which they left the run.
    #[pyo3(get)]
    jobs: Py<Table>,
    /// The decisions in their order.
    #[pyo3(get)]
    decisions: Py<Table>,
    /// What leaf queues use over time.
    #[pyo3(get)]
    queues: Py<Table>,
    /// What waits over time, and the largest shortfall of a queue.
    #[pyo3(get)]
    cluster: Py<Table>,
    report: RunReport,
}

#[pymethods]
impl Simulation {
    /// A hash of all decisions in order: equal for equal runs.
    #[getter]
    fn hash(&self) -> String {
        format!("{:016x}", self.report.decisions)
    }

    /// Numbers of the run by name.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (report, of) = (&self.report, PyDict::new(py));
        let counts = &report.counts;
        for (name, number) in [
            ("ended_ms", report.ended_ms),
            ("finished_ms", report.finished_ms),
            ("last_submission_ms", report.last_submission_ms),
            ("submitted", counts.submitted),
            ("refused", counts.refused),
            ("finished", counts.finished),
            ("failed", counts.failed),
            ("unfinished", counts.unfinished),
            ("offered", counts.offered),
            ("placed", counts.placed),
            ("waiting", counts.waiting),
            ("completed", counts.completed),
            ("lost", counts.lost),
            ("reserved", counts.reserved),
            ("heartbeats", counts.heartbeats),
            ("rounds", counts.rounds),
            ("longest_wait_ms", report.longest_wait_ms),
            ("violations", report.violations.values().sum()),
        ] {
            of.set_item(name, number)?;
        }
        of.set_item("messages", &report.messages)?;
        Ok(of)
    }

    fn __repr__(&self) -> String {
        let counts = &self.report.counts;
        format!(
            "<capsched.Simulation: {} jobs, {} containers placed, {} waiting>",
            counts.submitted, counts.placed, counts.waiting
        )
    }
}

/// Everything that a run needs.
#[derive(Debug)]
struct Scene {
    loaded: Loaded,
    mode: ModeKind,
    types: ResourceTypes,
    nodes: Vec<NodeLine>,
    files: Vec<PathBuf>,
    import: ImportOptions,
    periods: (u64, u64),
    until_ms: Option<u64>,
}

impl Scene {
    fn partitions(&self) -> Vec<PartitionSpec> {
        let labels: BTreeSet<&str> = self.nodes.iter().map(|node| &*node.partition).collect();
        let named = labels.into_iter().filter(|name| !name.is_empty());
        let partition = |name: &str| PartitionSpec {
            name: name.to_owned(),
            exclusive: true,
        };
        named.map(partition).collect()
    }

    /// Plays the trace.
    fn play(&self, watch: &mut Collected) -> PyResult<RunReport> {
        let settings = fitted_to(self.mode, self.loaded.settings.clone());
        let preemption = Some(&self.loaded.preemption).filter(|preemption| preemption.enabled);
        let nodes = RunNodes {
            count: self.nodes.len(),
            borrows: false,
        };
        let driven =
            DriverSettings::for_mode(self.mode, &settings, nodes, preemption, self.periods);
        let builder = Engine::builder(settings).partitions(self.partitions());
        let mut engine = Stepped::new(builder.sequential().map_err(refusal)?, self.mode);
        if let Some(preemption) = preemption {
            engine = engine.with_preemption(preemption.clone());
        }
        let mut driver = Driver::new(
            engine,
            DriverSettings {
                until_ms: self.until_ms,
                ..driven
            },
        );
        driver.add_nodes(&self.nodes).map_err(refusal)?;
        let jobs = open(&self.files, None, &self.import, &OrderSettings::default());
        driver
            .run(&mut *jobs.map_err(refusal)?, watch)
            .map_err(refusal)
    }
}

fn node_lines(
    nodes: Option<Nodes>,
    files: &[PathBuf],
    import: &ImportOptions,
) -> PyResult<Vec<NodeLine>> {
    let in_file = |path: &PathBuf| {
        let source = Source::open(path).map_err(refusal)?;
        nodes_in(source, import).map_err(refusal)
    };
    match nodes {
        Some(Nodes::File(path)) => in_file(&path),
        Some(Nodes::List(list)) => {
            let line = |node: NodeDict| {
                Ok(NodeLine {
                    size: node.size.over(import.types.names())?,
                    host: node.host,
                    rack: node.rack,
                    partition: node.partition,
                    attributes: Vec::new(),
                })
            };
            list.into_iter().map(line).collect()
        }
        // The first file lists those of the cluster.
        None => files.first().map_or_else(|| Ok(Vec::new()), in_file),
    }
}

fn types_of(loaded: &Loaded) -> PyResult<ResourceTypes> {
    let names = &loaded.settings.scheduler.resource_types;
    let extra: Vec<&str> = names.iter().skip(2).map(|name| &**name).collect();
    ResourceTypes::with_extra(&extra)
        .ok_or_else(|| refusal("the resource types are named twice or too many"))
}

fn period(ms: u64, what: &str) -> PyResult<u64> {
    if ms == 0 {
        return Err(refusal(format_args!("{what}: a period of 0 ms")));
    }
    Ok(ms)
}

/// Plays a trace on a cluster in virtual time, without threads and the same every time.
///
/// `conf` is `capacity-scheduler.xml`, a folder with it and `yarn-site.xml`, or a dict of settings by full name.
/// `trace` is a file of any known format, or several. `mode` is `heartbeat`, `asynchronous` or `global`. `nodes` is
/// a file, a list of dicts with `host`, `size`, `rack` and `partition`, or those that the trace lists. Preemption
/// runs if the configuration enables it.
#[pyfunction]
#[pyo3(signature = (conf, trace, mode="heartbeat", *, nodes=None, heartbeat_ms=1000, round_ms=5, until_ms=None, hadoop="3.5"))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn simulate(
    py: Python<'_>,
    conf: Conf<'_>,
    trace: Trace,
    mode: &str,
    nodes: Option<Nodes>,
    heartbeat_ms: u64,
    round_ms: u64,
    until_ms: Option<u64>,
    hadoop: &str,
) -> PyResult<Simulation> {
    let loaded = conf.load(&conf::options(hadoop)?)?;
    let (mode, files, types) = (conf::mode(mode)?, trace.files()?, types_of(&loaded)?);
    let size = ImportOptions::default();
    let import = ImportOptions {
        types: types.clone(),
        node: ResourceVector::of(&[size.node[0], size.node[1]]),
        ..size
    };
    let scene = Scene {
        nodes: node_lines(nodes, &files, &import)?,
        periods: (
            period(heartbeat_ms, "heartbeat_ms")?,
            period(round_ms, "round_ms")?,
        ),
        loaded,
        mode,
        types,
        files,
        import,
        until_ms,
    };
    let names = scene.types.names().to_vec();
    let mut collected = Collected::new(&names);
    let report = py.detach(|| scene.play(&mut collected))?;
    Ok(Simulation {
        jobs: Py::new(py, collected.jobs()?)?,
        decisions: Py::new(py, collected.decisions()?)?,
        queues: Py::new(py, watch::queues(&report.series, &names)?)?,
        cluster: Py::new(py, watch::cluster(&report.series)?)?,
        report,
    })
}
