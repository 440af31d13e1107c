//! Applications: submission with its checks, and the end.
//!
//! Tests: `tests/commit/property.rs`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::ask_error::AskError;
use super::checks::Master;
use crate::accounting::creator_of;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::commit::registry::Registry;
use crate::commit::tree::build;
use crate::commit::tree::build::app_left;
use crate::id::{AppSlot, ApplicationId, PartitionId, QueuePath, QueueSlot};
use crate::queue::{
    App, AppKeys, AppSpec, AppStage, Blacklist, Demand, EndCause, MasterMoves, PerPartition,
    PriorityRefusal, Submission,
};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// An application that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Submitted {
    /// Full path of its queue.
    pub queue: QueuePath,
    /// Where it stands after the submission.
    pub stage: AppStage,
    /// Container of its master, raised and rounded; nothing when unmanaged.
    pub master: Option<ResourceVector>,
}

/// Why a submission was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubmitError {
    /// The engine has shut down.
    Closed,
    /// The call came from inside a closure that looks at the ledger.
    Reentrant,
    /// A live application has the number.
    Duplicate(ApplicationId),
    /// The user's name is empty, too long, or holds control characters.
    UserName(String),
    /// The request for the master's container is not valid.
    Master(AskError),
    /// The scheduler has as many applications as it may.
    TooManyInScheduler {
        /// The bound.
        limit: i32,
    },
    /// There is no such queue, and none may be created.
    UnknownQueue(String),
    /// Several queues have the name.
    AmbiguousQueue(String),
    /// The leaf belongs to a managed parent, and no placement rule named that parent.
    WithoutMapping(String),
    /// The user may not have the priority that the workflow of the application has there.
    Priority(PriorityRefusal),
    /// The queue holds queues.
    NotALeaf(String),
    /// The queue or one above it accepts no applications.
    QueueStopped(String),
    /// The queue has as many applications as it may.
    TooManyInQueue {
        /// The queue.
        queue: String,
        /// The bound.
        limit: i32,
    },
    /// The user has as many applications in the queue as one may.
    TooManyOfUser {
        /// The queue.
        queue: String,
        /// The bound.
        limit: i32,
    },
}

impl SubmitError {
    /// A stable word for the reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reentrant => "reentrant",
            Self::Duplicate(_) => "duplicate_application",
            Self::UserName(_) => "user_name",
            Self::Master(error) => error.code(),
            Self::TooManyInScheduler { .. } => "max_system_applications",
            Self::UnknownQueue(_) => "unknown_queue",
            Self::AmbiguousQueue(_) => "ambiguous_queue",
            Self::WithoutMapping(_) => "auto_created_queue_without_mapping",
            Self::Priority(refusal) => refusal.code(),
            Self::NotALeaf(_) => "not_a_leaf",
            Self::QueueStopped(_) => "queue_stopped",
            Self::TooManyInQueue { .. } | Self::TooManyOfUser { .. } => "max_applications",
        }
    }
}

impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the engine has shut down"),
            Self::Reentrant => f.write_str("a call from inside a closure that looks at the ledger"),
            Self::Duplicate(id) => write!(f, "{id} was submitted before"),
            Self::UserName(name) => write!(f, "`{name}` is not a user name"),
            Self::Master(error) => write!(f, "the container of the master: {error}"),
            Self::TooManyInScheduler { limit } => {
                write!(
                    f,
                    "the scheduler has {limit} applications, as many as it may"
                )
            }
            Self::UnknownQueue(queue) => write!(f, "there is no queue `{queue}`"),
            Self::AmbiguousQueue(queue) => {
                write!(f, "several queues are named `{queue}`; give a full path")
            }
            Self::WithoutMapping(queue) => {
                write!(
                    f,
                    "`{queue}` is only open to what placement rules put there"
                )
            }
            Self::Priority(refusal) => write!(f, "the priority of its workflow: {refusal}"),
            Self::NotALeaf(queue) => write!(f, "`{queue}` holds queues, not applications"),
            Self::QueueStopped(queue) => write!(f, "`{queue}` accepts no applications"),
            Self::TooManyInQueue { queue, limit } => {
                write!(f, "`{queue}` has {limit} applications, as many as it may")
            }
            Self::TooManyOfUser { queue, limit } => {
                write!(
                    f,
                    "the user has {limit} applications in `{queue}`, as many as one may"
                )
            }
        }
    }
}

impl std::error::Error for SubmitError {}

/// Why a call about an application was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AppError {
    /// The engine has shut down.
    Closed,
    /// The call came from inside a closure that looks at the ledger.
    Reentrant,
    /// No live application has the number.
    Unknown(ApplicationId),
    /// The queue to move to refuses it.
    Move(SubmitError),
    /// The queue to move to may not use a label that the application asked for.
    Label(String),
    /// The attempt of the application ended already.
    NoAttempt(ApplicationId),
    /// An attempt of the application runs.
    AttemptRuns(ApplicationId),
}

impl AppError {
    /// A stable word for the reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reentrant => "reentrant",
            Self::Unknown(_) => "unknown_application",
            Self::Move(error) => error.code(),
            Self::Label(_) => "label_access",
            Self::NoAttempt(_) => "no_attempt",
            Self::AttemptRuns(_) => "attempt_runs",
        }
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the engine has shut down"),
            Self::Reentrant => f.write_str("a call from inside a closure that looks at the ledger"),
            Self::Unknown(id) => write!(f, "there is no live application {id}"),
            Self::Move(error) => write!(f, "the application stays where it is: {error}"),
            Self::Label(label) => write!(
                f,
                "the application stays where it is: it asked for label `{label}`, which is not \
                 accessible to the queue"
            ),
            Self::NoAttempt(id) => write!(f, "the attempt of {id} ended already"),
            Self::AttemptRuns(id) => write!(f, "an attempt of {id} runs"),
        }
    }
}

impl std::error::Error for AppError {}

/// The queue that a submission goes to: below the parent of the placement rules, if they had an
/// opinion.
// As CapacityScheduler.getAddedAppQueueName.
pub(in crate::commit) fn named_queue(spec: &AppSpec) -> Cow<'_, str> {
    let name = &spec.queue;
    match &spec.placement_parent {
        Some(parent) => {
            let leaf = name.rsplit('.').next().unwrap_or(name);
            format!("{parent}.{leaf}").into()
        }
        None => name.into(),
    }
}

impl Ledger {
    /// Submits an application.
    ///
    /// # Errors
    ///
    /// As [`SubmitError`]. The state is unchanged but for the user's record in the leaf and the
    /// queues that were missing, which a refused submission leaves behind as in the reference.
    pub fn submit(&mut self, spec: &AppSpec) -> Result<AppSlot, SubmitError> {
        check_new(&self.registry, spec)?;
        let name = named_queue(spec);
        let queue = self.queue(&name);
        let master = self
            .checks()
            .check_master(spec, queue)
            .map_err(SubmitError::Master)?;
        let priority = priority_of(&self.state, spec, queue);
        let limit = self.state.settings.maximum_applications;
        if self.state.queues[State::ROOT].apps >= limit {
            return Err(SubmitError::TooManyInScheduler { limit });
        }
        let leaf = match queue {
            Some(leaf) => leaf,
            None => self.create_leaf(&name)?,
        };
        check_placement(&self.state, leaf, spec)?;
        check_workflow(&self.state, leaf, spec)?;
        self.leaves
            .check_submission(&mut self.state, leaf, &spec.user)?;
        let app = self.enter(spec, leaf, priority, &master);
        self.begin_attempt(app);
        Ok(app)
    }

    /// Enters an application that passed the checks in its leaf.
    pub(in crate::commit) fn enter(
        &mut self,
        spec: &AppSpec,
        leaf: QueueSlot,
        priority: i32,
        master: &Master,
    ) -> AppSlot {
        let app = self.new_app(spec, leaf, priority, master);
        count_app(&mut self.state, leaf, 1);
        self.clock.start_lifetime(&self.state, app);
        self.leaves.count_keeping(&mut self.state, app, 1);
        self.masters.avoid_hosts(&mut self.state, app);
        self.leaves.enter_attempt(&mut self.state, app);
        app
    }

    /// Creates the leaf of a submission whose queue does not exist.
    // As CapacityScheduler.getOrCreateQueueFromPlacementContext.
    pub(in crate::commit) fn create_leaf(&mut self, name: &str) -> Result<QueueSlot, SubmitError> {
        if self.registry.is_ambiguous(name) {
            return Err(SubmitError::AmbiguousQueue(name.to_owned()));
        }
        let created = build::create(&mut self.tree(), name);
        created.ok_or_else(|| SubmitError::UnknownQueue(name.to_owned()))
    }

    fn new_app(
        &mut self,
        spec: &AppSpec,
        leaf: QueueSlot,
        priority: i32,
        master: &Master,
    ) -> AppSlot {
        let app = App {
            id: spec.id,
            attempt: self.attempts.next(spec.id),
            generation: 0,
            start: self.clock.next_start(),
            submission: Arc::new(submission(&self.state, spec, leaf, priority, master)),
            user: self.leaves.user(&mut self.state, leaf, &spec.user),
            leaf,
            priority,
            unmanaged: spec.master.is_none(),
            master_partition: master.label.unwrap_or(PartitionId::DEFAULT),
            master_moves: MasterMoves::default(),
            master: None,
            stage: AppStage::Waiting,
            runnable: true,
            parts: PerPartition::default(),
            keys: AppKeys::default(),
            first_open: 0,
            requested: SmallVec::new(),
            blacklist: Blacklist::default(),
            provider: None,
            fair_used: 0,
            fair_demand: 0,
            many_places: false,
            asking: false,
            next_container: 1,
        };
        let slot = self.store_app(app);
        self.registry.add_app(spec.id, slot);
        slot
    }

    /// Stores the row of an application in a slot that is free, or in a new one.
    fn store_app(&mut self, mut app: App) -> AppSlot {
        if let Some(slot) = self.registry.take_free_app() {
            app.generation = self.state.apps[slot].generation + 1;
            self.state.apps[slot] = app;
            self.state.demands[slot] = Demand::default();
            slot
        } else {
            self.containers.add_app();
            self.leaves.skipped_mut().add_app();
            self.state.demands.push(Demand::default());
            AppSlot::at(self.state.apps.push(app))
        }
    }

    /// Changes an application's priority, capped to the cluster's; returns the capped one.
    pub fn change_priority(&mut self, app: AppSlot, wanted: i32) -> i32 {
        self.leaves.change_priority(&mut self.state, app, wanted)
    }

    /// Ends an application: its containers, its reservations, then itself.
    pub fn end_app(&mut self, app: AppSlot) {
        self.masters.forget(self.state.apps[app].id);
        self.end_with_attempt(app);
    }

    /// The same for an application that may be submitted again for another attempt.
    pub(in crate::commit) fn end_with_attempt(&mut self, app: AppSlot) {
        let live: Vec<_> = self.containers.live_of(app).collect();
        for container in live {
            self.end_container(container, EndCause::ApplicationEnded);
        }
        for container in self.containers.reservations_of(&self.state, app) {
            self.end_container(container, EndCause::ApplicationEnded);
        }
        let row = &mut self.state.apps[app];
        let stage = std::mem::replace(&mut row.stage, AppStage::Done);
        let (id, attempt, leaf) = (row.id, row.attempt, row.leaf);
        self.leaves.drop_asks(&mut self.state, app);
        self.leaves.count_keeping(&mut self.state, app, -1);
        if stage == AppStage::Between {
            self.leaves.leave_between(&mut self.state, app);
        } else {
            self.leaves.remove_attempt(&mut self.state, app, false);
            self.leaves.stop_asking(&mut self.state, app, leaf);
        }
        app_left(&mut self.state, leaf);
        count_app(&mut self.state, leaf, -1);
        self.leaves.set_provider(&mut self.state, app, None);
        self.registry.remove_app(id);
        if let Some(forgotten) = self.attempts.note_end(id, attempt) {
            self.masters.forget(forgotten);
        }
        self.masters.take_own(app);
        self.tags.constraints_mut().unregister_application(id);
        self.containers.clear_finished(app);
        self.outbox.follow_up(FollowUpEvent::Forget(app));
    }
}

/// Whether a submission names a user as it may be, and an application that does not exist.
pub(in crate::commit) fn check_new(registry: &Registry, spec: &AppSpec) -> Result<(), SubmitError> {
    let bad = |c: char| c.is_control();
    if spec.user.is_empty() || spec.user.len() > 256 || spec.user.contains(bad) {
        let clipped = spec.user.chars().take(64).flat_map(char::escape_debug);
        return Err(SubmitError::UserName(clipped.collect()));
    }
    if registry.app(spec.id).is_some() {
        return Err(SubmitError::Duplicate(spec.id));
    }
    Ok(())
}

/// The priority of a new application: as wished, or that of its leaf, up to the cluster's maximum.
pub(in crate::commit) fn priority_of(
    state: &State,
    spec: &AppSpec,
    queue: Option<QueueSlot>,
) -> i32 {
    let wanted = spec.priority.unwrap_or_else(|| {
        let settings = queue.map(|queue| &state.queues[queue]);
        settings
            .filter(|queue| queue.is_leaf())
            .map_or(0, |queue| queue.settings.leaf.default_priority)
    });
    wanted.min(state.settings.maximum_application_priority)
}

/// A leaf that a managed parent created takes only what placement rules put below that parent.
fn check_placement(state: &State, leaf: QueueSlot, spec: &AppSpec) -> Result<(), SubmitError> {
    let placed = spec.placement_parent.as_deref();
    match creator_of(state, leaf) {
        Some(creator) if placed != Some(&*creator.settings.path) => {
            let path = state.queues[leaf].settings.path.to_string();
            Err(SubmitError::WithoutMapping(path))
        }
        _ => Ok(()),
    }
}

/// A leaf takes no application whose user may not have the priority of its workflow.
// As CapacityScheduler.addApplication, before the leaf is asked.
fn check_workflow(state: &State, leaf: QueueSlot, spec: &AppSpec) -> Result<(), SubmitError> {
    match spec.refused_priority {
        Some(refusal) if state.queues[leaf].is_leaf() => Err(SubmitError::Priority(refusal)),
        _ => Ok(()),
    }
}

/// Counts an application at the parents of its leaf.
pub(in crate::commit) fn count_app(state: &mut State, leaf: QueueSlot, by: i32) {
    let mut above = state.queues[leaf].parent;
    while let Some(queue) = above {
        state.queues[queue].apps += by;
        if by < 0 {
            app_left(state, queue);
        }
        above = state.queues[queue].parent;
    }
}

/// What an application was submitted with.
fn submission(
    state: &State,
    spec: &AppSpec,
    leaf: QueueSlot,
    priority: i32,
    master: &Master,
) -> Submission {
    Submission {
        user_name: spec.user.as_str().into(),
        priority,
        master_size: master.size,
        default_partition: spec.partition.as_deref().map(Arc::from),
        tags: spec.tags.iter().map(|tag| tag.as_str().into()).collect(),
        node_policy: state.queues[leaf].settings.node_policy.clone(),
        master_label: master.label,
        restarts: spec.restarts,
    }
}
