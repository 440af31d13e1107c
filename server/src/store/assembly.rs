//! A resource manager whose changes survive: store, configuration, recovery and journal, put together.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capsched::config::{ConfigSource, Layer, Properties};
use capsched::sync::{AtomicBool, Ordering};

use super::batch::{Store, StoreError, Token};
use super::configurations::KeyConfStore;
use super::journal::{Durability, StoreJournal};
use crate::conf::{
    ConfError, ConfProperties, ConfStore, FileConfStore, MemoryConfStore, MutableConf,
    MutableConfOptions,
};
use crate::rm::{RecoveryCounts, ResourceManager, Setup, StartFailure};

/// How long a leader leads without renewing.
const LEASE: Duration = Duration::from_secs(10);

/// `yarn.scheduler.configuration.max.version`, where no configuration says otherwise.
const MOST_VERSIONS: usize = 100;

/// `yarn.scheduler.configuration.store.max-logs`, where no configuration says otherwise.
const MOST_ENTRIES: usize = 1000;

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
    /// The resource manager; it recovers until [`ResourceManager::finish_recovery`].
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
    _lease: LeaseKeeper,
}

/// Prolongs the lease of a leader until it is dropped; then it resigns.
#[derive(Debug)]
struct LeaseKeeper {
    ends: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl LeaseKeeper {
    fn start(store: Arc<dyn Store>, token: Token) -> Result<Self, StoreError> {
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let builder = thread::Builder::new().name("lease".to_owned());
        let thread = builder.spawn(move || {
            while !until.load(Ordering::Relaxed) {
                if let Err(error) = store.renew(token) {
                    tracing::error!(%error, "the lease could not be prolonged");
                }
                thread::park_timeout(LEASE / 8);
            }
            // Where this fails, the lease ends by itself.
            let _ = store.resign(token);
        });
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self {
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for LeaseKeeper {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Its panic was reported when it happened.
            let _ = thread.join();
        }
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
        mut setup: Setup,
        store: Option<Arc<dyn Store>>,
        durability: Durability,
        who: &str,
    ) -> Result<Self, DurableFailure> {
        let leader = match store {
            Some(store) => {
                let token = store.lead(who, LEASE)?;
                Some((store, token))
            }
            None => None,
        };
        let lease = leader.as_ref();
        let lease = lease.map(|(store, token)| LeaseKeeper::start(Arc::clone(store), *token));
        let lease = lease.transpose()?;
        let conf = open_conf(&setup, leader.as_ref())?;
        if let Some(conf) = &conf {
            setup.scheduler.clone_from(conf.state().properties.as_map());
        }
        setup.recovering = leader.is_some();
        let commands = match &leader {
            Some((store, _)) => StoreJournal::read(&**store)?,
            None => Vec::new(),
        };
        let rm = ResourceManager::start(setup).map_err(DurableFailure::Start)?;
        let last = commands.last().map_or(0, |command| command.position);
        let entries: Vec<_> = commands.into_iter().map(|command| command.entry).collect();
        let recovered = rm.recover(&entries);
        let mut kept = None;
        if let (Some((store, token)), Some(lease)) = (leader, lease) {
            let journal = StoreJournal::open(store, token, last, durability)?;
            let journal = Arc::new(journal);
            rm.attach_journal(Arc::clone(&journal) as Arc<dyn crate::rm::Journal>);
            kept = Some(Kept {
                journal,
                _lease: lease,
            });
        }
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

    /// The journal, where there is one.
    #[must_use]
    pub fn journal(&self) -> Option<&StoreJournal> {
        self.kept.as_ref().map(|kept| &*kept.journal)
    }
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
    let Some(store) = conf_store(&read.properties, leader)? else {
        return Ok(None);
    };
    let now_ms = setup.clock.now_ms();
    let opened = MutableConf::open(store, seed, surroundings, now_ms);
    opened
        .map(Some)
        .map_err(|error| DurableFailure::Configuration(Box::new(error)))
}

fn conf_store(
    site: &Properties,
    leader: Option<&(Arc<dyn Store>, Token)>,
) -> Result<Option<Box<dyn ConfStore>>, DurableFailure> {
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
        leader.map(|(store, token)| -> Box<dyn ConfStore> {
            Box::new(KeyConfStore::new(
                Arc::clone(store),
                Some(*token),
                versions,
                entries,
            ))
        })
    };
    Ok(match text("store.class").as_deref() {
        None => of_leader(),
        Some("file") => None,
        Some("memory") => Some(Box::new(MemoryConfStore::new(versions, entries))),
        Some("fs") => {
            let dir = directory(text("fs.path"))?;
            let opened = FileConfStore::open(&dir, versions, entries);
            let opened = opened.map_err(|error| {
                DurableFailure::Configuration(Box::new(ConfError::Store(error)))
            })?;
            Some(Box::new(opened))
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
