//! What a resource manager is started with.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use capsched::api::{Mode, PartitionSpec, Reference};
use capsched::config::{self, Loaded, Options, Report};
use capsched::time::{Clock, SystemClock};

use super::command::Pairs;

/// Finds the groups of users.
pub trait Groups: Send + Sync + fmt::Debug {
    /// The groups of a user, the primary one first.
    fn of(&self, user: &str) -> Vec<String>;
}

impl Groups for BTreeMap<String, Vec<String>> {
    fn of(&self, user: &str) -> Vec<String> {
        self.get(user).cloned().unwrap_or_default()
    }
}

/// What a resource manager is started with.
#[derive(Clone)]
#[non_exhaustive]
pub struct Setup {
    /// Pairs of `yarn-site.xml`.
    pub site: Pairs,
    /// Pairs of `capacity-scheduler.xml`.
    pub scheduler: Pairs,
    /// The release whose rules and wire format hold.
    pub reference: Reference,
    /// Names of all resource types in vector order; read from the configuration when unset.
    pub resource_types: Option<Vec<String>>,
    /// Labels that the cluster has from the start.
    pub labels: Vec<PartitionSpec>,
    /// Who runs rounds, which wins over the configuration; see [`Self::configured_mode`].
    pub mode: Mode,
    /// Whether the host schedules nodes itself, by
    /// [`ResourceManager::schedule_node`](super::ResourceManager::schedule_node), where the configuration schedules
    /// asynchronously. The mode has no meaning then.
    pub host_passes: bool,
    /// The user that the daemon runs as.
    pub daemon: String,
    /// Where groups of users are looked up.
    pub groups: Arc<dyn Groups>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Start of the cluster in ms since the Unix epoch, which is part of application ids; the present time when
    /// unset.
    pub cluster: Option<u64>,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("reference", &self.reference)
            .field("mode", &self.mode)
            .field("daemon", &self.daemon)
            .finish_non_exhaustive()
    }
}

impl Setup {
    /// A setup over the two layers of a configuration, in heartbeat mode, with the machine's clock and no groups.
    #[must_use]
    pub fn new(site: Pairs, scheduler: Pairs) -> Self {
        Self {
            site,
            scheduler,
            reference: Reference::default(),
            resource_types: None,
            labels: Vec::new(),
            mode: Mode::Heartbeat,
            host_passes: false,
            daemon: "yarn".to_owned(),
            groups: Arc::new(BTreeMap::new()),
            clock: Arc::new(SystemClock::new()),
            cluster: None,
        }
    }

    /// The mode that the configuration asks for: asynchronous where `schedule-asynchronously.enable` holds, with as
    /// many threads as it says, else heartbeats.
    ///
    /// # Errors
    ///
    /// When the configuration is not valid.
    pub fn configured_mode(&self) -> Result<Mode, StartFailure> {
        let loaded = config::load_pairs(&self.site, &self.scheduler, &self.options())
            .map_err(|report| StartFailure::Configuration(Box::new(report)))?;
        Ok(Mode::configured(&loaded.settings.scheduler.asynchronous))
    }

    /// How configurations are read.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            reference: self.reference,
            resource_types: self.resource_types.clone(),
            environment: std::env::vars().collect(),
            ..Options::default()
        }
    }
}

/// A configuration that holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Configuration {
    /// Pairs of `yarn-site.xml`.
    pub site: Pairs,
    /// Pairs of `capacity-scheduler.xml`.
    pub scheduler: Pairs,
    /// What was read from both.
    pub loaded: Loaded,
}

/// Why a resource manager did not start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StartFailure {
    /// The configuration is not valid.
    Configuration(Box<Report>),
    /// The placement rules or access lists are not valid.
    Rules(String),
    /// A setting of the site has a value that it cannot have.
    Setting(String),
    /// The engine did not start.
    Engine(String),
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(report) => report.fmt(f),
            Self::Rules(text) | Self::Setting(text) | Self::Engine(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StartFailure {}
