//! Refreshes that are worked out beside the ledger, and taken over in one short piece.
//!
//! 1. The ledger copies its queues in parts, without applications and users ([`TreeCopy`]).
//! 2. Another thread applies the refresh to the copy, by the code of the whole form ([`PreparedRefresh`]).
//! 3. The ledger takes over what the configuration decides, and follows it with what depends on use.
//!
//! # When it is valid
//!
//! While nothing changed that the copy was read from: the epoch, the settings and the totals of partitions. Of queues
//! that is their states, and on which partitions they have figures, which the state counts. Otherwise it is stale.
//!
//! # What goes as a whole
//!
//! Refreshes that start or stop a queue, leave legacy mode or have settings for a label that the cluster does not know,
//! and those of managed parents. What becomes of these depends on applications, or on the order of steps.
//!
//! Tests: `tests/runtime/refresh_turns.rs`.

use std::mem::swap;
use std::sync::Arc;

use super::capacity::follow_use;
use super::configured_queue::ConfiguredQueue;
use super::refresh::renew_order;
use super::refresh_checks::check_refresh;
use super::refresh_error::RefreshError;
use super::{Tree, row_copies};
use crate::cluster::Partition;
use crate::commit::leaves::Leaves;
use crate::commit::ledger::Ledger;
use crate::commit::registry::Registry;
use crate::commit::{Labels, PartitionSpec};
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::QueueSlot;
use crate::queue::{Queue, QueueKind, SchedulerSettings, Templates, TreeSettings};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// Items that the copy of a queue counts as: it takes some 0.5 us.
const COPY: usize = 2;

/// A copy of the queues of a ledger, without applications and users.
#[derive(Debug)]
pub struct TreeCopy {
    state: State,
    templates: Arc<dyn Templates>,
    /// Labels that the cluster knows before the settings hold.
    labels: Vec<PartitionSpec>,
    /// Queues that there are.
    queues: usize,
}

/// A refresh that was worked out on a copy of the queues.
#[derive(Debug)]
pub struct PreparedRefresh {
    settings: Box<TreeSettings>,
    labels: Vec<PartitionSpec>,
    stamps: Stamps,
    /// Why the settings are refused.
    refused: Option<RefreshError>,
    /// Settings of the scheduler that hold from then on. Once they are taken over, those that held before.
    scheduler: Arc<SchedulerSettings>,
    /// Smallest allocation.
    minimum: ResourceVector,
    templates: Arc<dyn Templates>,
    /// Epoch that the refresh came to.
    epoch: u64,
    /// Queues that are configured otherwise than before, in the order of their slots. Once they are taken over, what they
    /// replaced.
    changed: Vec<ConfiguredQueue>,
    /// Queues that are new.
    added: Vec<Queue>,
}

/// What a copy was read from, as far as refreshes depend on it.
#[derive(Debug)]
struct Stamps {
    epoch: u64,
    settings: Arc<SchedulerSettings>,
    cluster: ResourceVector,
    totals: Vec<ResourceVector>,
    queues: usize,
    outline: u64,
}

impl Stamps {
    fn of(state: &State) -> Self {
        Self {
            epoch: state.epoch,
            settings: Arc::clone(&state.settings),
            cluster: state.cluster,
            totals: totals(state).collect(),
            queues: state.queues.len(),
            outline: state.outline,
        }
    }

    /// Whether a copy that was read now would be the same.
    fn hold(&self, state: &State) -> bool {
        self.epoch == state.epoch
            && Arc::ptr_eq(&self.settings, &state.settings)
            && self.cluster == state.cluster
            && totals(state).eq(self.totals.iter().copied())
            && self.queues == state.queues.len()
            && self.outline == state.outline
    }
}

fn totals(state: &State) -> impl Iterator<Item = ResourceVector> {
    state.partitions.iter().map(|partition| partition.total)
}

impl TreeCopy {
    /// A copy without queues, which [`Self::go_on`] adds.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        let from = &ledger.state;
        let mut state = State::new(Arc::clone(&from.settings));
        (state.cluster, state.epoch, state.outline) = (from.cluster, from.epoch, from.outline);
        (state.node_count, state.concurrent) = (from.node_count, from.concurrent);
        for partition in &from.partitions {
            let name = Arc::clone(&partition.name);
            let copy = Partition::new(name, partition.exists, partition.exclusive);
            let total = partition.total;
            state.partitions.push(Partition { total, ..copy });
        }
        Self {
            state,
            templates: Arc::clone(&ledger.templates),
            labels: Vec::new(),
            queues: from.queues.len(),
        }
    }

    /// Copies further queues, as many as the budget has. Whether no more are copied: none is left, or what was copied is
    /// stale.
    pub fn go_on(&mut self, ledger: &Ledger, budget: &mut usize) -> bool {
        let from = &ledger.state;
        let same = |state: &State| (state.epoch, state.outline) == (from.epoch, from.outline);
        while same(&self.state) && self.state.queues.len() < from.queues.len() {
            if *budget == 0 {
                return false;
            }
            *budget = budget.saturating_sub(COPY);
            let row = &from.queues[QueueSlot::at(self.state.queues.len())];
            self.state.queues.push(row_copies::without_apps(row));
        }
        true
    }

    /// Whether all queues are copied.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.state.queues.len() == self.queues
    }

    /// The same for settings that come with labels, which the cluster knows from then on.
    #[must_use]
    pub fn with_labels(self, labels: Vec<PartitionSpec>) -> Self {
        Self { labels, ..self }
    }

    /// Applies settings to a copy that is whole.
    ///
    /// # Errors
    ///
    /// The settings, where they are to be taken over without a copy.
    pub fn prepare(
        mut self,
        settings: Box<TreeSettings>,
    ) -> Result<Box<PreparedRefresh>, Box<TreeSettings>> {
        if !self.is_whole() || !may_be_prepared(&self.state, &settings) {
            return Err(settings);
        }
        let stamps = Stamps::of(&self.state);
        let before: Vec<Queue> = self.state.queues.iter().cloned().collect();
        let Some(applied) = self.apply(&settings, &before) else {
            return Err(settings);
        };
        let rows = before.iter().zip(&self.state.queues).enumerate();
        let changed = rows.filter_map(|(at, (before, after))| {
            ConfiguredQueue::changed(QueueSlot::at(at), before, after)
        });
        let changed = changed.collect();
        let mut added = self.state.queues.split_off(stamps.queues);
        added.iter_mut().for_each(row_copies::forget_use);
        Ok(Box::new(PreparedRefresh {
            settings,
            labels: self.labels,
            stamps,
            refused: applied.err(),
            scheduler: Arc::clone(&self.state.settings),
            minimum: self.state.minimum,
            epoch: self.state.epoch,
            templates: self.templates,
            changed,
            added,
        }))
    }

    /// Applies labels and settings, or says why they are refused; nothing where a ledger with applications may come to
    /// something else. `before`: the queues until then.
    fn apply(
        &mut self,
        settings: &TreeSettings,
        before: &[Queue],
    ) -> Option<Result<(), RefreshError>> {
        let (mut registry, mut leaves) = (names_of(&self.state), Leaves::default());
        let checked = Labels::new(&registry, &self.state).check(&self.labels);
        let checked = checked.and_then(|()| check_refresh(&self.state, settings));
        if checked.is_err() {
            return Some(checked);
        }
        let templates = &mut self.templates;
        let mut tree = Tree::new(&mut self.state, &mut registry, &mut leaves, templates);
        self.labels.iter().for_each(|label| tree.add_label(label));
        let partitions = tree.state.partitions.len();
        tree.apply_refresh(settings.clone()).ok()?;
        let mut rows = before.iter().zip(&self.state.queues);
        let alike = partitions == self.state.partitions.len()
            && rows.all(|(before, after)| before.state == after.state);
        alike.then_some(Ok(()))
    }
}

/// Whether what a refresh comes to is the same on a copy without applications.
fn may_be_prepared(state: &State, settings: &TreeSettings) -> bool {
    let leaves_legacy = state.settings.legacy_queue_mode && !settings.scheduler.legacy_queue_mode;
    let managed = |kind| kind == QueueKind::ManagedParent;
    let mut known = state.queues.iter().filter(|row| !row.removed || row.stray);
    let known = known.any(|row| row.stray || managed(row.settings.kind));
    !leaves_legacy && !known && !settings.queues.iter().any(|queue| managed(queue.kind))
}

/// The names of the queues and partitions of a copy.
fn names_of(state: &State) -> Registry {
    let mut registry = Registry::new();
    for id in state.partition_ids() {
        registry.add_partition(Arc::clone(&state.partitions[id].name), id);
    }
    for (at, row) in state.queues.iter().enumerate() {
        if !row.removed {
            registry.add_queue(row.settings.path.clone(), QueueSlot::at(at));
        }
    }
    registry
}

impl PreparedRefresh {
    /// The settings, to be prepared anew.
    #[must_use]
    pub fn into_settings(self) -> Box<TreeSettings> {
        self.settings
    }
}

impl Ledger {
    /// Whether a prepared refresh comes to what the whole form would come to now.
    #[must_use]
    pub fn is_current(&self, prepared: &PreparedRefresh) -> bool {
        prepared.stamps.hold(&self.state) || is_planted(PlantedFlaw::PreparedRefreshIsStale)
    }

    /// Takes over a prepared refresh that is current. What it replaces is left in `prepared`, to be dropped by another
    /// thread.
    ///
    /// Cost: a visit of each queue, and a write of those that are configured otherwise.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`]; the tree stays as it is then.
    pub fn install(&mut self, prepared: &mut PreparedRefresh) -> Result<(), RefreshError> {
        debug_assert!(
            self.is_current(prepared),
            "a stale refresh is prepared anew"
        );
        if let Some(refused) = prepared.refused.take() {
            return Err(refused);
        }
        // Must equal [`Self::refresh_whole`].
        let whole = cfg!(debug_assertions)
            .then(|| self.refreshed(&prepared.labels, (*prepared.settings).clone()));
        for label in &prepared.labels {
            self.add_label(label);
        }
        let fetched = self.fetches.in_pauses();
        self.take_over_prepared(prepared);
        // A fetch that was answered meanwhile is not in the copy.
        let compared = whole.filter(|_| self.fetches.in_pauses() == fetched);
        debug_assert!(
            compared.is_none_or(|whole| row_copies::are_alike(self, &whole)),
            "a prepared refresh comes to the same as the whole form"
        );
        Ok(())
    }

    fn take_over_prepared(&mut self, prepared: &mut PreparedRefresh) {
        // What was computed under the old capacities holds no more.
        self.state.epoch += 1;
        swap(&mut self.state.settings, &mut prepared.scheduler);
        self.state.minimum = prepared.minimum;
        swap(&mut self.templates, &mut prepared.templates);
        self.add_and_remove(prepared);
        let parked = self.take_queues(prepared);
        debug_assert!(
            self.state.epoch <= prepared.epoch,
            "the whole form takes more steps"
        );
        self.state.epoch = self.state.epoch.max(prepared.epoch);
        if parked {
            self.leaves.reconsider_parked(&mut self.state);
        }
    }

    /// Adds the queues that are new, and removes those that are gone.
    fn add_and_remove(&mut self, prepared: &mut PreparedRefresh) {
        for new in prepared.changed.iter_mut().filter(|new| new.is_removed()) {
            let slot = new.slot();
            let row = &self.state.queues[slot];
            if row.removed {
                continue;
            }
            self.registry.remove_queue(&row.settings.path, slot);
            if row.is_leaf() {
                self.leaves.skipped_mut().cut(&mut self.state, slot, 0);
            }
            new.install(&mut self.state.queues[slot]);
        }
        for row in prepared.added.drain(..) {
            let path = row.settings.path.clone();
            let slot = QueueSlot::at(self.state.queues.push(row));
            self.registry.add_queue(path, slot);
        }
    }

    /// Takes over what the configuration says of queues, and what follows from use; whether any application is parked.
    fn take_queues(&mut self, prepared: &mut PreparedRefresh) -> bool {
        let mut parked = false;
        let known = prepared.stamps.queues;
        let mut changed = prepared.changed.iter_mut().peekable();
        follow_use(self, |state, leaves, slot| {
            if slot.index() >= known {
                return;
            }
            // What a fetch computed for its user in the pause before holds no more.
            state.epoch += u64::from(!is_planted(PlantedFlaw::FetchInPauseKeepsBounds));
            let is_leaf = state.queues[slot].is_leaf();
            if is_leaf {
                leaves.skipped_mut().cut(state, slot, 0);
            }
            while changed.next_if(|changed| changed.slot() < slot).is_some() {}
            if let Some(changed) = changed.next_if(|changed| changed.slot() == slot) {
                changed.install(&mut state.queues[slot]);
            }
            if is_leaf {
                renew_order(state, leaves, slot);
                parked |= !state.queues[slot].as_leaf().parked.is_empty();
            }
        });
        parked
    }

    /// Whether a prepared refresh comes to what the whole form comes to.
    pub(super) fn prepares_alike(&self, settings: &TreeSettings) -> bool {
        let mut copy = TreeCopy::of(self);
        copy.go_on(self, &mut { usize::MAX });
        let Ok(mut prepared) = copy.prepare(Box::new(settings.clone())) else {
            return true;
        };
        let expected = self.check_refresh(settings);
        // It compares by itself.
        self.trial_copy().install(&mut prepared) == expected
    }

    /// A copy that took labels and settings over as a whole.
    fn refreshed(&self, labels: &[PartitionSpec], settings: TreeSettings) -> Self {
        let mut copy = self.trial_copy();
        labels.iter().for_each(|label| copy.add_label(label));
        let refreshed = copy.refresh_whole(settings);
        debug_assert_eq!(refreshed, Ok(()), "the settings were checked");
        copy
    }
}
