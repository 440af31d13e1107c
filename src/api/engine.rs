//! The engine that embedders hold: its threads, with the configuration's rules about who may submit where.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError};

use super::shown_queues::ShownQueues;
use crate::commit::{PartitionSpec, RefreshError, SubmitError, Submitted};
use crate::config::{
    self, Admission, AdmissionRefusal, Admitted, Caller, ConfigSource, Loaded, MappingError,
    Options, Report, Wish,
};
use crate::queue::AppSpec;
use crate::runtime::{EngineEnd, Threaded};
use crate::snapshot::Snapshot;
use crate::sync::Mutex;

/// A running engine. Every call of [`Threaded`] is a call of it; calls may come from any number of threads.
///
/// ```
/// use std::collections::BTreeMap;
/// use capsched::api::{Engine, Mode};
/// use capsched::config;
///
/// let queues = BTreeMap::from([
///     ("yarn.scheduler.capacity.root.queues".to_owned(), "a,b".to_owned()),
///     ("yarn.scheduler.capacity.root.a.capacity".to_owned(), "60".to_owned()),
///     ("yarn.scheduler.capacity.root.b.capacity".to_owned(), "40".to_owned()),
/// ]);
/// let types = ["memory-mb".to_owned(), "vcores".to_owned()];
/// let loaded = config::from_pairs(&BTreeMap::new(), &queues, &types).expect("a valid tree");
///
/// // Threads that never wait for heartbeats:
/// let engine = Engine::builder(loaded.settings.clone())
///     .partition("gpu", true)
///     .mode(Mode::Global { threads: 2 })
///     .start()?;
/// drop(engine.stop());
///
/// // The same rules without any thread:
/// let engine = Engine::builder(loaded.settings).sequential()?;
/// assert_eq!(engine.ledger().state().queues.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    threaded: Threaded,
    admission: Mutex<Option<Arc<Admission>>>,
}

/// Why a submission in the name of a user was refused.
///
/// ```
/// use capsched::api::*;
/// use capsched::config::Caller;
///
/// let engine = Engine::builder(example::settings()).start()?;
/// let ann = Caller { user: "ann", groups: &[], real_user: None };
/// let spec = AppSpec::new(ApplicationId::new(1), "a", "ann");
/// let refused = engine.submit_as(ann, |_| Vec::new(), spec);
/// assert_eq!(refused, Err(SubmitAsError::NoRules));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubmitAsError {
    /// The engine was built without rules: [`EngineBuilder::admission`](super::EngineBuilder::admission).
    NoRules,
    /// A placement rule, a priority or an access list refuses it.
    Refused(AdmissionRefusal),
    /// The scheduler refuses it.
    Submit(SubmitError),
}

impl fmt::Display for SubmitAsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRules => {
                f.write_str("the engine was built without placement rules and access lists")
            }
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Submit(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SubmitAsError {}

/// Why a refresh was refused; nothing of it holds then.
///
/// ```
/// use capsched::api::*;
/// use capsched::config::Options;
///
/// let engine = Engine::builder(example::settings()).start()?;
/// let refused = engine.refresh(&[], &Options::default(), "yarn", None);
/// assert!(matches!(refused, Err(RefreshRefusal::Configuration(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RefreshRefusal {
    /// The configuration is not valid.
    Configuration(Report),
    /// The placement rules or workflow priorities are not valid.
    Rules(Vec<MappingError>),
    /// A live scheduler may not change to it.
    Live(RefreshError),
}

impl fmt::Display for RefreshRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(report) => report.fmt(f),
            Self::Rules(errors) => {
                for (at, error) in errors.iter().enumerate() {
                    let between = if at == 0 { "" } else { "\n" };
                    write!(f, "{between}{error}")?;
                }
                Ok(())
            }
            Self::Live(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RefreshRefusal {}

impl Deref for Engine {
    type Target = Threaded;

    fn deref(&self) -> &Threaded {
        &self.threaded
    }
}

impl DerefMut for Engine {
    fn deref_mut(&mut self) -> &mut Threaded {
        &mut self.threaded
    }
}

impl Engine {
    pub(super) fn new(threaded: Threaded, admission: Option<Admission>) -> Self {
        Self {
            threaded,
            admission: Mutex::new(admission.map(Arc::new)),
        }
    }

    /// The placement rules and access lists that hold now; nothing when the engine was built without.
    #[must_use]
    pub fn rules(&self) -> Option<Arc<Admission>> {
        let rules = self.admission.lock();
        rules.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Submits an application in the name of a user: placement rules choose the queue, and the access lists of the
    /// configuration say whether the user may submit there and have the priority. `groups` finds the groups of a
    /// user, the primary one first. [`Threaded::submit`] trusts its caller.
    ///
    /// Cost: on the caller's thread, proportional to the queues; then that of a submission.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use capsched::api::*;
    /// use capsched::config::{self, Admission, Caller};
    ///
    /// let own = |(key, value): (&str, &str)| {
    ///     (format!("yarn.scheduler.capacity.{key}"), value.to_owned())
    /// };
    /// let pairs = [
    ///     ("root.queues", "dev,ops"),
    ///     ("root.dev.capacity", "50"),
    ///     ("root.ops.capacity", "50"),
    ///     ("root.acl_submit_applications", " "),
    ///     ("root.acl_administer_queue", " "),
    ///     ("root.dev.acl_submit_applications", "ann"),
    ///     ("queue-mappings", "u:ann:dev"),
    /// ];
    /// let site = BTreeMap::from([("yarn.acl.enable".to_owned(), "true".to_owned())]);
    /// let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    /// let loaded = config::from_pairs(&site, &pairs.map(own).into(), &types)?;
    /// let rules = Admission::read(&loaded, "yarn").expect("the rules are valid");
    /// let engine = Engine::builder(loaded.settings).admission(rules).start()?;
    ///
    /// let ann = Caller { user: "ann", groups: &[], real_user: None };
    /// let spec = AppSpec::new(ApplicationId::new(1), "default", "ann");
    /// let submitted = engine.submit_as(ann, |_| Vec::new(), spec)?;
    /// assert_eq!(&*submitted.queue, "root.dev");
    ///
    /// let bob = Caller { user: "bob", groups: &[], real_user: None };
    /// let spec = AppSpec::new(ApplicationId::new(2), "root.ops", "bob");
    /// let refused = engine.submit_as(bob, |_| Vec::new(), spec);
    /// assert!(matches!(refused, Err(SubmitAsError::Refused(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`SubmitAsError`]; nothing was submitted then.
    // As RMAppManager.createAndPopulateNewRMApp.
    pub fn submit_as(
        &self,
        caller: Caller<'_>,
        groups: impl Fn(&str) -> Vec<String>,
        spec: AppSpec,
    ) -> Result<Submitted, SubmitAsError> {
        let wish = Wish {
            caller,
            queue: &spec.queue,
            application: &spec.id.to_string(),
            tags: &spec.tags,
            priority: spec.priority,
        };
        let admitted = self.admit(&wish, groups)?;
        self.submit_admitted(caller.user, admitted, spec)
            .map_err(SubmitAsError::Submit)
    }

    /// Decides about a submission, as [`Self::submit_as`] does before it submits.
    ///
    /// # Errors
    ///
    /// As [`SubmitAsError`].
    pub fn admit(
        &self,
        wish: &Wish<'_>,
        groups: impl Fn(&str) -> Vec<String>,
    ) -> Result<Admitted, SubmitAsError> {
        let rules = self.rules().ok_or(SubmitAsError::NoRules)?;
        let shown = self.snapshot();
        let queues = ShownQueues::of(&shown);
        rules
            .admit(wish, groups, &queues, |path| queues.default_priority(path))
            .map_err(SubmitAsError::Refused)
    }

    /// Submits what [`Self::admit`] admitted, in the name of a user. Takes over the access lists of a queue that the
    /// submission creates.
    ///
    /// # Errors
    ///
    /// When the scheduler refuses it; nothing was submitted then.
    pub fn submit_admitted(
        &self,
        user: &str,
        admitted: Admitted,
        spec: AppSpec,
    ) -> Result<Submitted, SubmitError> {
        let shown = self.snapshot();
        let spec = AppSpec {
            user: user.to_owned(),
            queue: admitted.path,
            placement_parent: admitted.placement.map(|placed| placed.parent),
            priority: Some(admitted.priority),
            refused_priority: admitted.refused_priority,
            ..spec
        };
        let named = spec.queue.clone();
        let submitted = self.submit(spec);
        // A submission may be refused after its queue was created.
        let path = submitted.as_ref().map_or(&*named, |of| &of.queue);
        self.follow_created(path, &shown);
        submitted
    }

    /// Takes over the access lists of a queue that a submission created.
    fn follow_created(&self, path: &str, before: &Snapshot) {
        if ShownQueues::of(before).has(path) {
            return;
        }
        let shown = self.snapshot();
        let created = ShownQueues::of(&shown).access(path);
        let mut rules = self
            .admission
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let (Some((path, access)), Some(rules)) = (created, rules.as_mut()) {
            Arc::make_mut(rules).queue_created(path, access);
        }
    }

    /// Reads a configuration and takes it over on the live engine: settings of queues and scheduler, preemption,
    /// placement rules, access lists and the labels of the cluster, all of them or none. `daemon` is the user that the
    /// scheduler runs as. Returns what was read, with its warnings.
    ///
    /// Without `labels` the cluster goes on with those that it knows. Otherwise it knows these from then on, and nodes
    /// of other ones come to the default partition.
    ///
    /// # Errors
    ///
    /// As [`RefreshRefusal`].
    pub fn refresh(
        &self,
        sources: &[ConfigSource],
        options: &Options,
        daemon: &str,
        labels: Option<&[PartitionSpec]>,
    ) -> Result<Loaded, RefreshRefusal> {
        let loaded = config::load(sources, options).map_err(RefreshRefusal::Configuration)?;
        self.take_over(&loaded, daemon, labels)?;
        Ok(loaded)
    }

    /// Takes over a configuration that was read, as [`Self::refresh`].
    ///
    /// # Errors
    ///
    /// When its rules are not valid, or a live scheduler may not change to it; nothing of it holds then.
    pub fn take_over(
        &self,
        loaded: &Loaded,
        daemon: &str,
        labels: Option<&[PartitionSpec]>,
    ) -> Result<(), RefreshRefusal> {
        let shown = self.snapshot();
        let live = shown.queues.iter().filter(|queue| !queue.removed);
        let live = live.map(|queue| &*queue.settings);
        let rules = Admission::read_beside(loaded, daemon, live).map_err(RefreshRefusal::Rules)?;
        // From here on only the live scheduler refuses, and it does so as a whole.
        let mut present = self
            .admission
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let settings = loaded.settings.clone();
        let taken = match labels {
            None => self.reconfigure(settings),
            Some(labels) => self.reconfigure_with_labels(settings, labels.to_vec()),
        };
        taken.map_err(RefreshRefusal::Live)?;
        self.configure_preemption(loaded.preemption.clone());
        // Queues that submissions created have the lists of the templates.
        let shown = self.snapshot();
        let live = shown.queues.iter().filter(|queue| !queue.removed);
        let rules = rules.with_lists_of(live.map(|queue| &*queue.settings));
        *present = Some(Arc::new(rules));
        Ok(())
    }

    /// Ends the engine, as [`Threaded::stop`].
    pub fn stop(self) -> EngineEnd {
        self.threaded.stop()
    }

    /// Ends the engine, as [`Threaded::stop_with_state`].
    pub fn stop_with_state(self) -> (EngineEnd, Arc<Snapshot>) {
        self.threaded.stop_with_state()
    }

    /// The engine without placement rules and access lists.
    #[must_use]
    pub fn into_threaded(self) -> Threaded {
        self.threaded
    }
}
