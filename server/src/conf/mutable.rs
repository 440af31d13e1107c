//! The configuration that changes while the scheduler runs: one change at a time, each kept before it is answered.

use std::sync::{Arc, PoisonError};

use capsched::config::{self, Caller, ConfigSource, Loaded, Options, Report};
use capsched::sync::{Mutex, MutexGuard};

use super::access::ConfAccess;
use super::audit::{AuditEntry, AuditKind};
use super::change::ConfChange;
use super::outcome::{ConfCounters, ConfCounts, ConfError, ConfState, Outcome, count};
use super::properties::ConfProperties;
use super::store::{ConfStore, ConfStoreError, ConfVersion};
use super::target::{ConfRefusal, ConfTarget};

/// The name that messages give the stored configuration.
const SOURCE: &str = "capacity-scheduler.xml";

/// What a mutable configuration needs beside its store.
#[derive(Clone, Debug, Default)]
pub struct MutableConfOptions {
    /// The files below: `yarn-site.xml`, `resource-types.xml`.
    pub site: Vec<ConfigSource>,
    /// How configurations are read.
    pub options: Options,
    /// The user that the resource manager runs as.
    pub daemon: String,
}

/// The store with what is known of its end.
#[derive(Debug)]
struct Kept {
    store: Box<dyn ConfStore>,
    /// Why it cannot be used any more.
    in_doubt: Option<String>,
}

impl Kept {
    fn usable(&mut self) -> Result<&mut dyn ConfStore, ConfStoreError> {
        match &self.in_doubt {
            Some(why) => Err(ConfStoreError::InDoubt(why.clone())),
            None => Ok(&mut *self.store),
        }
    }
}

/// The scheduler's configuration with its versions.
#[derive(Debug)]
pub struct MutableConf {
    kept: Mutex<Kept>,
    state: Mutex<Arc<ConfState>>,
    seed: ConfProperties,
    surroundings: MutableConfOptions,
    access: ConfAccess,
    counters: ConfCounters,
}

impl MutableConf {
    /// Opens the configuration of a store; a new store takes `seed`, the properties of the file, as its first version.
    ///
    /// # Errors
    ///
    /// When the store fails, or the configuration is not valid; nothing is stored then.
    pub fn open(
        mut store: Box<dyn ConfStore>,
        seed: ConfProperties,
        surroundings: MutableConfOptions,
        now_ms: u64,
    ) -> Result<Self, ConfError> {
        let stored = store.latest()?;
        let properties = stored.as_ref().map_or(&seed, |stored| &stored.properties);
        let loaded = load(&surroundings, properties)?;
        let state = match stored {
            Some(stored) => ConfState {
                version: stored.version,
                properties: stored.properties,
                loaded: Arc::new(loaded),
            },
            None => {
                let updates = ConfProperties::default().updates_to(&seed);
                let user = surroundings.daemon.as_str();
                let entry = AuditEntry::accepted(now_ms, user, AuditKind::Seed, updates);
                ConfState {
                    version: store.prepare(&seed, entry)?.commit()?,
                    properties: seed.clone(),
                    loaded: Arc::new(loaded),
                }
            }
        };
        let access = ConfAccess::read(&state.loaded, &surroundings.daemon);
        let mut surroundings = surroundings;
        // As CapacityScheduler.reinitialize, which keeps the calculator of the start.
        surroundings.options.running = Some(state.loaded.settings.scheduler.calculator);
        Ok(Self {
            kept: Mutex::new(Kept {
                store,
                in_doubt: None,
            }),
            state: Mutex::new(Arc::new(state)),
            seed,
            surroundings,
            access,
            counters: ConfCounters::default(),
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The configuration that holds. Does not wait for a change under way.
    #[must_use]
    pub fn state(&self) -> Arc<ConfState> {
        let state = self.state.lock();
        Arc::clone(&state.unwrap_or_else(PoisonError::into_inner))
    }

    fn hold(&self, version: u64, properties: ConfProperties, loaded: Loaded) -> Arc<ConfState> {
        let next = Arc::new(ConfState {
            version,
            properties,
            loaded: Arc::new(loaded),
        });
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = Arc::clone(&next);
        next
    }

    /// How often which end was reached.
    #[must_use]
    pub fn counts(&self) -> ConfCounts {
        self.counters.shown()
    }

    /// Why the store cannot be used any more; nothing: it can.
    #[must_use]
    pub fn in_doubt(&self) -> Option<String> {
        self.kept().in_doubt.clone()
    }

    /// Whether the caller may read and change configurations: an administrator of the cluster, or anybody where
    /// access is not checked.
    // As RMWebServices.initForWritableEndpoints.
    #[must_use]
    pub fn admits(&self, caller: &Caller<'_>) -> bool {
        self.access.admits(caller)
    }

    /// The sources of a configuration, the scheduler's last.
    #[must_use]
    pub fn sources(&self, properties: &ConfProperties) -> Vec<ConfigSource> {
        sources(&self.surroundings, properties)
    }

    /// What a change would lead to, as far as it can be worked out and read; the scheduler is not asked.
    ///
    /// # Errors
    ///
    /// When the change cannot be worked out.
    pub fn preview(&self, change: &ConfChange) -> Result<(ConfProperties, Report), ConfError> {
        let present = self.state();
        let next = present
            .properties
            .with(&change.updates(&present.properties)?);
        let report = config::check(&self.sources(&next), &self.surroundings.options);
        Ok((next, report))
    }

    /// Reads a configuration of the scheduler with the files below it.
    ///
    /// # Errors
    ///
    /// When it is not valid.
    pub fn load(&self, properties: &ConfProperties) -> Result<Loaded, Report> {
        config::load(&self.sources(properties), &self.surroundings.options)
    }

    /// Makes a change. With `expected`, only when that version holds.
    ///
    /// # Errors
    ///
    /// As [`ConfError`]; version, stored configuration and scheduler are as they were then.
    pub fn change(
        &self,
        target: &dyn ConfTarget,
        caller: &Caller<'_>,
        change: &ConfChange,
        expected: Option<u64>,
        now_ms: u64,
    ) -> Result<Outcome, ConfError> {
        let mut kept = self.kept();
        let present = self.state();
        self.access.may(caller, change, &present.loaded)?;
        check_version(&present, expected)?;
        let updates = match change.updates(&present.properties) {
            Ok(updates) => updates,
            Err(error) => {
                count(&self.counters.refused);
                return Err(ConfError::Change(error));
            }
        };
        let next = present.properties.with(&updates);
        let entry = AuditEntry::accepted(now_ms, caller.user, AuditKind::Update, updates);
        self.take_over(&mut kept, target, &present, next, entry)
    }

    /// Makes the properties of the file the configuration again.
    ///
    /// # Errors
    ///
    /// As [`Self::change`].
    pub fn format(
        &self,
        target: &dyn ConfTarget,
        caller: &Caller<'_>,
        now_ms: u64,
    ) -> Result<Outcome, ConfError> {
        let mut kept = self.kept();
        let present = self.state();
        let next = self.seed.clone();
        let updates = present.properties.updates_to(&next);
        let entry = AuditEntry::accepted(now_ms, caller.user, AuditKind::Format, updates);
        self.take_over(&mut kept, target, &present, next, entry)
    }

    /// Makes an older version that is kept the configuration again, as a new version.
    ///
    /// # Errors
    ///
    /// As [`Self::change`], and when the version is not kept.
    pub fn roll_back(
        &self,
        target: &dyn ConfTarget,
        caller: &Caller<'_>,
        version: u64,
        expected: Option<u64>,
        now_ms: u64,
    ) -> Result<Outcome, ConfError> {
        let mut kept = self.kept();
        let present = self.state();
        self.access.administers(caller)?;
        check_version(&present, expected)?;
        let next = kept.usable()?.read(version)?;
        let next = next.ok_or(ConfError::UnknownVersion(version))?;
        let updates = present.properties.updates_to(&next);
        let entry = AuditEntry::accepted(now_ms, caller.user, AuditKind::Rollback, updates);
        self.take_over(&mut kept, target, &present, next, entry)
    }

    /// Writes a configuration aside, has the scheduler take it over, then makes it the latest version.
    fn take_over(
        &self,
        kept: &mut Kept,
        target: &dyn ConfTarget,
        present: &ConfState,
        next: ConfProperties,
        entry: AuditEntry,
    ) -> Result<Outcome, ConfError> {
        let (user, updates) = (entry.user.clone(), entry.updates.clone());
        let attempt = entry.clone();
        let store = kept.usable()?;
        let prepared = store
            .prepare(&next, entry)
            .map_err(|error| self.failed(error))?;
        let read = self
            .load(&next)
            .map_err(|report| ConfRefusal::of_report(&report));
        let refreshed = read.and_then(|loaded| target.refresh(&user, &next).map(|()| loaded));
        let loaded = match refreshed {
            Ok(loaded) => loaded,
            Err(refusal) => {
                drop(prepared);
                count(&self.counters.refused);
                tracing::warn!(
                    user,
                    reason = refusal.message,
                    "a configuration was refused"
                );
                self.log(store, attempt.refused(&refusal.message));
                return Err(ConfError::Refused(refusal));
            }
        };
        let version = match prepared.commit() {
            Ok(version) => version,
            Err(error) => {
                self.restore(target, &user, present);
                if matches!(error, ConfStoreError::InDoubt(_)) {
                    kept.in_doubt = Some(error.to_string());
                }
                return Err(ConfError::Store(self.failed(error)));
            }
        };
        count(&self.counters.accepted);
        let state = self.hold(version, next, loaded);
        Ok(Outcome { state, updates })
    }

    /// Gives the scheduler the configuration back that it had.
    fn restore(&self, target: &dyn ConfTarget, user: &str, present: &ConfState) {
        let restored = target.refresh(user, &present.properties);
        if let Err(refusal) = restored {
            count(&self.counters.failed_reloads);
            tracing::error!(
                reason = refusal.message,
                "the scheduler keeps a configuration that is not stored"
            );
        }
    }

    fn failed(&self, error: ConfStoreError) -> ConfStoreError {
        count(&self.counters.store_failures);
        tracing::error!(%error, "a configuration could not be stored");
        error
    }

    fn log(&self, store: &mut dyn ConfStore, entry: AuditEntry) {
        if let Err(error) = store.log(entry) {
            count(&self.counters.lost_entries);
            tracing::error!(%error, "an entry of the log of changes could not be written");
        }
    }

    /// Judges a change without making it; the configuration that it would lead to.
    ///
    /// # Errors
    ///
    /// When the change cannot be worked out, or the scheduler would refuse it.
    pub fn validate(
        &self,
        target: &dyn ConfTarget,
        change: &ConfChange,
    ) -> Result<ConfProperties, ConfError> {
        let present = self.state();
        let next = present
            .properties
            .with(&change.updates(&present.properties)?);
        let read = self
            .load(&next)
            .map_err(|report| ConfRefusal::of_report(&report));
        let judged = read.and_then(|_| target.judge(&next));
        judged.map_err(ConfError::Refused)?;
        Ok(next)
    }

    /// Takes over what another process stored. Whether it differs from what holds. What the scheduler refuses is
    /// counted, and the configuration before it stays.
    ///
    /// # Errors
    ///
    /// When the store fails, or the scheduler refuses its configuration.
    pub fn reload(&self, target: &dyn ConfTarget) -> Result<bool, ConfError> {
        let mut kept = self.kept();
        let present = self.state();
        let Some(stored) = kept.usable()?.latest()? else {
            return Ok(false);
        };
        if stored.version == present.version && stored.properties == present.properties {
            return Ok(false);
        }
        let refused = |refusal: ConfRefusal| {
            count(&self.counters.failed_reloads);
            tracing::error!(
                version = stored.version,
                reason = refusal.message,
                "a stored configuration was refused; the one before it stays"
            );
            ConfError::Refused(refusal)
        };
        let loaded = self.load(&stored.properties);
        let loaded = loaded.map_err(|report| refused(ConfRefusal::of_report(&report)))?;
        let daemon = &self.surroundings.daemon;
        target
            .refresh(daemon, &stored.properties)
            .map_err(refused)?;
        self.hold(stored.version, stored.properties, loaded);
        Ok(true)
    }

    /// The versions that are kept, the latest first.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub fn versions(&self) -> Result<Vec<ConfVersion>, ConfError> {
        Ok(self.kept().usable()?.versions()?)
    }

    /// The properties of a version that is kept.
    ///
    /// # Errors
    ///
    /// When the store fails or does not keep it.
    pub fn version(&self, version: u64) -> Result<ConfProperties, ConfError> {
        let found = self.kept().usable()?.read(version)?;
        found.ok_or(ConfError::UnknownVersion(version))
    }

    /// The newest entries of the log of changes, the newest first, at most so many.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub fn logged(&self, most: usize) -> Result<Vec<AuditEntry>, ConfError> {
        Ok(self.kept().usable()?.logged(most)?)
    }
}

fn check_version(present: &ConfState, expected: Option<u64>) -> Result<(), ConfError> {
    match expected {
        Some(expected) if expected != present.version => Err(ConfError::VersionMismatch {
            present: present.version,
        }),
        _ => Ok(()),
    }
}

fn sources(surroundings: &MutableConfOptions, properties: &ConfProperties) -> Vec<ConfigSource> {
    let mut sources = surroundings.site.clone();
    sources.push(properties.to_source(SOURCE));
    sources
}

fn load(
    surroundings: &MutableConfOptions,
    properties: &ConfProperties,
) -> Result<Loaded, ConfError> {
    let loaded = config::load(&sources(surroundings, properties), &surroundings.options);
    loaded.map_err(ConfError::Invalid)
}

#[cfg(test)]
#[path = "mutable_tests.rs"]
mod tests;
