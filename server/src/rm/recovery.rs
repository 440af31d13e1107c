//! Recovery: applications, labels and nodes of an earlier run come back from the journal.
//!
//! 1. Everything that the journal says of one application is put together, whatever its order.
//! 2. Labels come first. Then applications that ended are shown as they ended, and the others are given to the engine
//!    with their attempt and the container of their master.
//! 3. Nodes are known and count as lost until they register again with what they run. All applications are back by
//!    then, so that a node stops the containers of others at once.
//!
//! The configuration is not taken from the journal: its store has the latest version.
// As RMAppManager.recover and AbstractYarnScheduler.recoverContainersOnNode.

use capsched::api::{
    AppSpec, ApplicationId, ContainerId, NodeName, Recovered, ResourceVector, RunningContainer,
};

use super::application::{AppState, AttemptState};
use super::carry_out::node_name;
use super::history::{AppHistory, History};
use super::nodes::NodeLife;
use super::submission::new_application;
use super::{
    Application, Command, CommandError, FinalStatus, JournalEntry, NodeRegistration,
    ResourceManager, lock,
};

/// What came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryCounts {
    /// Applications that go on.
    pub live: usize,
    /// Applications that had ended.
    pub ended: usize,
    /// Applications that had to end because their queue is gone.
    pub refused: usize,
    /// Nodes that are waited for.
    pub nodes: usize,
}

impl ResourceManager {
    /// Takes over what a journal has of an earlier run. To be called once, before anything else.
    ///
    /// Cost: a few calls of the engine for each application that goes on.
    pub fn recover(&self, entries: &[JournalEntry]) -> RecoveryCounts {
        let _gate = lock(&self.gate);
        let history = History::of(entries);
        let now_ms = self.now_ms();
        for command in history.label_commands() {
            // What was carried out before can only fail where the start knows the label already.
            let _ = self.carry_out(&self.setup.daemon, &command, now_ms);
        }
        let mut counts = RecoveryCounts::default();
        for (id, app) in history.apps {
            match self.recover_one(id, app) {
                Some(AppState::Accepted) => counts.live += 1,
                Some(AppState::Killed) => counts.refused += 1,
                Some(_) => counts.ended += 1,
                None => {}
            }
        }
        let mut books = lock(&self.books);
        books.given_out = books.given_out.max(history.given_out);
        for (_, (registration, life, at_ms)) in history.nodes {
            if let Ok(name) = node_name(&registration.node) {
                counts.nodes += usize::from(life == NodeLife::Lost);
                books.nodes.register(name.clone(), registration, at_ms);
                if let Some(node) = books.nodes.get_mut(&name) {
                    node.life = life;
                }
            }
        }
        drop(books);
        self.pump();
        counts
    }

    /// Brings one application back. [`AppState::Accepted`] for one that goes on, [`AppState::Killed`] for one whose
    /// queue is gone, another state for one that had ended; nothing for one that was never submitted.
    fn recover_one(&self, id: ApplicationId, of: AppHistory) -> Option<AppState> {
        let (user, submission, at_ms) = of.submitted.clone()?;
        let admitted = self.admit(&user, &submission);
        let (queue, path, priority) = match (&of.queue, &admitted) {
            (Some(queue), Ok(admitted)) => (queue.clone(), queue.clone(), admitted.priority),
            (None, Ok(admitted)) => (
                admitted.queue.clone(),
                admitted.path.clone(),
                admitted.priority,
            ),
            // As on recovery there: who may no longer submit keeps what was submitted.
            (moved, Err(_)) => {
                let queue = moved.clone().unwrap_or_else(|| submission.queue.clone());
                (queue.clone(), queue, submission.priority.unwrap_or(0))
            }
        };
        let mut app = new_application(id, &user, &submission, queue, priority, at_ms);
        app.path.clone_from(&path);
        app.max_attempts = self.max_attempts(submission.max_attempts);
        self.restore_attempts(&mut app, &of);
        if let Some(end) = &of.end {
            app.diagnostics.clone_from(&end.diagnostics);
            app.end(end.state, end.status, end.at_ms);
            self.enter_recovered(app);
            // Killed by its user and not by the recovery.
            return Some(match end.state {
                AppState::Killed => AppState::Finished,
                other => other,
            });
        }
        app.state = AppState::Accepted;
        let changed = of.changed.iter();
        app.changed = changed
            .map(|(&key, (form, _))| (key, form.clone()))
            .collect();
        app.expiry_ms = self.expiry(&path, submission.lifetime_s, at_ms);
        let spec = self.spec_of(id, &user, &submission);
        let spec = spec.map(|spec| AppSpec {
            user: user.clone(),
            queue: path.clone(),
            placement_parent: admitted.ok().and_then(|a| a.placement).map(|p| p.parent),
            priority: Some(priority),
            ..spec
        });
        let attempt = app.attempts.last().map_or(1, |attempt| attempt.number);
        let master = of.masters.get(&attempt).map(|place| place.number);
        let recovered = spec.map_err(|error| error.to_string()).and_then(|spec| {
            let taken = self.engine.recover_app(spec, attempt, master);
            taken.map_err(|error| error.to_string())
        });
        if let Err(why) = recovered {
            app.diagnostics = format!(
                "Application killed on recovery as it was submitted to queue {path} which does not take it after \
                 restart: {why}"
            );
            app.end(AppState::Killed, FinalStatus::Killed, self.now_ms());
            self.enter_recovered(app);
            return Some(AppState::Killed);
        }
        self.enter_recovered(app);
        for entry in &of.again {
            // Each was carried out before; a master of an attempt that is gone has nothing to register.
            let _ = self.carry_out(&entry.user, &entry.command, entry.at_ms);
        }
        Some(AppState::Accepted)
    }

    fn enter_recovered(&self, app: Application) {
        let mut books = lock(&self.books);
        if app.id.cluster == self.cluster {
            books.given_out = books.given_out.max(app.id.sequence);
        }
        if app.state.is_over() {
            books.add_ended(app);
        } else {
            books.apps.insert(app.id, app);
        }
    }

    fn restore_attempts(&self, app: &mut Application, of: &AppHistory) {
        let last = of.attempts.keys().last().copied().unwrap_or(1);
        for number in 1..=last {
            let started = of.attempts.get(&number).copied().unwrap_or(app.started_ms);
            app.start_attempt(started);
            if number < last {
                app.fail_attempt(
                    "The attempt failed before the resource manager started.",
                    started,
                );
            }
            let place = of.masters.get(&number);
            let node = place.and_then(|place| place.node.parse::<NodeName>().ok());
            if let (Some(place), Some(node), Some(attempt)) = (place, node, app.attempts.last_mut())
            {
                let master = ContainerId {
                    attempt: number,
                    ..ContainerId::new(app.id, place.number)
                };
                attempt.master = Some((master, node));
                if number == last {
                    attempt.state = AttemptState::Launched;
                    app.launched_ms = started;
                }
            }
        }
    }

    /// Registers a node with what it runs, as after a restart of the resource manager. Containers of applications
    /// that are live are taken over; the node has to stop the others.
    ///
    /// # Errors
    ///
    /// As for [`Command::RegisterNode`]; nothing changed then.
    pub fn register_running(
        &self,
        user: &str,
        of: NodeRegistration,
        running: Vec<RunningContainer>,
    ) -> Result<Recovered, CommandError> {
        let command = Command::RegisterNode(of.clone());
        self.check_rights(user, &command)?;
        let running = self.as_answered(running);
        self.carry_out_kept(user, &command, |at_ms| {
            self.register_node(&of, &running, at_ms)
        })
    }

    /// What a node runs, as masters were answered. A change that the node has not carried out yet counts: the node
    /// gets the order for it again.
    fn as_answered(&self, mut running: Vec<RunningContainer>) -> Vec<RunningContainer> {
        let books = lock(&self.books);
        for one in &mut running {
            let key = (one.id.attempt, one.id.number);
            let app = books.app(one.id.app);
            if let Some(form) = app.and_then(|app| app.changed.get(&key))
                && form.version > one.version
            {
                one.size = ResourceVector::of(&form.size);
                (one.version, one.opportunistic) = (form.version, form.opportunistic);
            }
        }
        running
    }
}
