//! How commands are carried out, once rights are checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsched::api::{
    ApplicationId, NodeError, NodeName, NodeSpec, PartitionSpec, Recovered, RefreshRefusal,
    RunningContainer,
};
use capsched::config::{self, Loaded, Options};

use super::application::{AppState, AttemptState};
use super::events::Happening;
use super::labels::check_name;
use super::nodes::NodeLife;
use super::rights::unknown;
use super::submission::clip;
use super::{
    Answer, Command, CommandError, Configuration, FinalStatus, LabelSpec, Labels, NodeRegistration,
    Pairs, ResourceManager, lock,
};

type Carried = Result<Answer, CommandError>;

impl ResourceManager {
    pub(super) fn carry_out(&self, user: &str, command: &Command, at_ms: u64) -> Carried {
        match command {
            Command::RegisterNode(of) => {
                let found = self.register_node(of, &[], at_ms);
                found.map(|_| Answer::Done)
            }
            Command::RemoveNode { node } => self.remove_node(node, NodeLife::Shutdown, at_ms),
            Command::DecommissionNode { node } => self.decommission(node, at_ms),
            Command::NewApplication => Ok(self.new_application()),
            Command::Submit(submission) => self.submit(user, submission, at_ms),
            Command::RegisterMaster {
                application,
                host,
                rpc_port,
                tracking_url,
            } => self.register_master(application, host, *rpc_port, tracking_url, at_ms),
            Command::FinishMaster {
                application,
                status,
                diagnostics,
                ..
            } => self.finish_master(application, *status, diagnostics, at_ms),
            Command::Kill {
                application,
                diagnostics,
            } => self.kill(application, diagnostics, at_ms),
            Command::Move { application, queue } => self.move_app(application, queue),
            Command::SetPriority {
                application,
                priority,
            } => self.set_priority(application, *priority),
            Command::SetLifetime {
                application,
                expiry_ms,
            } => self.set_lifetime(application, *expiry_ms, at_ms),
            Command::AddLabels { labels } => self.add_labels(labels, at_ms),
            Command::RemoveLabels { labels } => self.remove_labels(labels, at_ms),
            Command::ReplaceLabels { nodes } => self.replace_labels(nodes, at_ms),
            Command::RefreshQueues { scheduler } => self.refresh(scheduler, at_ms),
            // What was decided is history; a recovery puts it together.
            Command::MasterPlaced { .. }
            | Command::AttemptStarted { .. }
            | Command::Ended { .. }
            | Command::ContainerChanged { .. }
            | Command::ChangedContainerEnded { .. }
            | Command::IdsGivenOut { .. } => Ok(Answer::Done),
        }
    }

    /// Registers a node with what it runs; a node that is known already has its containers in the engine.
    pub(super) fn register_node(
        &self,
        of: &NodeRegistration,
        running: &[RunningContainer],
        at_ms: u64,
    ) -> Result<Recovered, CommandError> {
        let name = node_name(&of.node)?;
        let own = of
            .labels
            .as_ref()
            .and_then(|labels| labels.first().cloned());
        let (known, label) = {
            let books = lock(&self.books);
            let known = books
                .nodes
                .get(&name)
                .is_some_and(|node| !node.life.is_gone());
            let kept = books.labels.of(&name).map(str::to_owned);
            (known, own.or(kept))
        };
        let spec = NodeSpec {
            rack: of.rack.clone(),
            partition: label.unwrap_or_default(),
            ..NodeSpec::new(name.clone(), self.vector(&of.resource)?)
        };
        let entered = if known {
            let entered = self.engine.reconnect_node(spec);
            entered.map(|()| Recovered::default())
        } else {
            self.engine.register_node(spec, running.to_vec())
        };
        let found = entered.map_err(of_node)?;
        let mut books = lock(&self.books);
        if let Some(labels) = &of.labels {
            let labels = labels.iter().cloned().collect();
            books.labels.replace(&name, labels);
        }
        books.nodes.register(name, of.clone(), at_ms);
        say_node(&mut books.events, &of.node, NodeLife::Running, at_ms);
        Ok(found)
    }

    pub(super) fn remove_node(&self, node: &str, life: NodeLife, at_ms: u64) -> Carried {
        let name = node_name(node)?;
        self.engine.remove_node(name.clone()).map_err(of_node)?;
        let mut books = lock(&self.books);
        if let Some(record) = books.nodes.get_mut(&name) {
            record.life = life;
        }
        say_node(&mut books.events, node, life, at_ms);
        Ok(Answer::Done)
    }

    fn decommission(&self, node: &str, at_ms: u64) -> Carried {
        let name = node_name(node)?;
        self.engine
            .decommission_node(name.clone())
            .map_err(of_node)?;
        let mut books = lock(&self.books);
        if let Some(record) = books.nodes.get_mut(&name) {
            record.life = NodeLife::Decommissioning;
        }
        say_node(&mut books.events, node, NodeLife::Decommissioning, at_ms);
        Ok(Answer::Done)
    }

    fn new_application(&self) -> Answer {
        let mut books = lock(&self.books);
        books.given_out = books.given_out.saturating_add(1);
        let id = ApplicationId {
            cluster: self.cluster,
            sequence: books.given_out,
        };
        Answer::Application(id.to_string())
    }

    fn register_master(
        &self,
        application: &str,
        host: &str,
        rpc_port: i32,
        tracking_url: &str,
        at_ms: u64,
    ) -> Carried {
        let id = self.parse_app(application)?;
        let mut books = lock(&self.books);
        let app = books
            .apps
            .get_mut(&id)
            .ok_or_else(|| unknown(application))?;
        let waiting = |state| matches!(state, AttemptState::Launched | AttemptState::Scheduled);
        let unmanaged = app.unmanaged;
        let attempt = app
            .attempts
            .last_mut()
            .filter(|attempt| waiting(attempt.state) && (unmanaged || attempt.master.is_some()));
        let Some(attempt) = attempt else {
            let text = format!(
                "{application} waits for no master in its state {}",
                app.state.name()
            );
            return Err(CommandError::State(text));
        };
        attempt.state = AttemptState::Running;
        attempt.host = Some(host.to_owned());
        attempt.rpc_port = rpc_port;
        tracking_url.clone_into(&mut attempt.tracking_url);
        app.state = AppState::Running;
        books.say(id, AppState::Running, at_ms);
        Ok(Answer::Done)
    }

    fn finish_master(
        &self,
        application: &str,
        status: FinalStatus,
        diagnostics: &str,
        at_ms: u64,
    ) -> Carried {
        let id = self.live_app(application)?;
        {
            let mut books = lock(&self.books);
            let attempt = books.apps.get(&id).and_then(|app| app.attempt());
            let master = attempt.and_then(|attempt| attempt.master.as_ref());
            books.finishing = master.map(|(_, node)| (id, node.clone()));
        }
        // The containers end first, so that what they used is counted.
        let ended = self.engine.finish_app(id);
        self.pump();
        let mut books = lock(&self.books);
        books.finishing = None;
        ended.map_err(|error| CommandError::State(error.to_string()))?;
        if let Some(app) = books.apps.get_mut(&id) {
            diagnostics.clone_into(&mut app.diagnostics);
        }
        let state = match status {
            FinalStatus::Failed => AppState::Failed,
            FinalStatus::Killed => AppState::Killed,
            _ => AppState::Finished,
        };
        books.end_app(id, state, status, at_ms);
        Ok(Answer::Done)
    }

    fn kill(&self, application: &str, diagnostics: &str, at_ms: u64) -> Carried {
        let id = self.parse_app(application)?;
        let over = {
            let books = lock(&self.books);
            let app = books.app(id).ok_or_else(|| unknown(application))?;
            app.state.is_over()
        };
        if over {
            return Ok(Answer::Done);
        }
        let ended = self.engine.finish_app(id);
        ended.map_err(|error| CommandError::State(error.to_string()))?;
        self.pump();
        let mut books = lock(&self.books);
        if let Some(app) = books.apps.get_mut(&id) {
            diagnostics.clone_into(&mut app.diagnostics);
        }
        books.end_app(id, AppState::Killed, FinalStatus::Killed, at_ms);
        Ok(Answer::Done)
    }

    fn move_app(&self, application: &str, queue: &str) -> Carried {
        let id = self.parse_app(application)?;
        let state = self.state_of(id, application)?;
        if state.is_over() {
            let text = format!("App in {} state cannot be moved.", state.name());
            return Err(CommandError::State(text));
        }
        let moved = self.engine.move_app(id, queue.to_owned());
        moved.map_err(|error| CommandError::State(error.to_string()))?;
        let view = self.engine.app(id);
        let path = view.ok().flatten().map(|view| view.queue);
        let mut books = lock(&self.books);
        if let Some(app) = books.apps.get_mut(&id) {
            app.path = path.unwrap_or_else(|| queue.to_owned());
            app.queue = app.path.clone();
        }
        Ok(Answer::Done)
    }

    fn set_priority(&self, application: &str, priority: i32) -> Carried {
        let id = self.parse_app(application)?;
        if self.state_of(id, application)?.is_over() {
            let books = lock(&self.books);
            let now = books.app(id).map_or(0, |app| app.priority);
            return Ok(Answer::Priority(now));
        }
        let changed = self.engine.change_priority(id, priority);
        let effective = changed.map_err(|error| CommandError::State(error.to_string()))?;
        if let Some(app) = lock(&self.books).apps.get_mut(&id) {
            app.priority = effective;
        }
        Ok(Answer::Priority(effective))
    }

    fn set_lifetime(&self, application: &str, expiry_ms: u64, at_ms: u64) -> Carried {
        let id = self.live_app(application)?;
        if expiry_ms < at_ms {
            let text = "Expire time is less than current time".to_owned();
            return Err(CommandError::Invalid(text));
        }
        let (path, started_ms) = {
            let books = lock(&self.books);
            let app = books.app(id).ok_or_else(|| unknown(application))?;
            (app.path.clone(), app.started_ms)
        };
        let wished_s = i64::try_from((expiry_ms - started_ms.min(expiry_ms)) / 1000);
        let most = self.expiry(&path, Some(wished_s.unwrap_or(i64::MAX)), started_ms);
        let effective = most.map_or(expiry_ms, |most| expiry_ms.min(most + 999));
        if let Some(app) = lock(&self.books).apps.get_mut(&id) {
            app.expiry_ms = Some(effective);
        }
        Ok(Answer::Expiry(Some(effective)))
    }

    fn add_labels(&self, labels: &[LabelSpec], at_ms: u64) -> Carried {
        let mut books = lock(&self.books);
        for label in labels {
            check_name(&label.name).map_err(CommandError::Invalid)?;
            if books
                .labels
                .exclusivity(&label.name)
                .is_some_and(|known| known != label.exclusive)
            {
                return Err(CommandError::Invalid(format!(
                    "Exclusivity cannot be modified for an existing label with : <{}:exclusivity={}>",
                    label.name, label.exclusive
                )));
            }
        }
        for label in labels {
            let spec = PartitionSpec {
                name: label.name.clone(),
                exclusive: label.exclusive,
            };
            let added = self.engine.add_label(spec);
            added.map_err(|error| CommandError::Unavailable(error.to_string()))?;
            books.labels.add(label);
        }
        books.events.push(at_ms, Happening::Labels);
        Ok(Answer::Done)
    }

    fn remove_labels(&self, labels: &[String], at_ms: u64) -> Carried {
        let mut books = lock(&self.books);
        for label in labels {
            if books.labels.exclusivity(label).is_none() {
                return Err(CommandError::Invalid(format!(
                    "Node label={} to be removed doesn't existed in cluster node labels collection.",
                    clip(label)
                )));
            }
        }
        for label in labels {
            self.engine.remove_label(label).map_err(of_node)?;
            books.labels.remove(label);
        }
        books.events.push(at_ms, Happening::Labels);
        Ok(Answer::Done)
    }

    // As CommonNodeLabelsManager.replaceLabelsOnNode.
    fn replace_labels(&self, nodes: &BTreeMap<String, Vec<String>>, at_ms: u64) -> Carried {
        let mut books = lock(&self.books);
        for (node, labels) in nodes {
            check_labels(&books.labels, node, labels)?;
        }
        for (node, labels) in nodes {
            let labels: BTreeSet<String> = labels.iter().cloned().collect();
            books.labels.replace_named(node, labels);
        }
        let registered = books.nodes.iter().filter(|(_, node)| !node.life.is_gone());
        let changes = registered.map(|(name, _)| {
            let label = books.labels.of(name).unwrap_or_default();
            (name.clone(), label.to_owned())
        });
        let changes: Vec<(NodeName, String)> = changes.collect();
        for (name, label) in changes {
            let present = self.label_in_engine(&name);
            if present.is_none_or(|present| present == label) {
                continue;
            }
            let apps = self.apps_on(&name);
            let relabelled = self.engine.relabel_node(name, label.clone());
            relabelled.map_err(of_node)?;
            books.note_partition(&apps, &label);
        }
        books.events.push(at_ms, Happening::Labels);
        Ok(Answer::Done)
    }

    /// The applications that have containers on a node.
    fn apps_on(&self, name: &NodeName) -> Vec<ApplicationId> {
        let name = name.clone();
        let apps = self.engine.inspect(move |ledger| {
            let node = ledger.node(&name)?;
            let containers = ledger.containers_of_node(node);
            Some(containers.map(|container| container.id.app).collect())
        });
        apps.ok().flatten().unwrap_or_default()
    }

    fn label_in_engine(&self, name: &NodeName) -> Option<String> {
        let view = self.engine.node(name).ok().flatten()?;
        Some(view.partition.unwrap_or_default())
    }

    fn refresh(&self, scheduler: &Pairs, at_ms: u64) -> Carried {
        let taken = self.load_for_refresh(scheduler).and_then(|loaded| {
            let taken = self.engine.take_over(&loaded, &self.setup.daemon, None);
            taken
                .map(|()| loaded)
                .map_err(|error| CommandError::Invalid(error.to_string()))
        });
        let message = taken.as_ref().err().map(ToString::to_string);
        let happening = Happening::Configuration {
            accepted: message.is_none(),
            message: message.unwrap_or_default(),
        };
        lock(&self.books).events.push(at_ms, happening);
        let loaded = taken?;
        let mut present = lock(&self.configuration);
        *present = Arc::new(Configuration {
            site: present.site.clone(),
            scheduler: scheduler.clone(),
            loaded,
        });
        Ok(Answer::Done)
    }

    pub(super) fn load_for_refresh(&self, scheduler: &Pairs) -> Result<Loaded, CommandError> {
        let present = self.configuration();
        let running = &present.loaded.settings.scheduler;
        let options = Options {
            running: Some(running.calculator),
            refreshes_legacy_mode: running.legacy_queue_mode,
            ..self.setup.options()
        };
        let loaded = config::load_pairs(&present.site, scheduler, &options);
        loaded.map_err(|report| {
            CommandError::Invalid(RefreshRefusal::Configuration(report).to_string())
        })
    }

    fn state_of(&self, id: ApplicationId, shown: &str) -> Result<AppState, CommandError> {
        let books = lock(&self.books);
        let app = books.app(id).ok_or_else(|| unknown(shown))?;
        Ok(app.state)
    }

    /// An application that has not ended.
    fn live_app(&self, application: &str) -> Result<ApplicationId, CommandError> {
        let id = self.parse_app(application)?;
        let state = self.state_of(id, application)?;
        if state.is_over() {
            let text = format!("{application} has ended in state {}", state.name());
            return Err(CommandError::State(text));
        }
        Ok(id)
    }
}

/// Whether a node, given by `host:port` or by its host, may have some labels.
fn check_labels(known: &Labels, node: &str, labels: &[String]) -> Result<(), CommandError> {
    let mut labels_of = labels.iter();
    if let Some(unknown) = labels_of.find(|&label| known.exclusivity(label).is_none()) {
        return Err(CommandError::Invalid(format!(
            "Not all labels being replaced contained by known label collections, please check, \
             new labels=[{}]",
            clip(unknown)
        )));
    }
    if labels.len() > 1 {
        let text = format!("{} labels specified on host={}", labels.len(), clip(node));
        return Err(CommandError::Invalid(text));
    }
    if node.contains(':') {
        node_name(node)?;
    }
    Ok(())
}

fn say_node(events: &mut super::EventLog, node: &str, life: NodeLife, at_ms: u64) {
    let happening = Happening::Node {
        node: node.to_owned(),
        state: life.name(),
    };
    events.push(at_ms, happening);
}

pub(super) fn node_name(text: &str) -> Result<NodeName, CommandError> {
    let invalid = |_| CommandError::Invalid(format!("{} is no node: HOST:PORT", clip(text)));
    text.parse().map_err(invalid)
}

fn of_node(error: NodeError) -> CommandError {
    match error {
        NodeError::Unknown(name) => CommandError::NotFound(format!("node {name} not found")),
        NodeError::Closed | NodeError::Reentrant => CommandError::Unavailable(error.to_string()),
        other => CommandError::Invalid(other.to_string()),
    }
}
