//! Moving an application to another leaf with its containers and asks.
//!
//! Tests: `tests/commit/property.rs`.

use super::lifecycle::{AppError, SubmitError};
use crate::commit::apps::lifecycle::count_app;
use crate::commit::containers::container::ContainerState;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::ledger::Ledger;
use crate::commit::tree::build::app_left;
use crate::commit::tree::usage::add_reserved_by_present;
use crate::id::{AppSlot, NameId, PartitionId, QueueSlot, UserSlot, java_order};
use crate::snapshot::State;

impl Ledger {
    /// Moves an application to the leaf of a name; containers and asks go along.
    ///
    /// # Errors
    ///
    /// When the target refuses it; nothing changed then but for the user's record there.
    // As CapacityScheduler.moveApplication.
    pub fn move_app(&mut self, app: AppSlot, path: &str) -> Result<(), AppError> {
        let unknown = |path: &str| AppError::Move(SubmitError::UnknownQueue(path.to_owned()));
        let source = &self.state.queues[self.state.apps[app].leaf].settings.path;
        if self.registry.queue_at(source).is_none() {
            // Its queue was removed while it ran.
            return Err(unknown(source));
        }
        let to = self.queue(path).ok_or_else(|| unknown(path))?;
        check_partitions(&mut self.state, app, to)?;
        let name = std::sync::Arc::clone(&self.state.apps[app].submission.user_name);
        self.check_submission(to, &name).map_err(AppError::Move)?;
        let from = self.state.apps[app].leaf;
        let to_user = self.user(to, &name);
        self.move_charges(app, (from, to), to_user);
        self.remove_attempt(app, true);
        let row = &mut self.state.apps[app];
        row.leaf = to;
        row.user = to_user;
        self.move_killable(app);
        self.moving = Some((app, from));
        self.add_attempt(app);
        self.moving = None;
        self.move_pending(app, (from, to));
        self.stop_asking(app, from);
        if self.state.apps[app]
            .keys
            .iter()
            .any(|asks| asks.outstanding)
        {
            self.start_asking(app);
        }
        app_left(&mut self.state, from);
        count_app(&mut self.state, from, -1);
        count_app(&mut self.state, to, 1);
        Ok(())
    }

    /// Moves the charges of an application's containers and reservations to another leaf and its user there.
    fn move_charges(
        &mut self,
        app: AppSlot,
        (from, to): (QueueSlot, QueueSlot),
        to_user: UserSlot,
    ) {
        for container in self.containers_to_move(app) {
            let container = self.container(container);
            let (size, node) = (container.size.get(), container.node);
            let kept = container.state == ContainerState::Reserved
                && container.requested_partition == PartitionId::DEFAULT;
            let partition = self.state.nodes[node].partition;
            if kept {
                add_reserved_by_present(&mut self.state, from, -size);
                add_reserved_by_present(&mut self.state, to, size);
            }
            self.charge(app, partition, -size);
            // The leaf's reserved resources stay with the source, as in the reference.
            self.charge_queues(to, partition, size);
            self.charge_user(to, to_user, partition, size);
        }
    }

    /// Moves what an application has outstanding to another leaf.
    fn move_pending(&mut self, app: AppSlot, (from, to): (QueueSlot, QueueSlot)) {
        for i in 0..self.state.apps[app].keys.len() {
            let asks = &self.state.apps[app].keys[i];
            let Some(any) = asks.at(NameId::ANY).filter(|any| any.count > 0) else {
                continue;
            };
            let (partition, size) = (asks.partition, any.size.get().times(i64::from(any.count)));
            self.add_queue_pending(from, partition, -size);
            self.add_queue_pending(to, partition, size);
        }
    }

    /// Live containers in the order of a hash map of their ids, then reservations.
    fn containers_to_move(&self, app: AppSlot) -> Vec<ContainerSlot> {
        let mut live: Vec<_> = self.containers.live_of(app).collect();
        java_order::sort(&mut live, 0, |&slot| {
            let id = self.container(slot).id;
            java_order::container_hash(id.app.cluster, id.app.sequence, id.number)
        });
        live.extend(self.reservations_of(app));
        live
    }
}

/// Whether the leaf may use every partition that the application ever asked for.
///
/// The default one is left out of the check by forgetting it: from now on it counts in the
/// headroom only if it is asked for again.
// As CapacityScheduler.checkQueuePartition.
fn check_partitions(state: &mut State, app: AppSlot, to: QueueSlot) -> Result<(), AppError> {
    if !state.queues[to].is_leaf() {
        return Ok(());
    }
    let requested = &mut state.apps[app].requested;
    requested.retain(|partition| *partition != PartitionId::DEFAULT);
    let settings = &state.queues[to].settings;
    for &partition in &state.apps[app].requested {
        let label = &state.partitions[partition].name;
        if !settings.accessible.contains(label) {
            return Err(AppError::Label(label.to_string()));
        }
    }
    Ok(())
}
