//! What a journal says of an earlier run, put together by application, node and label; and as few commands as say it.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::ApplicationId;

use super::application::AppState;
use super::labels::Labels;
use super::nodes::NodeLife;
use super::{
    Command, ContainerForm, FinalStatus, JournalEntry, LabelSpec, NodeRegistration, Submission,
};

/// The container of a master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MasterPlace {
    pub(super) number: u32,
    pub(super) node: String,
}

/// How an application ended, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AppOutcome {
    pub(super) state: AppState,
    pub(super) status: FinalStatus,
    pub(super) diagnostics: String,
    pub(super) at_ms: u64,
}

/// What the journal says of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AppHistory {
    /// The user, what was submitted, and when.
    pub(super) submitted: Option<(String, Submission, u64)>,
    /// When each attempt started, by number.
    pub(super) attempts: BTreeMap<u32, u64>,
    pub(super) masters: BTreeMap<u32, MasterPlace>,
    /// The queue that it was moved to.
    pub(super) queue: Option<String>,
    /// Commands that are carried out again once the application is back.
    pub(super) again: Vec<JournalEntry>,
    /// What changes made of its containers, by attempt and number, and when. Nothing once it ended.
    pub(super) changed: BTreeMap<(u32, u32), (ContainerForm, u64)>,
    pub(super) end: Option<AppOutcome>,
}

/// What the journal says of all.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) apps: BTreeMap<ApplicationId, AppHistory>,
    pub(super) nodes: BTreeMap<String, (NodeRegistration, NodeLife, u64)>,
    labels: Labels,
    pub(super) given_out: u32,
}

/// As few commands as say the same as these. Of the applications that ended, the last ones are kept, at most so many.
///
/// Cost: proportional to the number of commands.
// As RMAppManager.checkAppNumCompletedLimit for the state store.
#[must_use]
pub fn compacted(entries: &[JournalEntry], most_ended: usize) -> Vec<JournalEntry> {
    let mut history = History::of(entries);
    history.forget_ended(most_ended);
    history.entries()
}

impl History {
    pub(super) fn of(entries: &[JournalEntry]) -> Self {
        let mut history = Self::default();
        for entry in entries {
            history.add(entry);
        }
        history
    }

    fn add(&mut self, entry: &JournalEntry) {
        match &entry.command {
            Command::RegisterNode(of) => {
                let node = (of.clone(), NodeLife::Lost, entry.at_ms);
                self.nodes.insert(of.node.clone(), node);
            }
            Command::RemoveNode { node } => self.node_is(node, NodeLife::Shutdown),
            Command::DecommissionNode { node } => self.node_is(node, NodeLife::Decommissioned),
            Command::NewApplication => self.given_out = self.given_out.saturating_add(1),
            Command::IdsGivenOut { last } => self.given_out = self.given_out.max(*last),
            Command::AddLabels { labels } => labels.iter().for_each(|label| self.labels.add(label)),
            Command::RemoveLabels { labels } => {
                labels.iter().for_each(|label| self.labels.remove(label));
            }
            Command::ReplaceLabels { nodes } => {
                for (node, labels) in nodes {
                    let labels = labels.iter().cloned().collect();
                    self.labels.replace_named(node, labels);
                }
            }
            Command::RefreshQueues { .. } => {}
            of_app => self.add_of_app(entry, of_app),
        }
    }

    fn node_is(&mut self, node: &str, life: NodeLife) {
        if let Some((_, present, _)) = self.nodes.get_mut(node) {
            *present = life;
        }
    }

    fn add_of_app(&mut self, entry: &JournalEntry, command: &Command) {
        let id = command.application().and_then(|id| id.parse().ok());
        let Some(id): Option<ApplicationId> = id else {
            return;
        };
        let app = self.apps.entry(id).or_default();
        match command {
            Command::Submit(submission) if app.submitted.is_none() => {
                let submission = Submission::clone(submission);
                app.submitted = Some((entry.user.clone(), submission, entry.at_ms));
                app.attempts.entry(1).or_insert(entry.at_ms);
            }
            Command::AttemptStarted { attempt, .. } => {
                app.attempts.insert(*attempt, entry.at_ms);
            }
            Command::MasterPlaced {
                attempt,
                number,
                node,
                ..
            } => {
                let place = MasterPlace {
                    number: *number,
                    node: node.clone(),
                };
                app.masters.insert(*attempt, place);
            }
            Command::ContainerChanged {
                attempt,
                number,
                form,
                ..
            } if app.end.is_none() => {
                let changed = (form.clone(), entry.at_ms);
                app.changed.insert((*attempt, *number), changed);
            }
            Command::ChangedContainerEnded {
                attempt, number, ..
            } => {
                app.changed.remove(&(*attempt, *number));
            }
            Command::Move { queue, .. } => app.queue = Some(queue.clone()),
            Command::RegisterMaster { .. }
            | Command::SetPriority { .. }
            | Command::SetLifetime { .. } => app.again.push(entry.clone()),
            Command::Ended {
                state,
                status,
                diagnostics,
                ..
            } if app.end.is_none() => {
                app.changed.clear();
                app.end = Some(AppOutcome {
                    state: *state,
                    status: *status,
                    diagnostics: diagnostics.clone(),
                    at_ms: entry.at_ms,
                });
            }
            _ => {}
        }
    }

    /// Labels as the commands that make them.
    pub(super) fn label_commands(&self) -> Vec<Command> {
        let labels = self.labels.iter().map(|(name, exclusive)| LabelSpec {
            name: name.to_owned(),
            exclusive,
        });
        let labels: Vec<LabelSpec> = labels.collect();
        let hosts = self.labels.hosts();
        let hosts = hosts.map(|(host, labels)| (host.to_owned(), list(labels)));
        let nodes = self.labels.nodes();
        let nodes = nodes.map(|(node, labels)| (node.to_string(), list(labels)));
        // A host's labels replace those of its nodes, so that they come first.
        let steps = [hosts.collect::<BTreeMap<_, _>>(), nodes.collect()];
        let steps = steps.into_iter().filter(|nodes| !nodes.is_empty());
        let steps = steps.map(|nodes| Command::ReplaceLabels { nodes });
        let added = (!labels.is_empty()).then_some(Command::AddLabels { labels });
        added.into_iter().chain(steps).collect()
    }

    /// Keeps the applications that ended last, at most so many, and all that have not.
    fn forget_ended(&mut self, most: usize) {
        let ended = self.apps.iter();
        let ended = ended.filter_map(|(id, app)| Some((app.end.as_ref()?.at_ms, *id)));
        let mut ended: Vec<(u64, ApplicationId)> = ended.collect();
        ended.sort_unstable();
        let above = ended.len().saturating_sub(most);
        for (_, id) in ended.drain(..above) {
            self.apps.remove(&id);
        }
    }

    /// Commands that say all of it.
    fn entries(&self) -> Vec<JournalEntry> {
        let own = |at_ms: u64, command: Command| JournalEntry {
            at_ms,
            user: String::new(),
            command,
        };
        let ids = Command::IdsGivenOut {
            last: self.given_out,
        };
        let mut entries = vec![own(0, ids)];
        for (registration, life, at_ms) in self.nodes.values() {
            let node = registration.node.clone();
            entries.push(own(*at_ms, Command::RegisterNode(registration.clone())));
            match life {
                NodeLife::Shutdown => entries.push(own(*at_ms, Command::RemoveNode { node })),
                NodeLife::Decommissioned => {
                    entries.push(own(*at_ms, Command::DecommissionNode { node }));
                }
                _ => {}
            }
        }
        let labels = self.label_commands().into_iter();
        entries.extend(labels.map(|command| own(0, command)));
        for (id, app) in &self.apps {
            app.append_entries(*id, &mut entries);
        }
        entries
    }
}

fn list(labels: &BTreeSet<String>) -> Vec<String> {
    labels.iter().cloned().collect()
}

impl AppHistory {
    fn append_entries(&self, id: ApplicationId, entries: &mut Vec<JournalEntry>) {
        let application = id.to_string();
        let submitted = self.submitted.as_ref();
        // What the scheduler decided may have been kept before the submission.
        let (user, at_ms) = submitted.map_or(("", &0), |(user, _, at_ms)| (user, at_ms));
        let mut add = |at_ms: u64, command: Command| {
            entries.push(JournalEntry {
                at_ms,
                user: user.to_owned(),
                command,
            });
        };
        if let Some((_, submission, _)) = submitted {
            add(*at_ms, Command::Submit(Box::new(submission.clone())));
        }
        for (&attempt, &started_ms) in &self.attempts {
            if attempt == 1 && submitted.is_some() && started_ms == *at_ms {
                continue;
            }
            let application = application.clone();
            let started = Command::AttemptStarted {
                application,
                attempt,
            };
            add(started_ms, started);
        }
        for (&attempt, place) in &self.masters {
            let placed = Command::MasterPlaced {
                application: application.clone(),
                attempt,
                number: place.number,
                node: place.node.clone(),
            };
            add(*at_ms, placed);
        }
        if let Some(queue) = &self.queue {
            let (application, queue) = (application.clone(), queue.clone());
            add(*at_ms, Command::Move { application, queue });
        }
        for (&(attempt, number), (form, changed_ms)) in &self.changed {
            let changed = Command::ContainerChanged {
                application: application.clone(),
                attempt,
                number,
                form: form.clone(),
            };
            add(*changed_ms, changed);
        }
        if let Some(end) = &self.end {
            let ended = Command::Ended {
                application,
                state: end.state,
                status: end.status,
                diagnostics: end.diagnostics.clone(),
            };
            add(end.at_ms, ended);
        } else {
            entries.extend(self.again.iter().cloned());
        }
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
