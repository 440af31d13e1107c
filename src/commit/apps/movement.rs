//! Moving an application to another leaf with its containers and asks.
//!
//! Tests: `tests/commit/movement.rs`, `tests/commit/property.rs`, `tests/runtime/move_turns.rs`.

use std::collections::BTreeSet;

use super::lifecycle::{AppError, SubmitError};
use super::move_preparation::MovePreparation;
use crate::commit::apps::lifecycle::count_app;
use crate::commit::containers::of_apps::ChargeRun;
use crate::commit::leaves::moved_use::{PartitionCharges, PreparedMove};
use crate::commit::leaves::usage::{add_reserved_by_present, charge_use, move_pending};
use crate::commit::ledger::Ledger;
use crate::commit::tree::build::app_left;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::queue::{AppStage, ReservedAt};
use crate::resource::ResourceVector;
use crate::snapshot::State;

impl Ledger {
    /// Moves an application to the leaf of a name; containers and asks go along.
    ///
    /// # Errors
    ///
    /// When the target refuses it; nothing changed then but for the user's record there.
    pub fn move_app(&mut self, app: AppSlot, path: &str) -> Result<(), AppError> {
        self.move_prepared(app, path, &MovePreparation::default())
    }

    /// The same for a move that may be prepared.
    ///
    /// # Errors
    ///
    /// As [`Self::move_app`].
    // As CapacityScheduler.moveApplication.
    pub fn move_prepared(
        &mut self,
        app: AppSlot,
        path: &str,
        preparation: &MovePreparation,
    ) -> Result<(), AppError> {
        let unknown = |path: &str| AppError::Move(SubmitError::UnknownQueue(path.to_owned()));
        let source = &self.state.queues[self.state.apps[app].leaf].settings.path;
        if self.registry.queue_at(source).is_none() {
            // Its queue was removed while it ran.
            return Err(unknown(source));
        }
        let to = self.queue(path).ok_or_else(|| unknown(path))?;
        let prepared = preparation.prepared(self, (app, to)).unwrap_or_default();
        check_partitions(&mut self.state, app, to)?;
        let name = std::sync::Arc::clone(&self.state.apps[app].submission.user_name);
        self.leaves
            .check_submission(&mut self.state, to, &name)
            .map_err(AppError::Move)?;
        let from = self.state.apps[app].leaf;
        let to_user = self.leaves.user(&mut self.state, to, &name);
        let sums = preparation.key_sums(&self.state.apps[app]);
        let charged = (prepared, sums.reserved());
        self.move_charges(app, (from, to), to_user, charged);
        self.move_attempt(app, (from, to), to_user);
        move_pending(&mut self.state, &sums, (from, to));
        self.leaves.stop_asking(&mut self.state, app, from);
        if self.state.apps[app].has_open_key() {
            self.leaves.start_asking(&mut self.state, app);
        }
        app_left(&mut self.state, from);
        count_app(&mut self.state, from, -1);
        count_app(&mut self.state, to, 1);
        Ok(())
    }

    /// Moves an application from the lists of a leaf to those of another one.
    fn move_attempt(
        &mut self,
        app: AppSlot,
        (from, to): (QueueSlot, QueueSlot),
        to_user: UserSlot,
    ) {
        self.leaves.count_keeping(&mut self.state, app, -1);
        if self.state.apps[app].stage == AppStage::Between {
            self.leaves.leave_between(&mut self.state, app);
            self.enter_queue(app, to, to_user);
            let users = self.state.queues[to].as_leaf_mut();
            users.between.push(app);
        } else {
            self.leaves.remove_attempt(&mut self.state, app, true);
            self.enter_queue(app, to, to_user);
            self.leaves.set_moving(Some((app, from)));
            self.leaves.add_attempt(&mut self.state, app);
            self.leaves.set_moving(None);
        }
    }

    /// An application is one of another queue from now on.
    fn enter_queue(&mut self, app: AppSlot, to: QueueSlot, user: UserSlot) {
        let row = &mut self.state.apps[app];
        (row.leaf, row.user) = (to, user);
        self.leaves.count_keeping(&mut self.state, app, 1);
        self.containers.move_killable(&mut self.state, app);
    }

    /// What an application is charged for its reservations, and for its containers where that is not prepared, by
    /// partition.
    ///
    /// Cost: that of listing them.
    fn charges_of(
        &self,
        app: AppSlot,
        reserved: &[ReservedAt],
        prepared: &[PreparedMove],
    ) -> Vec<ChargeRun> {
        let mut charges = self.containers.reserved_charges_of(&self.state, reserved);
        if prepared.is_empty() {
            let live = self.containers.live_charges_of(&self.state, app);
            charges.splice(..0, live);
        }
        charges.sort_by_key(|run| run.partition);
        charges
    }

    /// Moves the charges of an application's containers and reservations to another leaf and its user there.
    ///
    /// Cost: queues are charged once for each partition.
    fn move_charges(
        &mut self,
        app: AppSlot,
        (from, to): (QueueSlot, QueueSlot),
        to_user: UserSlot,
        (prepared, reserved): (&[PreparedMove], &[ReservedAt]),
    ) {
        debug_assert!(
            prepared.is_empty() || self.are_charges_whole((app, to), prepared),
            "what is prepared equals what is charged in one piece"
        );
        let charges = self.charges_of(app, reserved, prepared);
        let by_present = charges.iter().filter(|run| run.by_present);
        let by_present = by_present.fold(ResourceVector::NONE, |sum, run| sum + run.sum());
        if !by_present.is_none() {
            add_reserved_by_present(&mut self.state, from, -by_present);
            add_reserved_by_present(&mut self.state, to, by_present);
        }
        for charges in by_partition(prepared, &charges) {
            let (partition, all) = (charges.partition, charges.sum());
            let from_user = self.leaves.user_of(&mut self.state, app);
            charge_use(&mut self.state, from, partition, -all);
            // The leaf's reserved resources stay with the source, as in the reference.
            charge_use(&mut self.state, to, partition, all);
            let users = ((from, from_user), (to, to_user));
            self.leaves.move_use(&mut self.state, users, &charges);
        }
    }
}

/// Charges by partition, ascending; `runs` are in that order.
fn by_partition<'a>(
    prepared: &'a [PreparedMove],
    runs: &'a [ChargeRun],
) -> Vec<PartitionCharges<'a>> {
    let partitions = prepared.iter().map(PreparedMove::partition);
    let partitions: BTreeSet<_> = partitions
        .chain(runs.iter().map(|run| run.partition))
        .collect();
    let on = |partition| {
        let is_before = |run: &ChargeRun| run.partition < partition;
        let is_up_to = |run: &ChargeRun| run.partition <= partition;
        let (begin, end) = (
            runs.partition_point(is_before),
            runs.partition_point(is_up_to),
        );
        PartitionCharges {
            partition,
            prepared: prepared
                .iter()
                .find(|charges| charges.partition() == partition),
            runs: &runs[begin..end],
        }
    };
    partitions.into_iter().map(on).collect()
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
