//! A resource manager whose changes survive: store, configuration, recovery and journal, put together.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capsched::config::{ConfigSource, Layer, Properties};
use capsched::sync::{AtomicBool, Ordering};

use super::batch::{Store, StoreError, Token};
use super::compaction::{Recorded, compact};
use super::configurations::KeyConfStore;
use super::journal::{Durability, StoreJournal};
use super::lease::LeaseKeeper;
use crate::clock::SharedClock;
use crate::conf::{
    ConfError, ConfProperties, ConfStore, ConfStoreError, FileConfStore, MemoryConfStore,
    MutableConf, MutableConfOptions,
};
use crate::rm::{EndedLimits, RecoveryCounts, ResourceManager, Setup, StartFailure};

/// How long a leader leads without renewing, where nothing else is said.
const LEASE: Duration = Duration::from_secs(10);

/// `yarn.scheduler.configuration.max.version`, where no configuration says otherwise.
const MOST_VERSIONS: usize = 100;

/// `yarn.scheduler.configuration.store.max-logs`, where no configuration says otherwise.
const MOST_ENTRIES: usize = 1000;

/// Between two looks at the length of the journal.
const LOOK: Duration = Duration::from_millis(500);

/// How changes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepOptions {
    /// When a command counts as kept.
    pub durability: Durability,
    /// A snapshot replaces the commands of the journal when there are so many.
    pub compact_after: u64,
    /// How long the process leads without renewing.
    pub lease: Duration,
}

impl Default for KeepOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Strict,
            compact_after: 50_000,
            lease: LEASE,
        }
    }
}

impl From<Durability> for KeepOptions {
    fn from(durability: Durability) -> Self {
        Self {
            durability,
            ..Self::default()
        }
    }
}

/// Why it does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum DurableFailure {
    /// The store.
    Store(StoreError),
    /// The configuration or its store.
    Configuration(Box<ConfError>),
    /// A setting of the site.
    Setting(String),
    /// The resource manager.
    Start(StartFailure),
}

impl fmt::Display for DurableFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Configuration(error) => error.fmt(f),
            Self::Setting(text) => f.write_str(text),
            Self::Start(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for DurableFailure {}

impl From<StoreError> for DurableFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A resource manager with what keeps its changes.
#[derive(Debug)]
pub struct Durable {
    /// The resource manager.
    pub rm: Arc<ResourceManager>,
    /// Its configuration, where that may change.
    pub conf: Option<Arc<MutableConf>>,
    /// What came back.
    pub recovered: RecoveryCounts,
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// Ended first, so that what is in line is written while the lease holds.
    journal: Arc<StoreJournal>,
    _compactor: Compactor,
    lease: LeaseKeeper,
}

/// Replaces the beginning of a journal by snapshots, until it is dropped.
#[derive(Debug)]
struct Compactor {
    ends: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

/// What a compactor needs.
struct Compaction {
    store: Arc<dyn Store>,
    token: Token,
    after: u64,
    most_ended: usize,
    /// Commands that the journal had at the start.
    found: u64,
}

impl Compaction {
    fn run(&self, journal: &StoreJournal, ends: &AtomicBool) {
        // Commands since the start that a snapshot has, those found at the start included.
        let mut replaced = 0;
        while !ends.load(Ordering::Relaxed) {
            let counts = journal.counts();
            let length = self.found + counts.commands;
            if length - replaced >= self.after && journal.failure().is_none() {
                match compact(&*self.store, self.token, self.most_ended) {
                    Ok(position) => tracing::info!(position, "a snapshot replaces the journal"),
                    Err(error) => tracing::warn!(%error, "the journal could not be compacted"),
                }
                // What failed is tried again when the journal has grown by as much.
                replaced = length;
            }
            thread::park_timeout(LOOK);
        }
    }
}

impl Compactor {
    fn start(of: Compaction, journal: Arc<StoreJournal>) -> Result<Self, StoreError> {
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let builder = thread::Builder::new().name("compaction".to_owned());
        let thread = builder.spawn(move || of.run(&journal, &until));
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self {
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Its panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// A process that leads a store, with what the store has. It resigns when it is dropped.
#[derive(Debug)]
pub struct Lead {
    store: Arc<dyn Store>,
    token: Token,
    keeper: LeaseKeeper,
    pub(super) recorded: Recorded,
}

impl Lead {
    /// Leads, and prolongs the lease from now on.
    pub(super) fn begin(
        store: Arc<dyn Store>,
        who: &str,
        lease: Duration,
    ) -> Result<Self, StoreError> {
        let clock = SharedClock::system();
        let (token, keeper) = LeaseKeeper::lead(Arc::clone(&store), who, lease, clock)?;
        Ok(Self {
            store,
            token,
            keeper,
            recorded: Recorded::default(),
        })
    }

    /// Leads at once, and reads what the store has.
    fn at_once(store: Arc<dyn Store>, who: &str, lease: Duration) -> Result<Self, StoreError> {
        let mut lead = Self::begin(store, who, lease)?;
        lead.recorded = Recorded::read(&*lead.store)?;
        Ok(lead)
    }

    fn leader(&self) -> (Arc<dyn Store>, Token) {
        (Arc::clone(&self.store), self.token)
    }
}

impl Durable {
    /// Starts a resource manager. With a store its commands and configurations are kept there, and what an earlier
    /// run kept comes back; the caller becomes the store's leader as `who`.
    ///
    /// # Errors
    ///
    /// As [`DurableFailure`]; nothing runs then.
    pub fn start(
        setup: Setup,
        store: Option<Arc<dyn Store>>,
        keeping: impl Into<KeepOptions>,
        who: &str,
    ) -> Result<Self, DurableFailure> {
        let keeping = keeping.into();
        let lead = store.map(|store| Lead::at_once(store, who, keeping.lease));
        Self::start_leading(setup, lead.transpose()?, keeping)
    }

    /// Starts a resource manager of a process that leads already, as a standby does; or of one without a store.
    ///
    /// # Errors
    ///
    /// As [`DurableFailure`]; nothing runs then.
    pub fn start_leading(
        mut setup: Setup,
        lead: Option<Lead>,
        keeping: KeepOptions,
    ) -> Result<Self, DurableFailure> {
        let leader = lead.as_ref().map(Lead::leader);
        let conf = open_conf(&setup, leader.as_ref())?;
        if let Some(conf) = &conf {
            setup.scheduler.clone_from(conf.state().properties.as_map());
        }
        let rm = ResourceManager::start(setup).map_err(DurableFailure::Start)?;
        let recorded = lead.as_ref().map(|lead| &lead.recorded.entries[..]);
        let recovered = rm.recover(recorded.unwrap_or_default());
        let kept = lead.map(|lead| keep(&rm, lead, keeping)).transpose()?;
        Ok(Self {
            rm: Arc::new(rm),
            conf: conf.map(Arc::new),
            recovered,
            kept,
        })
    }

    /// Why changes are not kept; nothing: they are, or there is no store.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let of_journal = self.kept.as_ref().and_then(|kept| kept.journal.failure());
        of_journal.or_else(|| self.conf.as_ref()?.in_doubt())
    }

    /// Whether another process may lead by now, where processes share the store. What this one decides counts no
    /// more, and it has to end.
    #[must_use]
    pub fn has_lost_lead(&self) -> bool {
        let kept = self.kept.as_ref();
        kept.is_some_and(|kept| kept.lease.may_have_ended())
    }

    /// The journal, where there is one.
    #[must_use]
    pub fn journal(&self) -> Option<&StoreJournal> {
        self.kept.as_ref().map(|kept| &*kept.journal)
    }
}

/// Has a journal keep what a resource manager carries out from now on.
fn keep(rm: &ResourceManager, lead: Lead, keeping: KeepOptions) -> Result<Kept, StoreError> {
    let Lead {
        store,
        token,
        keeper,
        recorded,
    } = lead;
    let opened = StoreJournal::open(Arc::clone(&store), token, recorded.last, keeping.durability);
    let journal = Arc::new(opened?);
    rm.attach_journal(Arc::clone(&journal) as Arc<dyn crate::rm::Journal>);
    let limits = EndedLimits::read(&rm.configuration().loaded.properties);
    let compaction = Compaction {
        store,
        token,
        after: keeping.compact_after.max(1),
        most_ended: limits.map_err(StoreError::Failed)?.stored,
        found: recorded.of_journal,
    };
    Ok(Kept {
        _compactor: Compactor::start(compaction, Arc::clone(&journal))?,
        journal,
        lease: keeper,
    })
}

/// The properties of the site.
fn site_of(setup: &Setup) -> ConfProperties {
    setup
        .site
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The configuration, where the site says that it may change: `yarn.scheduler.configuration.store.class`. Where the
/// site says nothing, it may when there is a store.
fn open_conf(
    setup: &Setup,
    leader: Option<&(Arc<dyn Store>, Token)>,
) -> Result<Option<MutableConf>, DurableFailure> {
    let site = site_of(setup);
    let source = ConfigSource {
        layer: Layer::Site,
        ..site.to_source("yarn-site.xml")
    };
    let seed: ConfProperties = setup
        .scheduler
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let surroundings = MutableConfOptions {
        site: vec![source],
        options: setup.options(),
        daemon: setup.daemon.clone(),
    };
    let read = capsched::config::load_pairs(&setup.site, &setup.scheduler, &setup.options());
    let read = read
        .map_err(|report| DurableFailure::Start(StartFailure::Configuration(Box::new(report))))?;
    let Some(ConfKeeping { store, of_leader }) = conf_store(&read.properties, leader)? else {
        return Ok(None);
    };
    let now_ms = setup.clock.now_ms();
    let opened = MutableConf::open(store, seed, surroundings, now_ms);
    opened.map(Some).map_err(|error| match error {
        ConfError::Store(error) if of_leader => DurableFailure::Store(of_configurations(error)),
        error => DurableFailure::Configuration(Box::new(error)),
    })
}

/// What the store of configurations says, as its store says it.
fn of_configurations(error: ConfStoreError) -> StoreError {
    match error {
        ConfStoreError::Corrupt(text) => StoreError::Corrupt(text),
        ConfStoreError::InDoubt(text) => StoreError::InDoubt(text),
        ConfStoreError::Fenced => StoreError::Fenced,
        other => StoreError::Failed(other.to_string()),
    }
}

/// Where configurations are kept.
struct ConfKeeping {
    store: Box<dyn ConfStore>,
    /// The process leads that store.
    of_leader: bool,
}

fn conf_store(
    site: &Properties,
    leader: Option<&(Arc<dyn Store>, Token)>,
) -> Result<Option<ConfKeeping>, DurableFailure> {
    let text = |name: &str| {
        site.text(&format!("yarn.scheduler.configuration.{name}"))
            .ok()
            .flatten()
    };
    let number = |name: &str, default: usize| match text(name) {
        None => Ok(default),
        Some(value) => value.trim().parse().map_err(|_| {
            let key = format!("yarn.scheduler.configuration.{name}");
            DurableFailure::Setting(format!("`{value}` of `{key}` is no number"))
        }),
    };
    let (versions, entries) = (
        number("max.version", MOST_VERSIONS)?,
        number("store.max-logs", MOST_ENTRIES)?,
    );
    let of_leader = || {
        leader.map(|(store, token)| {
            let (store, token) = (Arc::clone(store), Some(*token));
            let store = KeyConfStore::new(store, token, versions, entries);
            ConfKeeping {
                store: Box::new(store),
                of_leader: true,
            }
        })
    };
    let own = |store: Box<dyn ConfStore>| {
        let of_leader = false;
        Some(ConfKeeping { store, of_leader })
    };
    Ok(match text("store.class").as_deref() {
        None => of_leader(),
        Some("file") => None,
        Some("memory") => own(Box::new(MemoryConfStore::new(versions, entries))),
        Some("fs") => {
            let dir = directory(text("fs.path"))?;
            let opened = FileConfStore::open(&dir, versions, entries);
            let opened = opened.map_err(|error| {
                DurableFailure::Configuration(Box::new(ConfError::Store(error)))
            })?;
            own(Box::new(opened))
        }
        Some(class) => match of_leader() {
            Some(store) => Some(store),
            None => {
                let text =
                    format!("the configuration store `{class}` needs a store: --data or --store");
                return Err(DurableFailure::Setting(text));
            }
        },
    })
}

/// The directory that `fs.path` names.
fn directory(path: Option<String>) -> Result<PathBuf, DurableFailure> {
    const KEY: &str = "yarn.scheduler.configuration.fs.path";
    let path = path.filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| DurableFailure::Setting(format!("`{KEY}` must be set")))?;
    let local = path.strip_prefix("file://").unwrap_or(&path);
    if local.contains("://") {
        let text = format!("`{path}` of `{KEY}` is no directory of this machine");
        return Err(DurableFailure::Setting(text));
    }
    let temporary = std::env::temp_dir();
    let local = local.replace("${java.io.tmpdir}", &temporary.to_string_lossy());
    Ok(PathBuf::from(local))
}
