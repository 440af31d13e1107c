//! Recovery: a scheduler that starts anew takes over the applications and containers that live, in any order.
//!
//! 1. While the scheduler recovers, containers of applications that it does not know yet are remembered.
//! 2. An application that is recovered takes over those of its attempt, and those of earlier attempts where it keeps
//!    containers. Those of other attempts are to be stopped.
//! 3. At the end of the recovery, what nobody claimed is to be stopped.
//!
//! Asks are not part of it: applications ask again. Reservations, counters and lists of places not to use are lost.
//!
//! Tests: `tests/commit/recovery.rs`.
// As AbstractYarnScheduler.recoverContainersOnNode and CapacityScheduler.addApplicationOnRecovery.

use super::node_error::NodeError;
use super::recovered::{AppRecovery, NodeContents, Recovered, Unclaimed, is_of};
use crate::accounting::{FairChange, mark_moved};
use crate::commit::apps::lifecycle::{SubmitError, check_new, named_queue, priority_of};
use crate::commit::containers::container::{Container, ContainerState};
use crate::commit::containers::updates::ChangedContainer;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::id::{AppSlot, ContainerId, NodeName, NodeSlot, QueueSlot, SchedulerKey};
use crate::queue::{AppSpec, AppStage, NodeSpec, QueueState, RunningContainer};
use crate::resource::{MAX_VALUE, ResourceVector};
use crate::snapshot::State;

impl Ledger {
    /// The scheduler recovers from now on, until [`Ledger::finish_recovery`].
    pub fn begin_recovery(&mut self) {
        self.recovery.begin();
    }

    /// Ends the recovery; the containers that nobody claimed, ascending, which are to be stopped.
    pub fn finish_recovery(&mut self) -> Vec<ContainerId> {
        self.take_unclaimed().into_ids()
    }

    /// Ends the recovery, as [`Self::finish_recovery`]; the list is left to the caller.
    pub fn take_unclaimed(&mut self) -> Unclaimed {
        self.recovery.finish()
    }

    /// Registers a node with the containers that it runs. What it runs counts even where it has no room for it.
    ///
    /// # Errors
    ///
    /// As [`Ledger::add_node`]; the state is unchanged then.
    ///
    /// Cost: two visits of all queues, and some 0.2 us for each container.
    pub fn register_node(
        &mut self,
        spec: &NodeSpec,
        running: &NodeContents,
    ) -> Result<Recovered, NodeError> {
        self.add_node(spec)?;
        self.drain_follow_ups();
        let mut result = Recovered::default();
        for containers in running.by_app() {
            self.recover_containers(&spec.name, containers, &mut result);
        }
        Ok(result)
    }

    /// Takes over an application that was accepted before, with the number of its attempt and that of its master's
    /// container, if the master runs. Limits and stopped queues do not refuse it; a stopped queue drains.
    ///
    /// # Errors
    ///
    /// When there is no such leaf any more, or the application lives already; nothing changed then but for queues
    /// that were missing and are created. What it runs is to be stopped.
    pub fn recover_app(
        &mut self,
        spec: &AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<(AppSlot, Recovered), SubmitError> {
        let (app, mut recovery) = self.begin_app_recovery(spec, attempt, master)?;
        self.take_over_part(&mut recovery, &mut { usize::MAX });
        Ok((app, recovery.into_recovered().sorted()))
    }

    /// The same, before the application took over any container.
    ///
    /// # Errors
    ///
    /// As [`Self::recover_app`].
    pub fn begin_app_recovery(
        &mut self,
        spec: &AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<(AppSlot, AppRecovery), SubmitError> {
        check_new(&self.registry, spec)?;
        let name = named_queue(spec);
        let queue = self.queue(&name);
        let of_master = self
            .checks()
            .check_master(spec, queue)
            .map_err(SubmitError::Master)?;
        let priority = priority_of(&self.state, spec, queue);
        let leaf = match queue {
            Some(leaf) => leaf,
            None => self.create_leaf(&name)?,
        };
        if !self.state.queues[leaf].is_leaf() {
            return Err(SubmitError::NotALeaf(name.into_owned()));
        }
        drain_stopped(&mut self.state, leaf);
        if let Some(forgotten) = self.attempts.note_end(spec.id, attempt.max(1) - 1) {
            self.masters.forget(forgotten);
        }
        let app = self.enter(spec, leaf, priority, &of_master);
        let row = &mut self.state.apps[app];
        row.master = master.filter(|_| !row.unmanaged);
        row.next_container = master.map_or(1, |number| number.saturating_add(1));
        let runs = row.unmanaged || row.master.is_some();
        if runs && row.stage == AppStage::Waiting {
            let user = self.leaves.user_of(&mut self.state, app);
            self.leaves.enter_active(&mut self.state, leaf, app, user);
        }
        if !runs {
            let asks = FollowUpEvent::AskForMaster(app, of_master.label);
            self.outbox.follow_up(asks);
        }
        Ok((app, self.recovery.claim(&mut self.state.apps[app])))
    }

    /// Takes over containers of an application that was recovered, as many as the budget has; whether none is left.
    pub fn take_over_part(&mut self, recovery: &mut AppRecovery, budget: &mut usize) -> bool {
        while *budget > 0 {
            let Some((node, containers)) = recovery.next(*budget) else {
                return true;
            };
            *budget -= containers.len();
            self.recover_containers(&node, &containers, recovery.result());
        }
        recovery.is_done()
    }

    /// Takes over containers of one application that a node runs, or says what is to become of them.
    fn recover_containers(
        &mut self,
        node: &NodeName,
        containers: &[RunningContainer],
        result: &mut Recovered,
    ) {
        let Some(first) = containers.first() else {
            return;
        };
        // The node may be lost by now.
        match (self.node(node), self.app(first.id.app)) {
            (Some(_), None) if self.recovery.is_open() => {
                self.keep_until_recovered(node, containers, result);
            }
            (Some(on), Some(app)) => {
                for container in containers {
                    self.recover_container((app, on), container, result);
                }
            }
            _ => result.to_stop.extend(containers.iter().map(|of| of.id)),
        }
    }

    /// Keeps what a node reported of an application, which is not recovered yet.
    fn keep_until_recovered(
        &mut self,
        node: &NodeName,
        containers: &[RunningContainer],
        result: &mut Recovered,
    ) {
        let (valid, invalid): (Vec<_>, Vec<_>) = containers.iter().partition(|of| is_valid(of));
        let id = |of: &RunningContainer| of.id;
        result.to_stop.extend(invalid.into_iter().map(id));
        result.waiting.extend(valid.iter().copied().map(id));
        let valid: Vec<_> = valid.into_iter().cloned().collect();
        self.recovery.keep(node.clone(), valid);
    }

    fn recover_container(
        &mut self,
        (app, node): (AppSlot, NodeSlot),
        container: &RunningContainer,
        result: &mut Recovered,
    ) {
        let id = container.id;
        let is_new =
            is_of(&self.state.apps[app], id) && self.containers.live(app, id.number).is_none();
        if is_new && is_valid(container) {
            self.take_running(app, node, container);
            result.taken.push(id);
        } else {
            result.to_stop.push(id);
        }
    }

    /// Takes over a running container of an application: its room, its charges, its number.
    fn take_running(&mut self, app: AppSlot, node: NodeSlot, running: &RunningContainer) {
        let full = self.state.calculator.known(&running.size);
        let charged = (!running.opportunistic).then_some(full);
        let size = charged.unwrap_or(ResourceVector::NONE);
        let stamp = self.containers.next_stamp();
        let master = self.state.apps[app].master == Some(running.id.number);
        let key = SchedulerKey::new(running.priority, running.request_id);
        let (place, stamps) = ((node, size.into()), (stamp, running.created_ms));
        let slot = self.containers.store(|| Container {
            state: ContainerState::Running,
            on_node: true,
            handed: true,
            launched: true,
            master,
            ..Container::waiting(running.id, (app, key), place, stamps)
        });
        if running.version > 0 || running.opportunistic {
            let changed = ChangedContainer {
                version: running.version,
                opportunistic: running.opportunistic.then_some(full),
            };
            self.containers.set_changed(slot, changed);
            self.node_queues().note_opportunistic(slot);
        }
        self.containers.list_running(slot);
        let row = &mut self.state.nodes[node];
        row.free -= size;
        row.allocated += size;
        row.containers += 1;
        let partition = row.partition;
        let row = &mut self.state.apps[app];
        row.part_mut(partition).used += size;
        row.next_container = row.next_container.max(running.id.number.saturating_add(1));
        self.leaves.charge(&mut self.state, app, partition, size);
        mark_moved(&mut self.state, app, FairChange::Use);
    }
}

/// Whether a reported container has a size that there may be.
fn is_valid(container: &RunningContainer) -> bool {
    let largest = ResourceVector::build(|_| MAX_VALUE);
    ResourceVector::NONE.fits_in(&container.size) && container.size.fits_in(&largest)
}

/// A stopped queue with an application drains, and those above it.
fn drain_stopped(state: &mut State, leaf: QueueSlot) {
    let chain: Vec<_> = state.chain(leaf).collect();
    for queue in chain {
        if state.queues[queue].state == QueueState::Stopped {
            state.set_queue_state(queue, QueueState::Draining);
        }
    }
}
