//! A simulated cluster that lives: nodes that beat, leave and come back, applications that come, ask and end.
//!
//! It is a client of the resource manager as any other and calls what nodes and application masters call. Durations
//! and arrivals are in simulated ms, which pass faster than the clock by the chosen speed.

mod cluster;
mod job;
mod random;
mod settings;
mod workload;

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capsched::api::{Mode, PartitionSpec, Reference};
use capsched::config::{ConfigSource, Layer, Options};
use capsched::sync::{AtomicBool, Ordering};

use crate::conf::{ConfError, ConfProperties, MemoryConfStore, MutableConf, MutableConfOptions};
use crate::rm::{ResourceManager, Setup, StartFailure};

pub use settings::ADMINISTRATOR;

use workload::Workload;

/// How a demonstration runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemoOptions {
    /// Nodes; one in ten has GPUs.
    pub nodes: u32,
    /// Simulated ms in a second.
    pub speed_ms: u64,
    /// What decides the workload.
    pub seed: u64,
    /// Who runs rounds.
    pub mode: Mode,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self {
            nodes: 100,
            speed_ms: 1000,
            seed: 7,
            mode: Mode::Global { threads: 1 },
        }
    }
}

/// A resource manager with the queues of the demonstration, by the rules of a release.
///
/// # Errors
///
/// As [`StartFailure`].
pub fn resource_manager(
    options: &DemoOptions,
    reference: Reference,
) -> Result<ResourceManager, StartFailure> {
    let mut setup = Setup::new(settings::site(), settings::scheduler());
    setup.reference = reference;
    setup.mode = options.mode;
    setup.labels = vec![PartitionSpec {
        name: settings::GPU.to_owned(),
        exclusive: true,
    }];
    ADMINISTRATOR.clone_into(&mut setup.daemon);
    ResourceManager::start(setup)
}

/// The configuration of the demonstration, with versions that a restart forgets.
///
/// # Errors
///
/// When it is not valid.
pub fn configuration(rm: &ResourceManager) -> Result<MutableConf, ConfError> {
    let site: ConfProperties = settings::site().into_iter().collect();
    let surroundings = MutableConfOptions {
        site: vec![ConfigSource {
            layer: Layer::Site,
            ..site.to_source("yarn-site.xml")
        }],
        options: Options {
            reference: rm.setup().reference,
            ..Options::default()
        },
        daemon: ADMINISTRATOR.to_owned(),
    };
    let store = Box::new(MemoryConfStore::new(VERSIONS, ENTRIES));
    let seed = settings::scheduler().into_iter().collect();
    MutableConf::open(store, seed, surroundings, rm.now_ms())
}

/// Versions of the configuration, and entries of its log, that are kept.
const VERSIONS: usize = 100;
const ENTRIES: usize = 1000;

/// A cluster that lives until it is dropped.
#[derive(Debug)]
pub struct Demo {
    stops: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Longest sleep of the thread, so that it ends soon when it is to.
const NAP: Duration = Duration::from_millis(20);

impl Demo {
    /// Registers the nodes and starts the thread that is the cluster.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn start(rm: Arc<ResourceManager>, options: DemoOptions) -> io::Result<Self> {
        let stops = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stops);
        let builder = thread::Builder::new().name("demo-cluster".to_owned());
        let thread = builder.spawn(move || {
            let mut workload = Workload::new(&rm, &options);
            let begun = rm.now_ms();
            while !until.load(Ordering::Relaxed) && rm.engine().is_running() {
                let passed = rm.now_ms().saturating_sub(begun);
                let now = passed.saturating_mul(options.speed_ms) / 1000;
                let next = workload.run_until(&rm, now);
                let left = next.saturating_sub(now).saturating_mul(1000) / options.speed_ms.max(1);
                thread::sleep(Duration::from_millis(left.max(1)).min(NAP));
            }
        })?;
        Ok(Self {
            stops,
            thread: Some(thread),
        })
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
