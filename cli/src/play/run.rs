//! One row: a mode with its threads plays a trace on a cluster.

use std::fmt;

use anyhow::{Result, anyhow};
use capsched::api::{
    Event, Latencies, Mode, ModeKind, NodeSorting, Reference, Running, Stepped, Threaded,
    TreeSettings,
};
use capsched::simulator::{
    Costs, Driver, DriverSettings, Job, JobLine, MappingReport, RunNodes, RunReport, RunWatch,
    Sample, TraceError, Workload, fitted_to,
};
use capsched::time::{Clock, SystemClock};
use indicatif::{ProgressBar, ProgressStyle};

use super::cluster::Cluster;
use super::figures::grouped;
use super::left::{Left, left, try_steps};
use super::measured::{Engine, Measured};
use super::observe::Editor;
use super::origin::Origin;
use super::outcome::Outcome;
use super::preemption::Account;

use super::trace::{Trace, explain};
use super::tried::Trials;
use crate::output::{Problem, note};
use crate::values::virtual_ms;

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

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mode.name())?;
        if self.sequential {
            return Ok(());
        }
        write!(f, "-{}", self.threads)
    }
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
    /// End at this virtual time at the latest, such as 90s or 2h; a bare number is in ms.
    #[arg(long = "until", value_name = "TIME", value_parser = virtual_ms)]
    pub(crate) until_ms: Option<u64>,
    /// Carry out every heartbeat and every round, even those that surely come to nothing; decisions are the same.
    #[arg(long)]
    pub(crate) every_beat: bool,
    /// Keep sums for the figures and judge nothing: `perf replay --unaudited` measures what the auditor costs.
    #[arg(long, hide = true)]
    pub(crate) no_audit: bool,
}

/// What a row plays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    /// Settings and nodes.
    pub(crate) cluster: &'a Cluster,
    /// The jobs.
    pub(crate) trace: &'a Trace,
    /// Periods of virtual time.
    pub(crate) timing: Timing,
    /// What the scheduler's work costs; nothing: no virtual time.
    pub(crate) costs: Option<&'a Costs>,
    /// Whether steps are tried for the work that is left at the end.
    pub(crate) tries: bool,
    /// Whether the end is said on standard error; a caller that plays many says what goes on itself.
    pub(crate) says_end: bool,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat_ms: 1000,
            round_ms: 5,
            until_ms: None,
            every_beat: false,
            no_audit: false,
        }
    }
}

/// Lines of the time series that are wanted while jobs arrive, and at most in a whole run.
const SAMPLES: (u64, u64) = (2000, 20_000);

impl Row {
    /// The row that a mode and a number of threads make; without one the sequential engine runs.
    pub(crate) fn new(mode: ModeKind, threads: Option<usize>) -> Self {
        let (threads, sequential) = match threads {
            None => (1, true),
            Some(_) if matches!(mode, ModeKind::Heartbeat) => (1, false),
            Some(0) => (1, false),
            Some(threads) => (threads, false),
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

    /// Settings as the mode of the row needs them, whatever the configuration says.
    pub(crate) fn fitted(self, settings: TreeSettings) -> TreeSettings {
        fitted_to(self.mode, settings)
    }

    /// The engine that runs step by step, without nodes.
    pub(super) fn stepped(self, cluster: &Cluster, every_beat: bool) -> Result<Stepped> {
        let mut cluster = cluster.clone();
        cluster.settings = self.fitted(cluster.settings);
        let mut engine = Stepped::new(cluster.sequential()?, self.mode);
        if every_beat {
            engine = engine.carrying_out_all();
        }
        if let Some(settings) = &cluster.preemption {
            engine = engine.with_preemption(settings.clone());
        }
        Ok(engine)
    }

    fn engine(self, cluster: &Cluster, clock: SystemClock, every_beat: bool) -> Result<Engine> {
        if self.sequential {
            let engine = self.stepped(cluster, every_beat)?;
            return Ok(Engine::Stepped(Box::new(engine)));
        }
        let mut cluster = cluster.clone();
        cluster.settings = self.fitted(cluster.settings);
        let threads = self.threads;
        let mode = match self.mode {
            ModeKind::Heartbeat => Mode::Heartbeat,
            ModeKind::Asynchronous => Mode::Asynchronous { threads },
            ModeKind::Global => Mode::Global { threads },
        };
        // A run is looked at, not raced: every decision is measured. Nodes are sorted as virtual time passes.
        let running = Running {
            latencies: Latencies::All,
            sorting: NodeSorting::Caller,
            ..Running::default()
        };
        let engine = cluster.sequential()?;
        let engine = Threaded::take_over(engine, mode, clock, running);
        let engine = engine.map_err(|error| anyhow!("the engine does not start: {error}"))?;
        Ok(Engine::Threaded(Box::new(engine)))
    }

    pub(super) fn settings(self, scene: &Scene<'_>) -> DriverSettings {
        let Scene {
            cluster,
            trace,
            timing,
            costs,
            tries: _,
            says_end: _,
        } = *scene;
        let span = trace.facts.last_ms;
        let nodes = RunNodes {
            count: cluster.nodes.len(),
            borrows: cluster.partitions.iter().any(|one| !one.exclusive),
        };
        let (periods, preemption) = (
            (timing.heartbeat_ms, timing.round_ms),
            cluster.preemption.as_ref(),
        );
        let of_mode =
            DriverSettings::for_mode(self.mode, &cluster.settings, nodes, preemption, periods);
        DriverSettings {
            until_ms: timing.until_ms,
            sample_ms: (span / SAMPLES.0)
                .max(trace.facts.end_ms / SAMPLES.1)
                .max(of_mode.patience_ms / SAMPLES.1)
                .max(1000),
            costs: costs.cloned(),
            guarantees: cluster.guarantees.clone(),
            judges: !timing.no_audit,
            ..of_mode
        }
    }

    /// Names the setting that lets work starve behind nodes that others reserved, where it does.
    fn explain_starvation(self, cluster: &Cluster, conflicts: &[(&str, u64)], waiting: u64) {
        let refused = conflicts
            .iter()
            .find(|(reason, _)| *reason == "reservation-changed");
        let scheduler = &cluster.settings.scheduler;
        let setting = match (
            scheduler.skip_reserved_nodes,
            scheduler.mends.reserved_last_node,
        ) {
            (false, _) => "yarn.scheduler.capacity.skip-allocate-on-nodes-with-reserved-containers",
            (true, false) => "capsched.mend.reserved-last-node",
            (true, true) => return,
        };
        if let Some((reason, times)) = refused
            && self.mode == ModeKind::Global
            && waiting > 0
        {
            note(format_args!(
                "{}: {} proposals for nodes that others reserved were refused ({reason}), and {} containers \
                 wait; set {setting} to true (YARN-11573)",
                self.mode.name(),
                grouped(*times),
                grouped(waiting),
            ));
        }
    }

    /// Says on standard error that a run ended, where its caller leaves it to the run.
    fn note_end(self, scene: &Scene<'_>, report: &RunReport, wall_ns: u64) {
        if !scene.says_end {
            return;
        }
        note(format_args!(
            "{}, {} deciding: {} containers placed, {} h of virtual time in {} s",
            self.mode.name(),
            self.threads,
            grouped(report.counts.placed),
            report.ended_ms / 3_600_000,
            wall_ns / 1_000_000_000,
        ));
    }

    /// Tries on copies of the engine what would help the work that is left.
    fn try_steps(self, cluster: &Cluster, engine: &Measured, left: &mut [Left]) {
        let copy = (!left.is_empty()).then(|| engine.copy(self.mode)).flatten();
        if let Some(copy) = copy {
            let editor = Editor { cluster, row: self };
            try_steps(left, &Trials::new(&copy, &editor));
        }
    }

    /// Plays a trace. `watch` sees every decision.
    pub(crate) fn play(
        self,
        scene: &Scene<'_>,
        bar: &ProgressBar,
        watch: &mut dyn RunWatch,
    ) -> Result<Outcome> {
        let (cluster, trace) = (scene.cluster, scene.trace);
        let clock = SystemClock::new();
        let engine = self.engine(cluster, clock, scene.timing.every_beat)?;
        let placing_calls = self.sequential || self.mode == ModeKind::Heartbeat;
        let measured = Measured::new(engine, placing_calls, clock);
        let mut driver = Driver::new(measured, self.settings(scene));
        let added = driver.add_nodes(&cluster.nodes);
        added
            .map_err(|error| anyhow::Error::new(Problem(format!("a node is refused: {error}"))))?;
        let mut workload = Shown {
            inner: trace.jobs()?,
            bar,
        };
        let mut watch = Placed {
            set: 0,
            beside: watch,
        };
        let (before, busy) = (clock.now_ns(), driver.scheduler().busy_ns());
        let mut report = driver.run(&mut workload, &mut watch).map_err(explain)?;
        let wall_ns = clock.now_ns() - before;
        report.mapping = trace.facts.mapping.clone();
        bar.finish_and_clear();
        self.note_end(scene, &report, wall_ns);
        let mut left = left_work(&mut driver, &report, &cluster.origin);
        if scene.tries {
            self.try_steps(cluster, driver.scheduler(), &mut left);
        }
        let engine = driver.scheduler();
        let conflicts = engine.conflicts();
        self.explain_starvation(cluster, &conflicts, report.counts.waiting);
        Ok(Outcome {
            name: self.to_string(),
            differs: Vec::new(),
            row: self,
            types: cluster.types.names().to_vec(),
            wall_ns,
            engine_ns: engine.busy_ns() - busy,
            latencies: engine.latencies(),
            intervals: engine.intervals(),
            conflicts,
            placed_set: watch.set,
            left,
            preemption: account(cluster, engine),
            report,
        })
    }
}

/// What preemption took, where its rounds ran.
fn account(cluster: &Cluster, engine: &Measured) -> Option<Account> {
    let policy = cluster.preemption.as_ref().and_then(|_| engine.policy());
    policy.map(|policy| Account::of(policy, cluster.types.names()))
}

/// What the run refused or left, by reason.
fn left_work(driver: &mut Driver<Measured>, report: &RunReport, origin: &Origin) -> Vec<Left> {
    let jobs = driver.left();
    let open: u64 = jobs.iter().map(|job| job.not_asked).sum();
    let failed = report.counts.not_asked - open;
    let waits = driver.scheduler().waiting();
    let all = left(&report.refusals, &jobs, &waits, failed).into_iter();
    all.map(|left| left.placed(origin)).collect()
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
    beside: &'a mut dyn RunWatch,
}

/// FNV-1a of an application and its number of containers.
fn hash_of(job: &JobLine) -> u64 {
    let app = job.app.sequence.to_le_bytes();
    let bytes = app.into_iter().chain(job.placed.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl RunWatch for Placed<'_> {
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
        self.beside.sample(sample);
    }
}
