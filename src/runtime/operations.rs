//! Calls of operators and node managers on engines with and without threads.
//!
//! Tests: `tests/commit/operations.rs`.

use super::handles::looks::CallError;
use super::long_changes::{AskGang, AskOpportunistic, KillAll, MoveAll, RecoverApp, RemoveLabel};
use super::{Attempt, Sequential, Threaded};
use crate::commit::{
    AppError, AskError, MovePreparation, MovedApps, NodeContents, NodeError, PartitionSpec,
    Recovered, SubmitError, Unclaimed,
};
use crate::id::{ApplicationId, ContainerId, NodeName};
use crate::queue::{AppSpec, Ask, GangAsk, NodeSpec, RunningContainer};
use crate::resource::ResourceVector;

impl Sequential {
    /// A node takes new containers again, with the total that it was given last.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn recommission_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.recommission_node(node);
        self.follow_up();
        result
    }

    /// A registered node is described anew, as after its manager started again: total, partition and attributes,
    /// all of them or none. What runs there stays, and the node takes containers.
    ///
    /// # Errors
    ///
    /// As [`NodeError`]; the state is unchanged then.
    pub fn reconnect_node(&mut self, node: &NodeSpec) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.reconnect_node(node);
        self.follow_up();
        result
    }

    /// Changes the total and the partition of a node, both or none. What runs there stays.
    ///
    /// # Errors
    ///
    /// When the node is not registered, its total is out of range or its label unknown; nothing changed then.
    pub fn update_node(
        &mut self,
        node: &NodeName,
        total: ResourceVector,
        label: &str,
    ) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.update_node(node, total, label);
        self.follow_up();
        result
    }

    /// Kills a container. Whether it was live.
    pub fn kill_container(&mut self, container: ContainerId) -> bool {
        self.note_change();
        let killed = self.ledger.kill_container(container);
        self.follow_up();
        killed
    }

    /// The node of a container reports its present size, after its application increased it. Whether the container
    /// is live. [`NodeReport::AsExpected`](crate::queue::NodeReport::AsExpected) reports the sizes of all containers
    /// of a node.
    ///
    /// A size that is larger in one type and smaller in another than what the scheduler knows ends the container.
    pub fn container_resized(&mut self, container: ContainerId, size: ResourceVector) -> bool {
        self.note_change();
        let live = self.ledger.container_resized(container, &size);
        self.follow_up();
        live
    }

    /// Moves all applications of a leaf to another one, one after the other in the order of their ids.
    ///
    /// # Errors
    ///
    /// When there is no such queue; nothing moved then.
    pub fn move_all_apps(&mut self, from: &str, to: &str) -> Result<MovedApps, AppError> {
        let mut moving = MoveAll::of(from, to);
        loop {
            if let Some(moved) = moving.go_on(self, &mut { usize::MAX }) {
                return moved;
            }
        }
    }

    /// Moves an application and notes what became of it; the caller follows up.
    pub(super) fn move_noted(
        &mut self,
        app: ApplicationId,
        to: (&str, &MovePreparation),
        result: &mut MovedApps,
    ) {
        self.ledger.move_noted(app, to, result);
    }

    /// Ends all applications of a leaf in the order of their ids; which ones. Each sends an event.
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    pub fn kill_all_apps(&mut self, queue: &str) -> Result<Vec<ApplicationId>, AppError> {
        let mut killing = KillAll::of(queue);
        loop {
            if let Some(killed) = killing.go_on(self, &mut { usize::MAX }) {
                return killed;
            }
        }
    }

    /// Ends an application for its queue; the caller follows up.
    pub(super) fn kill_app(&mut self, app: ApplicationId) {
        self.ledger.kill_app(app);
    }

    /// A queue and those below it take no applications from now on; those that they have go on. A refresh gives
    /// each the state of its configuration.
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    pub fn drain_queue(&mut self, queue: &str) -> Result<(), AppError> {
        self.note_change();
        let result = self.ledger.drain_queue(queue);
        self.follow_up();
        result
    }

    /// The scheduler recovers from now on, until [`Self::finish_recovery`].
    pub fn begin_recovery(&mut self) {
        self.ledger.begin_recovery();
    }

    /// Ends the recovery; the containers that no application claimed, ascending, which are to be stopped.
    pub fn finish_recovery(&mut self) -> Vec<ContainerId> {
        self.ledger.finish_recovery()
    }

    /// Registers a node with the containers that it runs, as after a restart of the scheduler.
    ///
    /// # Errors
    ///
    /// As [`Self::add_node`]; the state is unchanged then.
    pub fn register_node(
        &mut self,
        node: &NodeSpec,
        running: &[RunningContainer],
    ) -> Result<Recovered, NodeError> {
        self.register_with(node, &running.to_vec().into())
    }

    fn register_with(
        &mut self,
        node: &NodeSpec,
        running: &NodeContents,
    ) -> Result<Recovered, NodeError> {
        self.note_nodes();
        let result = self.ledger.register_node(node, running);
        self.follow_up();
        result
    }

    /// Takes over an application that was accepted before a restart, with the number of its attempt and that of its
    /// master's container, if the master runs; otherwise its master is asked for. Limits do not refuse it.
    ///
    /// # Errors
    ///
    /// When there is no such leaf any more, or the application lives already.
    pub fn recover_app(
        &mut self,
        app: &AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<Recovered, SubmitError> {
        self.note_change();
        let result = self.ledger.recover_app(app, attempt, master);
        self.follow_up();
        result.map(|(_, recovered)| recovered)
    }

    /// The cluster knows a label from now on. A label that it knows stays as it is.
    pub fn add_label(&mut self, label: &PartitionSpec) {
        self.note_nodes();
        self.ledger.add_label(label);
        self.follow_up();
    }

    /// The cluster does not know a label any more. Its nodes come to the default partition first.
    ///
    /// # Errors
    ///
    /// When the cluster does not know the label; nothing changed then.
    pub fn remove_label(&mut self, label: &str) -> Result<(), NodeError> {
        let mut removing = RemoveLabel::of(label);
        loop {
            if let Some(result) = removing.go_on(self, &mut { usize::MAX }) {
                return result;
            }
        }
    }

    /// Containers that are handed out from now on end so many ms later where their node has not launched them
    /// until then; never without a number.
    pub fn set_allocation_expiry(&mut self, after_ms: Option<u64>) {
        self.ledger.set_allocation_expiry(after_ms);
    }
}

impl Threaded {
    /// As [`Sequential::recommission_node`].
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn recommission_node(&self, node: NodeName) -> Result<(), NodeError> {
        self.change_nodes(move |engine| engine.recommission_node(&node))?
    }

    /// As [`Sequential::reconnect_node`].
    ///
    /// # Errors
    ///
    /// As [`NodeError`]; the state is unchanged then.
    pub fn reconnect_node(&self, node: NodeSpec) -> Result<(), NodeError> {
        self.change_nodes(move |engine| engine.reconnect_node(&node))?
    }

    /// Describes a registered node anew: its total and its partition, both or none. Nothing is killed; a total
    /// below what is in use takes no new containers. Rack and attributes stay; the latter change by
    /// [`Threaded::map_attributes`].
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// let node: NodeName = "n0:8041".parse()?;
    /// engine.add_node(NodeSpec::new(node.clone(), ResourceVector::of(&[8192, 8])))?;
    /// engine.update_node(NodeSpec::new(node, ResourceVector::of(&[4096, 8])))?;
    /// let state = engine.state().expect("the engine runs");
    /// assert_eq!(state.nodes[0].total, [4096, 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the node is not registered, its total is out of range or its label unknown; nothing changed then.
    pub fn update_node(&self, node: NodeSpec) -> Result<(), NodeError> {
        self.change_nodes(move |engine| {
            engine.update_node(&node.name, node.total, &node.partition)
        })?
    }

    /// As [`Sequential::register_node`].
    ///
    /// # Errors
    ///
    /// As [`Threaded::add_node`]; the state is unchanged then.
    pub fn register_node(
        &self,
        node: NodeSpec,
        running: Vec<RunningContainer>,
    ) -> Result<Recovered, NodeError> {
        let running = NodeContents::from(running);
        let is_empty = running.is_empty();
        // What nodes reported is dropped by the thread of the caller.
        let register = move |engine: &mut Sequential| {
            let result = engine.register_with(&node, &running);
            (result, running)
        };
        // Containers are recovered behind the labels, and before others may use their room.
        let (result, _running) = if is_empty {
            self.change_nodes(register)?
        } else {
            let mut register = Some(register);
            self.change_queues(move |engine, _| register.take().map(|register| register(engine)))?
        };
        result
    }

    /// As [`Sequential::recover_app`].
    ///
    /// # Errors
    ///
    /// When there is no such leaf any more, or the application lives already.
    pub fn recover_app(
        &self,
        app: AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<Recovered, SubmitError> {
        let mut recovering = RecoverApp::of(app, attempt, master);
        let recovered = self
            .change_in_parts(move |engine, budget| recovering.go_on(engine, budget))
            .unwrap_or_else(|refused| Err(refused.into()));
        recovered.map(Recovered::sorted)
    }

    /// Asks for a gang: its minimum is placed all at once, now or within its time, or not at all. The containers come
    /// with the answers to the calls of the application, as others do.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// for host in ["n0:8041", "n1:8041"] {
    ///     engine.add_node(NodeSpec::new(host.parse()?, ResourceVector::of(&[8192, 8])))?;
    /// }
    /// let app = ApplicationId::new(1);
    /// engine.submit(AppSpec::new(app, "root.a", "ann"))?;
    /// engine.ask_gang(app, GangAsk::of(4, ResourceVector::of(&[2048, 1]), 10_000))?;
    /// let reply = engine.ask(app, AskCall::default())?;
    /// assert_eq!(reply.allocated.len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`AskError`]; nothing changed then.
    pub fn ask_gang(&self, app: ApplicationId, gang: GangAsk) -> Result<(), AskError> {
        let mut asking = AskGang::of(app, gang);
        self.change_in_parts(move |engine, budget| asking.go_on(engine, budget))?
    }

    /// Asks for opportunistic containers, and places those that nodes take. No queue is charged with them. They come with
    /// the replies to the calls of the application, each of which tries again what was not placed.
    ///
    /// An ask replaces the earlier one with its key and place, and is withdrawn with a count of 0.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let mut settings = example::settings();
    /// settings.scheduler.opportunistic = Some(OpportunisticSettings::default());
    /// let engine = Engine::builder(settings).start()?;
    /// engine.add_node(NodeSpec::new("n0:8041".parse()?, ResourceVector::of(&[8192, 8])))?;
    /// let app = ApplicationId::new(1);
    /// engine.submit(AppSpec::new(app, "root.a", "ann"))?;
    /// engine.ask_opportunistic(app, vec![Ask::anywhere(ResourceVector::of(&[2048, 1]), 3)])?;
    /// let reply = engine.ask(app, AskCall::default())?;
    /// assert_eq!(reply.allocated.len(), 3);
    /// assert!(reply.allocated.iter().all(|granted| granted.opportunistic));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`AskError`], and while the settings do not enable them; nothing changed then. A call has 512 asks at most.
    pub fn ask_opportunistic(&self, app: ApplicationId, asks: Vec<Ask>) -> Result<(), AskError> {
        let mut asking = AskOpportunistic::of(app, asks);
        self.change_in_parts(move |engine, budget| asking.go_on(engine, budget))?
    }

    /// As [`Sequential::finish_recovery`].
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn finish_recovery(&self) -> Result<Vec<ContainerId>, CallError> {
        let unclaimed = self.change(|engine| engine.ledger.take_unclaimed());
        unclaimed.map(Unclaimed::into_ids)
    }

    /// Kills a container. Whether it was live.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn kill_container(&self, container: ContainerId) -> Result<bool, CallError> {
        self.change(move |engine| engine.kill_container(container))
    }

    /// As [`Sequential::container_resized`].
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn container_resized(
        &self,
        container: ContainerId,
        size: ResourceVector,
    ) -> Result<bool, CallError> {
        self.change(move |engine| engine.container_resized(container, size))
    }

    /// As [`Sequential::move_all_apps`].
    ///
    /// # Errors
    ///
    /// When there is no such queue; nothing moved then.
    pub fn move_all_apps(&self, from: &str, to: &str) -> Result<MovedApps, AppError> {
        let mut moving = MoveAll::of(from, to);
        self.change_in_parts(move |engine, budget| moving.go_on(engine, budget))?
    }

    /// As [`Sequential::kill_all_apps`].
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    pub fn kill_all_apps(&self, queue: &str) -> Result<Vec<ApplicationId>, AppError> {
        let mut killing = KillAll::of(queue);
        self.change_in_parts(move |engine, budget| killing.go_on(engine, budget))?
    }

    /// As [`Sequential::drain_queue`].
    ///
    /// # Errors
    ///
    /// When there is no such queue.
    pub fn drain_queue(&self, queue: &str) -> Result<(), AppError> {
        let queue = queue.to_owned();
        self.change(move |engine| engine.drain_queue(&queue))?
    }

    /// As [`Sequential::schedule_node`], for hosts that decide themselves when which node is scheduled.
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn schedule_node(&self, node: NodeName) -> Result<Option<Attempt>, CallError> {
        self.change(move |engine| engine.schedule_node(&node))
    }

    /// As [`Sequential::add_label`].
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside a closure that looks at the ledger.
    pub fn add_label(&self, label: PartitionSpec) -> Result<(), CallError> {
        self.change_nodes(move |engine| engine.add_label(&label))
    }

    /// As [`Sequential::remove_label`].
    ///
    /// # Errors
    ///
    /// When the cluster does not know the label; nothing changed then.
    pub fn remove_label(&self, label: &str) -> Result<(), NodeError> {
        let mut removing = RemoveLabel::of(label);
        self.change_in_parts(move |engine, budget| removing.go_on(engine, budget))?
    }
}
