//! The thread-free mode: every round runs on the caller's thread, proposal and commit in turn.
//!
//! Each decision follows from a call, so runs repeat exactly. It is the mode of recorded
//! scenarios, of simulation in virtual time, and of small embedders.
//!
//! Tests: `tests/commit/property.rs`.

use super::nodes::counted_nodes::Stretch;
use super::nodes::live_orders::LiveOrders;
use super::nodes::standstill::Standstill;
use crate::cluster::AttributeMapping;
use crate::commit::{
    AppError, AskError, AskProgress, Conflict, Event, Fetches, HandOut, HeartbeatReply, Ledger,
    LedgerOwner, MovePreparation, NodeError, PartitionSpec, PreemptionRound, RefreshError,
    SubmitError, Submitted, Verdicts,
};
use crate::id::{ApplicationId, ContainerId, NodeName, NodeSlot};
use crate::policy::Locality;
use crate::proposer::Observation;
use crate::queue::{AppSpec, AskCall, AskReply, NodeReport, NodeSpec, TreeSettings};
use crate::resource::ResourceVector;

/// A scheduler without threads.
#[derive(Debug)]
pub struct Sequential {
    pub(super) ledger: Ledger,
    /// What the present pass observes; empty between passes.
    pub(super) seen: Vec<Observation>,
    /// Attempts that would come to the same as before.
    pub(super) standstill: Standstill,
    /// Calls that may have changed nodes.
    pub(super) node_calls: u64,
    pub(super) orders: LiveOrders,
    /// Room for what stretches of nodes come to; empty between calls.
    pub(super) stretch: Stretch,
}

/// What one attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Whether a container or reservation was proposed, whatever the commit made of it.
    pub proposed: bool,
    /// Whether it was a reservation.
    pub reserving: bool,
    /// The level used.
    pub locality: Option<Locality>,
    /// Why the commit refused what was proposed, if it did: that is no progress.
    pub refused: Option<Conflict>,
}

impl LedgerOwner for Sequential {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The ledger, for a committer that gets decisions from elsewhere.
    fn ledger_mut(&mut self) -> &mut Ledger {
        self.orders.share();
        self.ledger.node_watch().end_reports();
        self.note_nodes();
        &mut self.ledger
    }

    #[inline]
    fn next_ledger(&mut self) -> &mut Ledger {
        debug_assert!(self.orders.is_shared());
        &mut self.ledger
    }

    fn fetches(&mut self) -> &mut Fetches {
        self.ledger.fetches()
    }
}

impl Sequential {
    /// A scheduler without nodes.
    ///
    /// # Errors
    ///
    /// When the settings do not make a tree.
    pub fn new(settings: TreeSettings, partitions: &[PartitionSpec]) -> Result<Self, RefreshError> {
        Ok(Self::over(Ledger::new(settings, partitions)?))
    }

    /// A scheduler over a ledger.
    pub(super) fn over(ledger: Ledger) -> Self {
        Self {
            ledger,
            seen: Vec::new(),
            standstill: Standstill::new(),
            node_calls: 0,
            orders: LiveOrders::default(),
            stretch: Stretch::new(),
        }
    }

    /// The live state and its names, to be read.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Chooses what hands containers to their applications.
    pub fn set_hand_out(&mut self, by: HandOut) {
        self.ledger.set_hand_out(by);
    }

    /// Hands over what happened since the last call, in order. Until then events stay in memory, however many they are
    /// ([`Ledger::event_count`]).
    pub fn take_events(&mut self) -> Vec<Event> {
        self.ledger.take_events()
    }

    /// Carries out every attempt, even those that surely come to the same as the last one; or not any more.
    /// Decisions are the same.
    pub fn carry_out_all(&mut self, all: bool) {
        self.standstill.set_plain(all);
    }

    /// Takes over a mode that is named, which wins over the configuration: heartbeats schedule in
    /// heartbeat mode, and in no other.
    pub fn name_mode(&mut self, heartbeats_schedule: bool) {
        self.ledger.name_mode(heartbeats_schedule);
    }

    /// No event is made of reservations that are kept.
    pub fn keep_silently(&mut self) {
        self.standstill.keep_silently();
    }

    /// Registers a node.
    ///
    /// # Errors
    ///
    /// As [`NodeError`]; the state is unchanged then.
    pub fn add_node(&mut self, node: &NodeSpec) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.add_node(node);
        self.follow_up();
        result.map(|_| ())
    }

    /// Registers nodes in order and adds their slots to a list; while no application is known, capacities follow
    /// once.
    ///
    /// Cost: of so many nodes, and of all queues once; with applications, of all queues for each node.
    ///
    /// # Errors
    ///
    /// As [`NodeError`] of the first that is refused; those before it are registered then.
    pub fn add_nodes(
        &mut self,
        nodes: &[NodeSpec],
        added: &mut Vec<NodeSlot>,
    ) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.add_nodes(nodes, added);
        self.follow_up();
        result
    }

    /// Removes a lost node; its containers are killed.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.remove_node(node);
        self.follow_up();
        result
    }

    /// Changes the total of a node; nothing is killed.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the total is out of range.
    pub fn resize_node(&mut self, node: &NodeName, total: ResourceVector) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.resize_node(node, total);
        self.follow_up();
        result
    }

    /// Moves a node to another partition.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the cluster does not know the label.
    pub fn relabel_node(&mut self, node: &NodeName, label: &str) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.relabel_node(node, label);
        self.follow_up();
        result
    }

    /// Changes the attributes of a node, each as `prefix/name` and value. What runs there stays.
    ///
    /// # Errors
    ///
    /// When the node is not registered or an attribute is malformed; nothing changed then.
    pub fn map_attributes(
        &mut self,
        node: &NodeName,
        mapping: &AttributeMapping,
        attributes: &[(String, String)],
    ) -> Result<(), NodeError> {
        self.note_nodes();
        let result = self.ledger.map_attributes(node, mapping, attributes);
        self.follow_up();
        result
    }

    /// A node takes no new containers from now on.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn decommission_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.note_nodes();
        self.ledger.decommission_node(node)
    }

    /// Submits an application; its master's container is asked for at once.
    ///
    /// # Errors
    ///
    /// As [`SubmitError`].
    pub fn submit(&mut self, app: &AppSpec) -> Result<Submitted, SubmitError> {
        self.standstill.note_other_change();
        let result = self.ledger.submit(app);
        self.follow_up();
        let slot = result?;
        let state = self.ledger.state();
        let row = &state.apps[slot];
        Ok(Submitted {
            queue: state.queues[row.leaf].settings.path.clone(),
            stage: row.stage,
            master: (!row.unmanaged).then_some(row.submission.master_size),
        })
    }

    /// One call of an application.
    ///
    /// # Errors
    ///
    /// As [`AskError`]; nothing was done then, but for what stands before a key in use elsewhere.
    pub fn ask(&mut self, app: ApplicationId, call: &AskCall) -> Result<AskReply, AskError> {
        let (mut reply, mut progress) = (AskReply::default(), AskProgress::of(call));
        self.ask_on(app, call, &mut progress, &mut reply, &mut { usize::MAX })?;
        Ok(reply)
    }

    /// Goes on with a call for at most so many items, as [`Ledger::ask_on`].
    pub(super) fn ask_on(
        &mut self,
        app: ApplicationId,
        call: &AskCall,
        progress: &mut AskProgress,
        reply: &mut AskReply,
        budget: &mut usize,
    ) -> Result<bool, AskError> {
        let slot = self
            .ledger
            .app(app)
            .ok_or(AskError::UnknownApplication(app))?;
        if !call.only_fetches() || self.ledger.has_granted_updates(slot) {
            self.note_change_of(slot);
        }
        let result = self.ledger.ask_on(slot, call, progress, reply, budget);
        self.follow_up();
        result
    }

    /// Registers the placement constraints of an application: pairs of a source tag and a
    /// constraint in text form, which holds for its scheduling requests with just that tag.
    ///
    /// # Errors
    ///
    /// When the application is unknown or has registered before, or a constraint is malformed;
    /// nothing changed then.
    pub fn constrain_app(
        &mut self,
        app: ApplicationId,
        constraints: &[(String, String)],
    ) -> Result<(), AskError> {
        self.note_change();
        self.ledger.constrain_app(app, constraints)
    }

    /// Sets the constraint, in text form, that the whole cluster puts on scheduling requests with
    /// one source tag; without a text there is none any more.
    ///
    /// # Errors
    ///
    /// When the constraint is malformed; nothing changed then.
    pub fn constrain_tag(&mut self, tag: &str, text: Option<&str>) -> Result<(), AskError> {
        self.note_change();
        self.ledger.constrain_tag(tag, text)
    }

    /// A node reports and, unless scheduling runs by itself, is scheduled.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    // As CapacityScheduler.nodeUpdate.
    pub fn heartbeat(
        &mut self,
        node: &NodeName,
        report: &NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        let slot = self
            .ledger
            .node(node)
            .ok_or_else(|| NodeError::Unknown(node.clone()))?;
        self.note_report(slot);
        let reply = self.ledger.take_report(slot, report);
        let changes_later = self.ledger.has_follow_ups();
        if !self.ledger.state().settings.asynchronous.enabled {
            self.schedule_heartbeat(slot);
        }
        self.follow_up();
        // What the round came to was decided before the node shrank or its containers were killed.
        if changes_later {
            self.note_nodes();
        }
        Ok(reply)
    }

    /// A node reports; nothing is scheduled.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn node_reported(
        &mut self,
        node: &NodeName,
        report: &NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        if let Some(slot) = self.ledger.node(node) {
            self.note_report(slot);
        }
        let reply = self.ledger.node_reported(node, report);
        self.follow_up();
        reply
    }

    /// Notes a report that may change more than which containers were launched.
    fn note_report(&mut self, slot: NodeSlot) {
        if self.ledger.due_reports().ends(slot) {
            self.note_change();
        }
    }

    /// A container ended by itself, successfully; queue and node are freed at once. Whether it was live.
    pub fn container_finished(&mut self, container: ContainerId) -> bool {
        self.container_exited(container, 0)
    }

    /// The same with an exit status. One that may be its node's fault, of a master, has the next master of the
    /// application placed elsewhere, where the settings say so.
    pub fn container_exited(&mut self, container: ContainerId, exit_status: i32) -> bool {
        let Some(slot) = self.ledger.live_container(container) else {
            return false;
        };
        match self.ledger.app(container.app) {
            Some(app) => self.note_change_of(app),
            None => self.note_change(),
        }
        self.ledger.container_exited(slot, exit_status);
        self.follow_up();
        true
    }

    /// Ends an application with its containers and reservations.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        self.note_change_of(slot);
        self.ledger.end_app(slot);
        self.follow_up();
        Ok(())
    }

    /// Goes on with the end of an application as far as the budget has items; whether the rest is few enough for
    /// [`Self::finish_app`].
    pub(super) fn end_part_of(&mut self, app: ApplicationId, budget: &mut usize) -> bool {
        let Some(slot) = self.ledger.app(app) else {
            return true;
        };
        self.note_change_of(slot);
        let few = self.ledger.end_part_of_app(slot, budget);
        self.follow_up();
        few
    }

    /// Changes an application's priority; returns the effective one.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn change_priority(&mut self, app: ApplicationId, wanted: i32) -> Result<i32, AppError> {
        self.note_change();
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        Ok(self.ledger.change_priority(slot, wanted))
    }

    /// Gives an application another lifetime from now on, cut to its queue's maximum; returns the
    /// effective one in seconds, nothing when it is unlimited.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn change_lifetime(
        &mut self,
        app: ApplicationId,
        wished_s: i64,
    ) -> Result<Option<i64>, AppError> {
        self.note_change();
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        Ok(self.ledger.change_lifetime(slot, wished_s))
    }

    /// Moves the clock forward; applications whose lifetime is over end. Returns their number.
    pub fn advance_to(&mut self, now_ms: u64) -> usize {
        let events = self.ledger.event_count();
        let due = self.ledger.is_due(now_ms);
        let ended = self.ledger.advance_to(now_ms);
        if due || self.ledger.event_count() != events {
            self.note_change();
        }
        self.follow_up();
        ended
    }

    /// Moves an application to another leaf.
    ///
    /// # Errors
    ///
    /// When there is no such application, or the target refuses it.
    pub fn move_app(&mut self, app: ApplicationId, queue: &str) -> Result<(), AppError> {
        self.move_prepared(app, queue, &MovePreparation::default())
    }

    /// Whether a new configuration could be taken over.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`].
    pub fn check_reconfigure(&self, settings: &TreeSettings) -> Result<(), RefreshError> {
        self.ledger.check_refresh(settings)
    }

    /// Takes over a new configuration, as a whole or not at all.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`].
    pub fn reconfigure(&mut self, settings: TreeSettings) -> Result<(), RefreshError> {
        self.note_nodes();
        let result = self.ledger.refresh(settings);
        self.follow_up();
        result
    }

    /// What the reference does to itself after a refusal: the refused configuration as far as it
    /// goes, then the present one once more.
    pub fn reapply(&mut self, refused: Option<TreeSettings>, present: TreeSettings) {
        self.note_nodes();
        self.ledger.reapply(refused, present);
        self.follow_up();
    }

    /// One round of preemption: `decide` looks at the live state, then its verdicts are carried
    /// out.
    pub fn preempt(&mut self, decide: impl FnOnce(&Ledger) -> Verdicts) -> PreemptionRound {
        self.note_change();
        self.ledger.know_active_users();
        let verdicts = decide(&self.ledger);
        let round = self.ledger.preempt(&verdicts);
        self.follow_up();
        round
    }

    /// Moves the clock forward; only preemption looks at it.
    pub fn advance_clock(&mut self, ms: u64) {
        self.ledger.advance_clock(ms);
    }
}
