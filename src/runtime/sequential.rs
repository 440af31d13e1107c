//! The thread-free mode: every round runs on the caller's thread, proposal and commit in turn.
//!
//! Each decision follows from a call, so runs repeat exactly. It is the mode of recorded
//! scenarios, of simulation in virtual time, and of small embedders.

use crate::cluster::NodeState;
use crate::commit::{
    AppError, AskError, CommitOutcome, Event, HeartbeatReply, Ledger, NodeError, PartitionSpec,
    PreemptionRound, RefreshError, SubmitError, Submitted, Verdicts,
};
use crate::id::{ApplicationId, ContainerId, NodeName, NodeSlot, PartitionId, java_order};
use crate::policy::Locality;
use crate::proposer::{
    Candidates, Observation, Outcome, ProposalKind, has_room, propose, propose_reserved,
};
use crate::queue::{AppSpec, AskCall, AskReply, Exclusivity, NodeReport, NodeSpec, TreeSettings};
use crate::resource::ResourceVector;

/// A scheduler without threads.
#[derive(Debug)]
pub struct Sequential {
    ledger: Ledger,
    /// What the present pass observes; empty between passes.
    seen: Vec<Observation>,
}

/// What one attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Whether a container or reservation was proposed, whatever the commit made of it.
    pub proposed: bool,
    /// Whether it was a reservation.
    pub reserving: bool,
    /// The level used.
    pub locality: Option<Locality>,
}

const NOTHING: Attempt = Attempt {
    proposed: false,
    reserving: false,
    locality: None,
};

impl Sequential {
    /// A scheduler without nodes.
    ///
    /// # Errors
    ///
    /// When the settings do not make a tree.
    pub fn new(settings: TreeSettings, partitions: &[PartitionSpec]) -> Result<Self, RefreshError> {
        let ledger = Ledger::new(settings, partitions)?;
        let seen = Vec::new();
        Ok(Self { ledger, seen })
    }

    /// The live state and its names, to be read.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Hands over what happened since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.ledger.take_events()
    }

    /// The ledger, for a committer that gets decisions from elsewhere.
    pub(super) fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Registers a node.
    ///
    /// # Errors
    ///
    /// As [`NodeError`]; the state is unchanged then.
    pub fn add_node(&mut self, node: &NodeSpec) -> Result<(), NodeError> {
        let result = self.ledger.add_node(node);
        self.ledger.settle();
        result.map(|_| ())
    }

    /// Removes a lost node; its containers are killed.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        let result = self.ledger.remove_node(node);
        self.ledger.settle();
        result
    }

    /// Changes the total of a node; nothing is killed.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the total is out of range.
    pub fn resize_node(&mut self, node: &NodeName, total: ResourceVector) -> Result<(), NodeError> {
        let result = self.ledger.resize_node(node, total);
        self.ledger.settle();
        result
    }

    /// Moves a node to another partition.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the cluster does not know the label.
    pub fn relabel_node(&mut self, node: &NodeName, label: &str) -> Result<(), NodeError> {
        let result = self.ledger.relabel_node(node, label);
        self.ledger.settle();
        result
    }

    /// A node takes no new containers from now on.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn decommission_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.ledger.decommission_node(node)
    }

    /// Submits an application; its master's container is asked for at once.
    ///
    /// # Errors
    ///
    /// As [`SubmitError`].
    pub fn submit(&mut self, app: &AppSpec) -> Result<Submitted, SubmitError> {
        let result = self.ledger.submit(app);
        self.ledger.settle();
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
        let mut reply = AskReply::default();
        self.ask_into(app, call, &mut reply)?;
        Ok(reply)
    }

    /// The same with an answer that has room, as [`Ledger::ask_into`].
    pub(super) fn ask_into(
        &mut self,
        app: ApplicationId,
        call: &AskCall,
        reply: &mut AskReply,
    ) -> Result<(), AskError> {
        let slot = self
            .ledger
            .app(app)
            .ok_or(AskError::UnknownApplication(app))?;
        let result = self.ledger.ask_into(slot, call, reply);
        self.ledger.settle();
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
        self.ledger.constrain_app(app, constraints)
    }

    /// Sets the constraint, in text form, that the whole cluster puts on scheduling requests with
    /// one source tag; without a text there is none any more.
    ///
    /// # Errors
    ///
    /// When the constraint is malformed; nothing changed then.
    pub fn constrain_tag(&mut self, tag: &str, text: Option<&str>) -> Result<(), AskError> {
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
        let reply = self.ledger.take_report(slot, report);
        if !self.ledger.state().settings.asynchronous.enabled {
            self.schedule_heartbeat(slot);
        }
        self.ledger.settle();
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
        let reply = self.ledger.node_reported(node, report);
        self.ledger.settle();
        reply
    }

    /// A container ended by itself; queue and node are freed at once. Whether it was live.
    pub fn container_finished(&mut self, container: ContainerId) -> bool {
        let Some(slot) = self.ledger.live_container(container) else {
            return false;
        };
        self.ledger.container_exited(slot);
        self.ledger.settle();
        true
    }

    /// Ends an application with its containers and reservations.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        self.ledger.end_app(slot);
        self.ledger.settle();
        Ok(())
    }

    /// Changes an application's priority; returns the effective one.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn change_priority(&mut self, app: ApplicationId, wanted: i32) -> Result<i32, AppError> {
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
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        Ok(self.ledger.change_lifetime(slot, wished_s))
    }

    /// Moves the clock forward; applications whose lifetime is over end. Returns their number.
    pub fn advance_to(&mut self, now_ms: u64) -> usize {
        let ended = self.ledger.advance_to(now_ms);
        self.ledger.settle();
        ended
    }

    /// Moves an application to another leaf.
    ///
    /// # Errors
    ///
    /// When there is no such application, or the target refuses it.
    pub fn move_app(&mut self, app: ApplicationId, queue: &str) -> Result<(), AppError> {
        let slot = self.ledger.app(app).ok_or(AppError::Unknown(app))?;
        let result = self.ledger.move_app(slot, queue);
        self.ledger.settle();
        result
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
        let result = self.ledger.refresh(settings);
        self.ledger.settle();
        result
    }

    /// What the reference does to itself after a refusal: the refused configuration as far as it
    /// goes, then the present one once more.
    pub fn reapply(&mut self, refused: Option<TreeSettings>, present: TreeSettings) {
        self.ledger.reapply(refused, present);
        self.ledger.settle();
    }

    /// One round of preemption: `decide` looks at the live state, then its verdicts are carried
    /// out.
    pub fn preempt(&mut self, decide: impl FnOnce(&Ledger) -> Verdicts) -> PreemptionRound {
        self.ledger.know_active_users();
        let verdicts = decide(&self.ledger);
        let round = self.ledger.preempt(&verdicts);
        self.ledger.settle();
        round
    }

    /// Moves the clock forward; only preemption looks at it.
    pub fn advance_clock(&mut self, ms: u64) {
        self.ledger.advance_clock(ms);
    }

    /// One attempt on one running node; nothing when there is no such node.
    pub fn schedule_node(&mut self, node: &NodeName) -> Option<Attempt> {
        let slot = self.ledger.node(node)?;
        if self.ledger.state().nodes[slot].state != NodeState::Running {
            return None;
        }
        let attempt = self.attempt_among(vec![slot]);
        self.ledger.settle();
        Some(attempt)
    }

    /// Attempts over all running nodes of a partition, the last one's result; nothing when the
    /// partition has none.
    pub fn schedule_partition(&mut self, label: &str, times: u32) -> Option<Attempt> {
        let partition = self.ledger.partition(label)?;
        let mut last = None;
        for _ in 0..times {
            let nodes = self.running_nodes(partition);
            if nodes.is_empty() {
                return None;
            }
            last = Some(self.attempt_among(nodes));
        }
        self.ledger.settle();
        last
    }

    /// Number of nodes of a partition; 0 when the cluster does not know it.
    #[must_use]
    pub fn nodes_in(&self, label: &str) -> u64 {
        let state = self.ledger.state();
        let known = self.ledger.partition(label);
        let nodes = known.map_or(0, |partition| state.partitions[partition].nodes.len());
        u64::try_from(nodes).expect("a number of nodes fits in a u64")
    }

    /// Running nodes of a partition by name, as far as several are placed on at once.
    fn running_nodes(&self, partition: PartitionId) -> Vec<NodeSlot> {
        let state = self.ledger.state();
        let several = state.settings.multi_node.enabled;
        let mut nodes: Vec<_> = state.partitions[partition]
            .nodes
            .iter()
            .copied()
            .filter(|&node| state.nodes[node].state == NodeState::Running)
            .filter(|&node| !(several && state.nodes[node].unlisted))
            .collect();
        nodes.sort_by_cached_key(|&node| state.nodes[node].name.to_string());
        nodes
    }

    // As CapacityScheduler.allocateContainersToNode with its canAllocateMore.
    fn schedule_heartbeat(&mut self, node: NodeSlot) {
        let bounds = self.ledger.state().settings.heartbeat;
        let (mut offswitch, mut assigned) = (0, 0);
        loop {
            let attempt = self.attempt_on(node);
            offswitch += i32::from(attempt.locality == Some(Locality::Any));
            assigned += i32::from(attempt.proposed);
            let more = attempt.proposed
                && !attempt.reserving
                && offswitch < bounds.maximum_offswitch
                && bounds.multiple_assignments
                && (bounds.maximum_assignments == -1 || assigned < bounds.maximum_assignments);
            if !more {
                return;
            }
        }
    }

    /// One attempt for a node: on it alone, or among all running nodes of its partition under
    /// multi-node placement.
    fn attempt_on(&mut self, node: NodeSlot) -> Attempt {
        let state = self.ledger.state();
        if !state.settings.multi_node.enabled {
            return self.attempt_alone(node);
        }
        let mut nodes = self.running_nodes(state.nodes[node].partition);
        if nodes.is_empty() {
            return self.attempt_among(vec![node]);
        }
        // As CapacityScheduler.getNodesHeartbeated: a hash map.
        java_order::sort(&mut nodes, 0, |&node| state.nodes[node].java_hash);
        self.attempt_among(nodes)
    }

    /// One attempt on one node: its reservation, or else something new.
    // As allocateContainerOnSingleNode.
    fn attempt_alone(&mut self, node: NodeSlot) -> Attempt {
        let state = self.ledger.state();
        if state.nodes[node].reserved.is_some() {
            self.fulfil(node);
            return NOTHING;
        }
        if !has_room(state, node) {
            return NOTHING;
        }
        self.attempt_new(&Candidates::node(node))
    }

    /// One attempt among several nodes: reservations first, then something new.
    // As allocateContainersOnMultiNodes.
    fn attempt_among(&mut self, nodes: Vec<NodeSlot>) -> Attempt {
        if !self.ledger.state().settings.multi_node.enabled {
            return self.attempt_alone(nodes[0]);
        }
        for &node in &nodes {
            if self.ledger.state().nodes[node].reserved.is_some() {
                self.fulfil(node);
            }
        }
        let candidates = Candidates::partition(self.ledger.state(), nodes);
        self.attempt_new(&candidates)
    }

    fn fulfil(&mut self, node: NodeSlot) {
        let outcome = propose_reserved(self.ledger.state(), node, &mut self.seen);
        let _: CommitOutcome = self.ledger.commit(&outcome, &self.seen);
        self.seen.clear();
    }

    // As CapacityScheduler.allocateOrReserveNewContainers.
    fn attempt_new(&mut self, candidates: &Candidates<'_>) -> Attempt {
        let attempt = self.pass(candidates, Exclusivity::Respect);
        let state = self.ledger.state();
        let partition = state.nodes[candidates.first()].partition;
        let lends = partition != PartitionId::DEFAULT && !state.partitions[partition].exclusive;
        if attempt.proposed || !lends {
            return attempt;
        }
        self.pass(candidates, Exclusivity::Ignore)
    }

    /// One pass and its commit.
    fn pass(&mut self, candidates: &Candidates<'_>, exclusivity: Exclusivity) -> Attempt {
        let state = self.ledger.state();
        let outcome = propose(state, candidates, exclusivity, &mut self.seen);
        let _: CommitOutcome = self.ledger.commit(&outcome, &self.seen);
        self.seen.clear();
        match outcome {
            Outcome::Proposed(proposal) => Attempt {
                proposed: true,
                reserving: proposal.kind == ProposalKind::Reserve,
                locality: Some(proposal.locality),
            },
            Outcome::GiveUp(_) | Outcome::Skipped(_) => NOTHING,
        }
    }
}
