//! One row: a mode with its threads plays a trace on a cluster.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use capsched::api::{Event, Latencies, Mode, ModeKind, Reference, Stepped, Threaded, TreeSettings};
use capsched::queue::{NodePolicy, NodePolicySettings};
use capsched::simulator::{
    Driver, DriverSettings, Job, JobLine, MappingReport, Sample, TraceError, Watch, Workload,
};
use capsched::time::{Clock, SystemClock};
use indicatif::{ProgressBar, ProgressStyle};

use super::cluster::Cluster;
use super::measured::{Engine, Measured};
use super::outcome::Outcome;
use super::preemption::Account;
use super::table::grouped;

use super::trace::{Trace, explain};
use crate::output::{Problem, note};

/// Which engine runs a row, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The mode.
    pub(crate) mode: ModeKind,
    /// Threads that decide; heartbeats are always decided by one.
    pub(crate) threads: usize,
    /// Whether the deterministic engine runs it, on one thread.
    pub(crate) sequential: bool,
    /// The release of Hadoop that its cluster follows.
    pub(crate) reference: Reference,
}

/// Periods in virtual ms.
#[derive(clap::Args, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// Period of a node's heartbeats in virtual ms.
    #[arg(long = "heartbeat", value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) heartbeat_ms: u64,
    /// Period of rounds in virtual ms, for the modes that do not wait for heartbeats.
    #[arg(long = "round", value_name = "MS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) round_ms: u64,
    /// End after this many virtual ms at the latest.
    #[arg(long = "until", value_name = "MS")]
    pub(crate) until_ms: Option<u64>,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat_ms: 1000,
            round_ms: 5,
            until_ms: None,
        }
    }
}

/// Heartbeats carry nothing in the modes that run rounds, so that one a minute is enough.
const IDLE_HEARTBEAT_MS: u64 = 60_000;

/// Missed opportunities after which the rules of locality have relaxed, with room to spare.
const OPPORTUNITIES: u64 = 100;

/// Lines of the time series that are wanted while jobs arrive, and at most in a whole run.
const SAMPLES: (u64, u64) = (2000, 20_000);

impl Row {
    /// The row that a mode and a number of threads make.
    pub(crate) fn new(mode: ModeKind, threads: usize, sequential: bool) -> Self {
        let threads = match mode {
            ModeKind::Heartbeat => 1,
            _ if sequential || threads == 0 => 1,
            _ => threads,
        };
        Self {
            mode,
            threads,
            sequential,
            reference: Reference::default(),
        }
    }

    /// The same on a cluster that follows a release.
    pub(crate) fn under(self, reference: Reference) -> Self {
        Self { reference, ..self }
    }

    fn engine(self, cluster: &Cluster, clock: SystemClock) -> Result<Engine> {
        let mut cluster = cluster.clone();
        if self.mode == ModeKind::Global {
            cluster.settings = among_all_nodes(cluster.settings);
        }
        // The mode of the row decides, whatever the configuration says.
        cluster.settings.scheduler.asynchronous.enabled = self.mode != ModeKind::Heartbeat;
        if self.sequential {
            let mut engine = Stepped::new(cluster.sequential()?, self.mode);
            if let Some(settings) = &cluster.preemption {
                engine = engine.with_preemption(settings.clone());
            }
            return Ok(Engine::Stepped(Box::new(engine)));
        }
        let threads = self.threads;
        let mode = match self.mode {
            ModeKind::Heartbeat => Mode::Heartbeat,
            ModeKind::Asynchronous => Mode::Asynchronous { threads },
            ModeKind::Global => Mode::Global { threads },
        };
        // A run is looked at, not raced: every decision is measured.
        let engine = cluster.sequential()?;
        let engine = Threaded::take_over(engine, mode, clock, Latencies::All);
        let engine = engine.map_err(|error| anyhow!("the engine does not start: {error}"))?;
        Ok(Engine::Threaded(Box::new(engine)))
    }

    fn settings(self, cluster: &Cluster, trace: &Trace, timing: Timing) -> DriverSettings {
        let nodes = u64::try_from(cluster.nodes.len()).unwrap_or(1).max(1);
        let turns = 2 + OPPORTUNITIES.div_ceil(nodes);
        let span = trace.facts.last_ms;
        let (heartbeat_ms, round_ms, period) = match self.mode {
            ModeKind::Heartbeat => (timing.heartbeat_ms, None, timing.heartbeat_ms),
            ModeKind::Asynchronous | ModeKind::Global => {
                // Threads come to rest after every call, without being told to do a round.
                let round_ms = self.sequential.then_some(timing.round_ms);
                (IDLE_HEARTBEAT_MS, round_ms, timing.round_ms)
            }
        };
        let mut patience_ms = period.saturating_mul(turns);
        if let Some(preemption) = &cluster.preemption {
            // Nothing happens between asking back and killing; a run must not end in between.
            let wait = preemption.max_wait_before_kill_ms;
            let wait = wait.max(preemption.balance.unwrap_or(0));
            let rounds = preemption.monitoring_interval_ms.saturating_mul(2);
            patience_ms = patience_ms.saturating_add(wait).saturating_add(rounds);
        }
        DriverSettings {
            types: cluster.types.names().len(),
            heartbeat_ms,
            round_ms,
            quiet_ms: Some(patience_ms),
            patience_ms,
            until_ms: timing.until_ms,
            sample_ms: (span / SAMPLES.0)
                .max(trace.facts.end_ms / SAMPLES.1)
                .max(patience_ms / SAMPLES.1)
                .max(1000),
            guarantees: cluster.guarantees.clone(),
            ..DriverSettings::default()
        }
    }

    /// Plays a trace. `watch` sees every decision.
    pub(crate) fn play(
        self,
        cluster: &Cluster,
        trace: &Trace,
        timing: Timing,
        bar: &ProgressBar,
        watch: &mut dyn Watch,
    ) -> Result<Outcome> {
        let clock = SystemClock::new();
        let engine = self.engine(cluster, clock)?;
        let placing_calls = self.sequential || self.mode == ModeKind::Heartbeat;
        let measured = Measured::new(engine, placing_calls, clock);
        let mut driver = Driver::new(measured, self.settings(cluster, trace, timing));
        let added = driver.add_nodes(&cluster.nodes);
        added
            .map_err(|error| anyhow::Error::new(Problem(format!("a node is refused: {error}"))))?;
        let mut workload = Shown {
            inner: trace.jobs()?,
            bar,
        };
        let mut watch = Placed {
            set: 0,
            utilisation: Utilisation::new(trace, cluster.types.names().len()),
            beside: watch,
        };
        let (before, busy) = (clock.now_ns(), driver.scheduler().busy_ns());
        let mut report = driver.run(&mut workload, &mut watch).map_err(explain)?;
        let wall_ns = clock.now_ns() - before;
        report.mapping = trace.facts.mapping.clone();
        bar.finish_and_clear();
        note(format_args!(
            "{}, {} deciding: {} containers placed, {} h of virtual time in {} s",
            self.mode.name(),
            self.threads,
            grouped(report.counts.placed),
            report.ended_ms / 3_600_000,
            wall_ns / 1_000_000_000,
        ));
        let engine = driver.scheduler();
        Ok(Outcome {
            row: self,
            types: cluster.types.names().to_vec(),
            wall_ns,
            engine_ns: engine.busy_ns() - busy,
            latencies: engine.latencies(),
            conflicts: engine.conflicts(),
            placed_set: watch.set,
            utilisation: watch.utilisation.shares(),
            preemption: cluster
                .preemption
                .as_ref()
                .and_then(|_| engine.policy())
                .map(|policy| Account::of(policy, cluster.types.names())),
            report,
        })
    }
}

/// Settings under which one decision looks at all nodes, what the reference calls multi-node
/// placement. Where no policy sorts them the least used comes first: without one, the reference
/// reserves on the first node as soon as that is full.
fn among_all_nodes(mut settings: TreeSettings) -> TreeSettings {
    let multi_node = &mut settings.scheduler.multi_node;
    multi_node.enabled = true;
    if multi_node.policies.is_empty() {
        let name: Arc<str> = "resource-usage".into();
        multi_node.policies.push(NodePolicySettings {
            name: Arc::clone(&name),
            order: NodePolicy::ResourceUsage,
            interval_ms: 0,
        });
        for queue in &mut settings.queues {
            queue.node_policy = Some(Arc::clone(&name));
        }
    }
    settings
}

/// A bar for the jobs of a run on standard error; nothing unless that is a terminal.
pub(crate) fn progress(jobs: u64, title: &str) -> ProgressBar {
    let bar = ProgressBar::new(jobs);
    let style = ProgressStyle::with_template("{msg:14} {bar:30} {pos}/{len} jobs  {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_message(title.to_owned());
    bar
}

/// Jobs that are counted on a bar.
struct Shown<'a> {
    inner: Box<dyn Workload + Send>,
    bar: &'a ProgressBar,
}

impl Iterator for Shown<'_> {
    type Item = Result<Job, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.bar.inc(1);
        self.inner.next()
    }
}

impl Workload for Shown<'_> {
    fn report(&self) -> MappingReport {
        self.inner.report()
    }
}

/// Which application got how many containers, and how full the cluster was.
struct Placed<'a> {
    /// A sum of hashes, one for each application with containers: equal when every application got
    /// the same number of them, in whatever order.
    set: u64,
    utilisation: Utilisation,
    beside: &'a mut dyn Watch,
}

/// FNV-1a of an application and its number of containers.
fn hash_of(job: &JobLine) -> u64 {
    let app = job.app.sequence.to_le_bytes();
    let bytes = app.into_iter().chain(job.placed.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Watch for Placed<'_> {
    fn decision(&mut self, at_ms: u64, event: &Event) {
        self.beside.decision(at_ms, event);
    }

    fn job(&mut self, job: &JobLine) {
        if job.placed > 0 {
            self.set = self.set.wrapping_add(hash_of(job));
        }
        self.beside.job(job);
    }

    fn sample(&mut self, sample: &Sample) {
        self.utilisation.sample(sample);
        self.beside.sample(sample);
    }
}

/// Use of every type while jobs arrive: what comes after is the end of the trace, not the work of
/// the scheduler.
#[derive(Debug)]
struct Utilisation {
    last_ms: u64,
    samples: u64,
    /// Sum and largest value by type, in thousandths.
    types: Vec<(u64, u32)>,
}

impl Utilisation {
    fn new(trace: &Trace, types: usize) -> Self {
        Self {
            last_ms: trace.facts.last_ms,
            samples: 0,
            types: vec![(0, 0); types],
        }
    }

    fn sample(&mut self, sample: &Sample) {
        if sample.at_ms > self.last_ms {
            return;
        }
        self.samples += 1;
        for (index, (sum, most)) in self.types.iter_mut().enumerate() {
            let used: i64 = sample.used.values().map(|used| used[index]).sum();
            let total = i128::from(sample.total[index].max(1));
            let permille = (i128::from(used) * 1000 / total).clamp(0, 1000);
            let permille = u32::try_from(permille).expect("it is at most 1000");
            *sum += u64::from(permille);
            *most = permille.max(*most);
        }
    }

    /// Mean and largest share of each type, in thousandths.
    fn shares(&self) -> Vec<(u32, u32)> {
        let mean = |sum: u64| u32::try_from(sum / self.samples.max(1)).unwrap_or(u32::MAX);
        let types = self.types.iter();
        types.map(|(sum, most)| (mean(*sum), *most)).collect()
    }
}
