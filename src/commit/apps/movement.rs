//! Moving an application to another leaf with its containers and asks.

use super::lifecycle::{AppError, SubmitError};
use crate::commit::containers::container::ContainerState;
use crate::commit::ledger::{ContainerSlot, Ledger};
use crate::id::{AppSlot, NameId, PartitionId, QueueSlot, java_order};

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
        if !self.paths.contains_key(source) {
            // Its queue was removed while it ran.
            return Err(unknown(source));
        }
        let to = self.queue(path).ok_or_else(|| unknown(path))?;
        self.check_partitions(app, to)?;
        let name = std::sync::Arc::clone(&self.state.apps[app].submission.user_name);
        self.check_submission(to, &name).map_err(AppError::Move)?;
        let from = self.state.apps[app].leaf;
        let to_user = self.user(to, &name);
        for container in self.containers_to_move(app) {
            let container = self.container(container);
            let (size, node) = (container.size.get(), container.node);
            let kept = container.state == ContainerState::Reserved
                && container.requested_partition == PartitionId::DEFAULT;
            let partition = self.state.nodes[node].partition;
            if kept {
                self.add_reserved_by_present(from, -size);
                self.add_reserved_by_present(to, size);
            }
            self.charge(app, partition, -size);
            // The leaf's reserved resources stay with the source, as in the reference.
            self.charge_queues(to, partition, size);
            self.charge_user(to, to_user, partition, size);
        }
        self.remove_attempt(app, true);
        let row = &mut self.state.apps[app];
        row.leaf = to;
        row.user = to_user;
        self.move_killable(app);
        self.moving = Some((app, from));
        self.add_attempt(app);
        self.moving = None;
        for i in 0..self.state.apps[app].keys.len() {
            let asks = &self.state.apps[app].keys[i];
            let Some(any) = asks.at(NameId::ANY).filter(|any| any.count > 0) else {
                continue;
            };
            let (partition, size) = (asks.partition, any.size.get().times(i64::from(any.count)));
            self.add_queue_pending(from, partition, -size);
            self.add_queue_pending(to, partition, size);
        }
        self.stop_asking(app, from);
        if self.state.apps[app]
            .keys
            .iter()
            .any(|asks| asks.outstanding)
        {
            self.start_asking(app);
        }
        self.app_left(from);
        self.count_app(from, -1);
        self.count_app(to, 1);
        Ok(())
    }

    /// Whether the leaf may use every partition that the application ever asked for.
    ///
    /// The default one is left out of the check by forgetting it: from now on it counts in the
    /// headroom only if it is asked for again.
    // As CapacityScheduler.checkQueuePartition.
    fn check_partitions(&mut self, app: AppSlot, to: QueueSlot) -> Result<(), AppError> {
        if !self.state.queues[to].is_leaf() {
            return Ok(());
        }
        let requested = &mut self.state.apps[app].requested;
        requested.retain(|partition| *partition != PartitionId::DEFAULT);
        let settings = &self.state.queues[to].settings;
        for &partition in &self.state.apps[app].requested {
            let label = &self.state.partitions[partition].name;
            if !settings.accessible.contains(label) {
                return Err(AppError::Label(label.to_string()));
            }
        }
        Ok(())
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
