//! What the resource manager keeps beside the engine, and how it follows the engine's decisions.

use std::collections::BTreeMap;

use capsched::api::{
    AppEnd, ApplicationId, ContainerId, EndCause, Event, NodeName, ResourceVector,
};

use super::activities::Activities;
use super::application::{AppState, Application, AttemptState, Usage};
use super::command::{Command, ContainerForm, FinalStatus};
use super::ended::EndedApps;
use super::events::{EventLog, Happening};
use super::labels::Labels;
use super::last_operation::{LastOperation, LastRun, Operation, last_end};
use super::nodes::NodeRegistry;
use super::submission::keeps_containers;

/// Applications, nodes, labels and events.
#[derive(Debug, Default)]
pub struct Books {
    pub(super) apps: BTreeMap<ApplicationId, Application>,
    pub(super) ended: EndedApps,
    pub(super) nodes: NodeRegistry,
    pub(super) labels: Labels,
    pub(super) events: EventLog,
    pub(super) given_out: u32,
    pub(super) last: BTreeMap<Operation, LastOperation>,
    pub(super) last_run: LastRun,
    pub(super) activities: Activities,
    /// An application whose master is just finishing, and the node of the master.
    pub(super) finishing: Option<(ApplicationId, NodeName)>,
    /// Applications of which a further attempt is to start.
    pub(super) retries: Vec<ApplicationId>,
    /// Applications of which the last attempt failed, and that the engine keeps.
    pub(super) kept: Vec<ApplicationId>,
    /// What the journal has to keep of the decisions that were followed.
    pub(super) facts: Vec<Command>,
    /// Position of the last fact in the journal.
    pub(super) fact_position: u64,
    /// Whether the event that the journal failed is among the events.
    pub(super) journal_failed: bool,
}

impl Books {
    /// All applications in order of their ids.
    pub fn apps(&self) -> impl DoubleEndedIterator<Item = &Application> + ExactSizeIterator {
        self.apps.values()
    }

    /// One application.
    #[must_use]
    pub fn app(&self, id: ApplicationId) -> Option<&Application> {
        self.apps.get(&id)
    }

    /// All nodes that ever registered.
    #[must_use]
    pub fn nodes(&self) -> &NodeRegistry {
        &self.nodes
    }

    /// The labels of the cluster.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The newest events.
    #[must_use]
    pub fn events(&self) -> &EventLog {
        &self.events
    }

    /// The last operation of a kind.
    #[must_use]
    pub fn last(&self, operation: Operation) -> Option<&LastOperation> {
        self.last.get(&operation)
    }

    /// What the last pass over a node came to.
    #[must_use]
    pub fn last_run(&self) -> &LastRun {
        &self.last_run
    }

    /// How many applications stand somewhere.
    #[must_use]
    pub fn count_apps(&self, state: AppState) -> usize {
        self.apps.values().filter(|app| app.state == state).count()
    }

    /// How many applications that the scheduler accepted ended so and are not known any more.
    #[must_use]
    pub fn forgotten_apps(&self, state: AppState) -> usize {
        self.ended.forgotten(state)
    }

    /// Adds an application that ended before it came here.
    pub(super) fn add_ended(&mut self, app: Application) {
        let id = app.id;
        self.apps.insert(id, app);
        self.ended.add(id, &mut self.apps);
    }

    /// Follows decisions of the engine.
    pub(super) fn follow(&mut self, decisions: &[Event], now_ms: u64) {
        for decision in decisions {
            self.follow_one(decision, now_ms);
            if decision.changes_something() {
                let event = decision.clone();
                self.events.push(now_ms, Happening::Scheduler { event });
            }
        }
        if let Some((container, node)) = last_end(decisions, self.finishing.as_ref()) {
            let queue = self.queue_of(container.app);
            self.note(Operation::Release, Some(container), node, queue, now_ms);
        }
    }

    /// Notes that containers of applications are on a partition now.
    pub(super) fn note_partition(&mut self, apps: &[ApplicationId], partition: &str) {
        for id in apps {
            if let Some(app) = self.apps.get_mut(id)
                && !app.partitions.contains(partition)
            {
                app.partitions.insert(partition.to_owned());
            }
        }
    }

    fn follow_one(&mut self, decision: &Event, now_ms: u64) {
        match decision {
            Event::Allocated {
                container, node, ..
            } => {
                let label = self.labels.of(node).unwrap_or_default().to_owned();
                self.note_partition(&[container.app], &label);
                let port = self.nodes.get(node).map(|node| node.registration.http_port);
                if let Some(app) = self.apps.get_mut(&container.app) {
                    let key = (container.attempt, container.number);
                    app.placed_ms.insert(key, now_ms);
                    take_master(app, *container, node, port.unwrap_or(0), now_ms);
                }
                self.note_master(*container, node);
            }
            Event::Unreserved {
                container, node, ..
            } => {
                let queue = self.queue_of(container.app);
                self.note(Operation::Release, Some(*container), node, queue, now_ms);
            }
            Event::Ended {
                container,
                node,
                size,
                cause,
                ..
            } => self.ended(*container, node, size, *cause, now_ms),
            Event::Updated {
                container,
                size,
                charged,
                version,
                ..
            } => {
                let form = ContainerForm::new(*version, size, charged.is_none());
                self.changed(*container, form);
            }
            Event::Gang(gang) => {
                if let Some(app) = self.apps.get_mut(&gang.app) {
                    app.note_gang(gang);
                }
            }
            Event::MasterLost { app } => self.master_lost(*app, now_ms),
            Event::AppEnded { app, cause } => self.app_ended(*app, *cause, now_ms),
            _ => {}
        }
    }

    /// Notes what a pass over a node brought on the capacity of its own partition.
    // As CapacityScheduler.updateSchedulerHealth, which passes with borrowed capacity do not call, and which knows
    // no container ids.
    pub(super) fn follow_run(&mut self, node: &NodeName, decisions: &[Event], now_ms: u64) {
        let mut run = LastRun {
            at_ms: now_ms,
            ..LastRun::default()
        };
        for decision in decisions {
            match decision {
                Event::Allocated {
                    size,
                    queue,
                    borrowed: false,
                    ..
                } => {
                    (run.allocations, run.allocated) = (1, *size);
                    let queue = queue.to_string();
                    self.note(Operation::Allocation, None, node, queue, now_ms);
                }
                Event::Reserved {
                    container,
                    size,
                    borrowed: false,
                    again: false,
                    ..
                } => {
                    (run.reservations, run.reserved) = (1, *size);
                    let queue = self.queue_of(container.app);
                    self.note(Operation::Reservation, None, node, queue, now_ms);
                }
                _ => {}
            }
        }
        self.last_run = run;
    }

    pub(super) fn queue_of(&self, app: ApplicationId) -> String {
        let app = self.apps.get(&app);
        app.map(|app| app.path.clone()).unwrap_or_default()
    }

    fn note(
        &mut self,
        operation: Operation,
        container: Option<ContainerId>,
        node: &NodeName,
        queue: String,
        at_ms: u64,
    ) {
        let last = LastOperation {
            at_ms,
            node: node.clone(),
            container,
            queue,
        };
        self.last.insert(operation, last);
    }

    fn ended(
        &mut self,
        container: ContainerId,
        node: &NodeName,
        size: &ResourceVector,
        cause: EndCause,
        now_ms: u64,
    ) {
        let queue = self.queue_of(container.app);
        let preempted = cause == EndCause::Preempted;
        let operation = if preempted {
            Operation::Preemption
        } else {
            Operation::Release
        };
        self.note(operation, Some(container), node, queue, now_ms);
        let Some(app) = self.apps.get_mut(&container.app) else {
            return;
        };
        let key = (container.attempt, container.number);
        let placed = app.placed_ms.remove(&key).unwrap_or(now_ms);
        let master = app.attempts.iter().filter_map(|a| a.master.as_ref());
        let master = master.clone().any(|(id, _)| *id == container);
        let lived = now_ms.saturating_sub(placed);
        app.usage.add(size, lived, preempted, master);
        if app.changed.remove(&key).is_some() {
            self.facts.push(Command::ChangedContainerEnded {
                application: container.app.to_string(),
                attempt: container.attempt,
                number: container.number,
            });
        }
    }

    /// Notes what a container is from now on. The journal keeps it: its node may not know it before a restart.
    fn changed(&mut self, container: ContainerId, form: ContainerForm) {
        let Some(app) = self.apps.get_mut(&container.app) else {
            return;
        };
        let key = (container.attempt, container.number);
        app.changed.insert(key, form.clone());
        self.facts.push(Command::ContainerChanged {
            application: container.app.to_string(),
            attempt: container.attempt,
            number: container.number,
            form,
        });
    }

    fn master_lost(&mut self, app: ApplicationId, now_ms: u64) {
        let Some(record) = self.apps.get_mut(&app) else {
            return;
        };
        let text = "The container of the master was lost.";
        text.clone_into(&mut record.diagnostics);
        if record.state.is_over() {
            return;
        }
        if record.attempts_made() < record.max_attempts {
            record.fail_attempt(text, now_ms);
            self.retries.push(app);
            return;
        }
        if keeps_containers(&record.submission) {
            self.kept.push(app);
        }
        self.end_app(app, AppState::Failed, FinalStatus::Failed, now_ms);
    }

    fn app_ended(&mut self, app: ApplicationId, cause: AppEnd, now_ms: u64) {
        if let Some(app) = self.apps.get_mut(&app) {
            app.diagnostics = format!("The application was ended: {}.", cause.name());
        }
        self.end_app(app, AppState::Killed, FinalStatus::Killed, now_ms);
    }

    pub(super) fn take_retries(&mut self) -> Vec<ApplicationId> {
        std::mem::take(&mut self.retries)
    }

    /// Ends an application and says so.
    pub(super) fn end_app(
        &mut self,
        id: ApplicationId,
        state: AppState,
        status: FinalStatus,
        now_ms: u64,
    ) {
        if let Some(app) = self.apps.get_mut(&id)
            && !app.state.is_over()
        {
            app.end(state, status, now_ms);
            let diagnostics = app.diagnostics.clone();
            self.facts.push(Command::Ended {
                application: id.to_string(),
                state,
                status,
                diagnostics,
            });
            self.ended.add(id, &mut self.apps);
            self.say(id, state, now_ms);
        }
    }

    /// Notes for the journal where the container of a master was placed.
    fn note_master(&mut self, container: ContainerId, node: &NodeName) {
        let app = self.apps.get(&container.app);
        let master = app.and_then(|app| app.attempt()?.master.as_ref());
        if master.is_some_and(|(id, _)| *id == container) {
            self.facts.push(Command::MasterPlaced {
                application: container.app.to_string(),
                attempt: container.attempt,
                number: container.number,
                node: node.to_string(),
            });
        }
    }

    /// Notes where an application stands now.
    pub(super) fn say(&mut self, id: ApplicationId, state: AppState, now_ms: u64) {
        let application = id.to_string();
        self.events
            .push(now_ms, Happening::Application { application, state });
    }
}

/// The first container of an attempt is its master's.
fn take_master(
    app: &mut Application,
    container: ContainerId,
    node: &NodeName,
    http_port: u16,
    now_ms: u64,
) {
    let unmanaged = app.unmanaged;
    let Some(attempt) = app.attempts.last_mut() else {
        return;
    };
    if unmanaged || attempt.master.is_some() || attempt.state != AttemptState::Scheduled {
        return;
    }
    attempt.master = Some((container, node.clone()));
    attempt.state = AttemptState::Launched;
    app.master_http_port = http_port;
    if app.launched_ms == 0 {
        app.launched_ms = now_ms;
    }
}

impl Usage {
    fn add(&mut self, size: &ResourceVector, lived_ms: u64, preempted: bool, master: bool) {
        let types = capsched::api::MAX_TYPES;
        add_times(&mut self.amount_ms, size.values(types), lived_ms);
        if !preempted {
            return;
        }
        add_times(&mut self.preempted_ms, size.values(types), lived_ms);
        self.preempted.resize(types, 0);
        for (sum, value) in self.preempted.iter_mut().zip(size.values(types)) {
            *sum = sum.saturating_add(*value);
        }
        if master {
            self.preempted_masters += 1;
        } else {
            self.preempted_tasks += 1;
        }
    }
}

fn add_times(sums: &mut Vec<i128>, values: &[i64], lived_ms: u64) {
    sums.resize(values.len().max(sums.len()), 0);
    for (sum, &value) in sums.iter_mut().zip(values) {
        *sum += i128::from(value) * i128::from(lived_ms);
    }
}
