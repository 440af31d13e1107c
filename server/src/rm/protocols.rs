//! What nodes and application masters call, and what follows from time alone.

use std::sync::Arc;

use capsched::api::{
    ApplicationId, Ask, AskCall, AskError, AskReply, CallError, CommitOutcome, ContainerId, Event,
    GangAsk, GangEvent, HeartbeatReply, Mode, NodeError, NodeName, NodeReport,
};

use super::activities::{NodeActivity, Prospect, placed};
use super::books::Books;
use super::looks::KeyLook;
use super::nodes::NodeLife;
use super::{AppState, FinalStatus, ResourceManager, lock};

/// `yarn.nm.liveness-monitor.expiry-interval-ms`, where no configuration says otherwise.
const NODE_EXPIRY_MS: u64 = 600_000;

impl ResourceManager {
    /// Takes a node's heartbeat. In heartbeat mode this is where the node is scheduled.
    ///
    /// # Errors
    ///
    /// When the node is not registered and has to register again.
    pub fn heartbeat(
        &self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        self.pump();
        // Where the host runs the passes, [`Self::schedule_node`] records them.
        let hosts_passes = self.setup.host_passes;
        let visited = (!hosts_passes).then(|| self.visited(node)).flatten();
        let reply = self.engine.heartbeat(node.clone(), report)?;
        let now_ms = self.now_ms();
        let mut books = lock(&self.books);
        if let Some(record) = books.nodes.get_mut(node) {
            record.reported_ms = now_ms;
        }
        let decisions = self.take_decisions();
        if self.setup.mode == Mode::Heartbeat && !hosts_passes {
            books.follow_run(node, &decisions, now_ms);
        }
        self.follow_pass(&mut books, node, visited, &decisions, now_ms);
        let position = books.fact_position;
        drop(books);
        // A node must not start a master that a restart would not know.
        self.wait_for(position).map_err(|_| NodeError::Closed)?;
        Ok(reply)
    }

    /// One pass over a running node without its heartbeat, for hosts that decide themselves when which node is
    /// scheduled. Whether it placed or newly reserved something.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down.
    // As CapacityScheduler.schedule, whose passes are recorded as those of heartbeats are.
    pub fn schedule_node(&self, node: &NodeName) -> Result<bool, CallError> {
        self.pump();
        let visited = self.visited(node);
        self.engine.schedule_node(node.clone())?;
        let decisions = self.take_decisions();
        let now_ms = self.now_ms();
        let mut books = lock(&self.books);
        self.follow_pass(&mut books, node, visited, &decisions, now_ms);
        let places =
            |decision: &Event| matches!(decision, Event::Allocated { .. } | Event::Reserved { .. });
        Ok(decisions.iter().any(places))
    }

    /// Records a pass over a node, where somebody asked for that, and follows its decisions.
    fn follow_pass(
        &self,
        books: &mut Books,
        node: &NodeName,
        visited: Option<Prospect>,
        decisions: &[Event],
        now_ms: u64,
    ) {
        if let Some(visited) = visited {
            record_pass(books, node, visited, decisions, now_ms);
        }
        self.follow(books, decisions, now_ms);
    }

    /// What a pass over a node will come to, where somebody asked for a recording.
    fn visited(&self, node: &NodeName) -> Option<Prospect> {
        let now_ms = self.now_ms();
        if !lock(&self.books).activities.wants(node, now_ms) {
            return None;
        }
        let node = node.clone();
        let looked = self.engine.inspect(move |ledger| {
            let node = ledger.node(&node)?;
            Some(Prospect::of(ledger.state(), node))
        });
        looked.ok().flatten()
    }

    /// Records the next heartbeat of a node; of any node where none is named.
    pub fn record_node(&self, node: Option<NodeName>) {
        lock(&self.books).activities.arm(node);
    }

    /// Records what heartbeats bring an application, up to a time in ms since the Unix epoch.
    pub fn record_app(&self, app: ApplicationId, until_ms: u64) {
        let now_ms = self.now_ms();
        lock(&self.books).activities.arm_app(app, now_ms, until_ms);
    }

    /// The last recorded heartbeat of a node; of the last node where none is named.
    #[must_use]
    pub fn node_activity(&self, node: Option<&NodeName>) -> Option<Arc<NodeActivity>> {
        lock(&self.books).activities.of_node(node).cloned()
    }

    /// Recorded passes that came to an application, the newest first.
    #[must_use]
    pub fn app_activities(&self, app: ApplicationId) -> Vec<Arc<NodeActivity>> {
        let books = lock(&self.books);
        books.activities.of_app(app).cloned().collect()
    }

    /// Takes over what a node says about its health. Empty: it is well.
    pub fn report_health(&self, node: &NodeName, report: String) {
        if let Some(record) = lock(&self.books).nodes.get_mut(node) {
            record.health = report;
        }
    }

    /// Carries out a call of an application master. Changes of containers that the reply carries survive a restart.
    ///
    /// # Errors
    ///
    /// When the application is not live, the call is out of range, or the journal failed.
    pub fn ask(
        &self,
        app: ApplicationId,
        call: AskCall,
        progress: f32,
    ) -> Result<AskReply, AskError> {
        let reply = self.engine.ask(app, call);
        let changes = reply.as_ref().is_ok_and(|reply| !reply.updated.is_empty());
        if changes {
            // The events of the changes are what the journal keeps.
            self.engine.quiesce();
        }
        self.pump();
        let mut books = lock(&self.books);
        if reply.is_ok()
            && let Some(record) = books.apps.get_mut(&app)
        {
            record.progress = progress.clamp(0.0, 100.0);
        }
        let position = books.fact_position;
        drop(books);
        if changes {
            self.wait_for(position).map_err(|_| AskError::Closed)?;
        }
        reply
    }

    /// Asks for a gang, as [`capsched::api::Threaded::ask_gang`]. As other asks of masters, it does not survive a restart.
    ///
    /// # Errors
    ///
    /// When the application is not live or the gang is out of range.
    pub fn ask_gang(&self, app: ApplicationId, gang: GangAsk) -> Result<(), AskError> {
        let asked = self.engine.ask_gang(app, gang);
        self.pump();
        asked
    }

    /// Asks for opportunistic containers, as [`capsched::api::Threaded::ask_opportunistic`]. As other asks of masters,
    /// they do not survive a restart.
    ///
    /// # Errors
    ///
    /// When the application is not live, an ask is out of range, or the settings do not enable them.
    pub fn ask_opportunistic(&self, app: ApplicationId, asks: Vec<Ask>) -> Result<(), AskError> {
        let asked = self.engine.ask_opportunistic(app, asks);
        self.pump();
        asked
    }

    /// What became of an application's gangs since the last call, in order.
    #[must_use]
    pub fn take_gangs(&self, app: ApplicationId) -> Vec<GangEvent> {
        let mut books = lock(&self.books);
        let record = books.apps.get_mut(&app);
        record.map_or_else(Vec::new, |record| record.gangs.drain(..).collect())
    }

    /// A container ended by itself, as its node reports. Whether it was live.
    pub fn container_finished(&self, container: ContainerId) -> bool {
        self.container_exited(container, 0)
    }

    /// The same with an exit status. One that may be its node's fault, of a master, has the next master placed
    /// elsewhere, where the configuration says so.
    pub fn container_exited(&self, container: ContainerId, exit_status: i32) -> bool {
        let live = self.engine.container_exited(container, exit_status);
        self.pump();
        live
    }

    /// What became of proposals so far, by outcome.
    #[must_use]
    pub fn outcomes(&self) -> capsched::metrics::Counts<CommitOutcome> {
        self.engine.outcomes()
    }

    /// When an application's lifetime ends, by what it wishes and what its queue allows.
    // As CapacityScheduler.checkAndGetApplicationLifetime.
    pub(super) fn expiry(
        &self,
        queue: &str,
        wished_s: Option<i64>,
        started_ms: u64,
    ) -> Option<u64> {
        let path = queue.to_owned();
        let bounds = self.engine.inspect(move |ledger| {
            let slot = ledger.queue(&path)?;
            Some(ledger.state().queues[slot].settings.lifetime)
        });
        let bounds = bounds.ok().flatten()?;
        let bounded = |seconds: &i64| *seconds > 0;
        let wanted = wished_s.filter(bounded).unwrap_or(bounds.default_s);
        let most = Some(bounds.maximum_s).filter(bounded);
        let chosen = match (Some(wanted).filter(bounded), most) {
            (Some(wanted), Some(most)) => wanted.min(most),
            (wanted, most) => wanted.or(most)?,
        };
        let seconds = u64::try_from(chosen).ok()?;
        Some(started_ms.saturating_add(seconds.saturating_mul(1000)))
    }

    /// Ends the applications whose lifetime is over.
    pub(super) fn end_overdue(&self) {
        let now_ms = self.now_ms();
        let overdue: Vec<ApplicationId> = {
            let books = lock(&self.books);
            let over = |expiry: Option<u64>| expiry.is_some_and(|expiry| expiry <= now_ms);
            let apps = books.apps.values();
            let apps = apps.filter(|app| !app.state.is_over() && over(app.expiry_ms));
            apps.map(|app| app.id).collect()
        };
        for id in overdue {
            // One that ended meanwhile needs no end.
            if self.engine.finish_app(id).is_err() {
                continue;
            }
            self.pump();
            let mut books = lock(&self.books);
            if let Some(app) = books.apps.get_mut(&id) {
                app.diagnostics = format!(
                    "Application is killed by ResourceManager as it has exceeded the lifetime period, {id}"
                );
            }
            books.end_app(id, AppState::Killed, FinalStatus::Killed, now_ms);
        }
    }

    /// Gives up nodes that did not report in time.
    pub(super) fn expire_nodes(&self) {
        let configuration = self.configuration();
        let key = "yarn.nm.liveness-monitor.expiry-interval-ms";
        let text = configuration.loaded.properties.text(key).ok().flatten();
        let patience = text.and_then(|text| text.trim().parse().ok());
        let patience = patience.unwrap_or(NODE_EXPIRY_MS);
        let now_ms = self.now_ms();
        let silent: Vec<String> = {
            let books = lock(&self.books);
            let nodes = books.nodes.iter();
            let nodes = nodes.filter(|(_, node)| {
                !node.life.is_gone() && now_ms.saturating_sub(node.reported_ms) > patience
            });
            nodes.map(|(name, _)| name.to_string()).collect()
        };
        for node in silent {
            // A node that left meanwhile is gone already.
            let _ = self.remove_node(&node, NodeLife::Lost, now_ms);
        }
    }
}

/// Keeps what a pass over a node came to, for whoever asked for a recording.
fn record_pass(
    books: &mut Books,
    node: &NodeName,
    prospect: Prospect,
    decisions: &[Event],
    now_ms: u64,
) {
    let placed = placed(decisions, |app| books.queue_of(app));
    let mut looks = prospect.looks;
    // The prospect has the first container that the pass places; each of the others is served by a pass of its own.
    let foreseen = looks.last().is_some_and(|look| look.result.places());
    let others = placed.iter().skip(usize::from(foreseen));
    looks.extend(others.map(|placed| KeyLook {
        app: placed.container.app,
        key: placed.key,
        result: placed.result,
        obstacle: None,
        container: None,
    }));
    let record = books.nodes.get(node);
    let activity = NodeActivity {
        node: node.clone(),
        at_ms: now_ms,
        http_port: record.map_or(0, |record| record.registration.http_port),
        partition: prospect.partition,
        entry: prospect.entry,
        root: prospect.root,
        placed,
        looks,
    };
    let nodes = books.nodes.iter().count();
    books.activities.record(activity, nodes);
}
