//! Changes of containers that a call of their application asks for: increases, decreases, promotions, demotions.
//!
//! 1. Check each change in the order of the call. A change that is refused leaves the others as they are.
//! 2. Take over promotions, increases, demotions and decreases, in this order.
//! 3. Hand over what was granted: at once for decreases and demotions, with a later call for the others.
//!
//! A promotion or an increase is an ask under a key of its own, for the host of the container, its rack and `*`,
//! none of them relaxed. It is placed or reserved as other asks are. The container that is placed is the auxiliary
//! container of the change ([`crate::commit::containers::updates`]).
//!
//! Tests: `tests/commit/updates.rs`.

use super::budget::take;
use crate::commit::containers::container::{Container, ContainerState, GiveBack};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::containers::store::Containers;
use crate::commit::containers::updates::GrantedUpdate;
use crate::commit::event::{AuxiliaryContainer, Event};
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::id::{AppSlot, NameId, SchedulerKey, Set};
use crate::queue::{
    AskReply, ContainerChange, ContainerUpdate, EndCause, PlaceAsk, UpdateError, UpdateKind,
    UpdateRefusal, UpdatedContainer,
};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// Update keys that an application may have beyond those of live containers before they are looked through.
const KEPT_KEYS: usize = 64;

/// How far the changes of a call are taken over.
#[derive(Debug, Default)]
pub(super) struct UpdateProgress {
    checked: usize,
    taken: usize,
    /// Those that passed the checks, by kind: position in the call, and the size after normalization.
    accepted: [Vec<(usize, ResourceVector)>; UpdateKind::COUNT],
    /// Containers of those.
    containers: Set<u32>,
}

impl UpdateProgress {
    fn accepted(&self) -> impl Iterator<Item = (usize, ResourceVector)> + '_ {
        self.accepted.iter().flatten().copied()
    }
}

impl Ledger {
    /// Whether the next call of an application, whatever it asks for, hands over a change of a container.
    #[must_use]
    pub fn has_granted_updates(&self, app: AppSlot) -> bool {
        self.containers.has_updates(app)
    }

    /// Checks changes of containers and takes them over, as many as the budget has; whether all are.
    // As AbstractYarnScheduler.handleContainerUpdates.
    pub(super) fn take_over_updates(
        &mut self,
        app: AppSlot,
        (updates, largest, progress): (&[ContainerUpdate], &ResourceVector, &mut UpdateProgress),
        reply: &mut AskReply,
        budget: &mut usize,
    ) -> bool {
        for at in take(&mut progress.checked, updates.len(), budget) {
            let update = &updates[at];
            let rows = (&self.state, &self.containers);
            match check_container_update(rows, (app, update), largest, &progress.containers) {
                Ok(Some(size)) => {
                    progress.containers.insert(update.container);
                    progress.accepted[update.change.kind() as usize].push((at, size));
                }
                Ok(None) => {}
                Err(refusal) => refuse_update(&self.containers, app, update, refusal, reply),
            }
        }
        let all = progress.accepted.iter().map(Vec::len).sum();
        if progress.checked < updates.len() || (*budget == 0 && all > 0) {
            return false;
        }
        if progress.taken == 0 {
            let rows = (&mut self.state, &self.containers);
            make_room_for_updates(rows, app, updates, progress);
        }
        let range = take(&mut progress.taken, all, budget);
        let next = progress.accepted().skip(range.start).take(range.len());
        for (at, size) in next {
            let update = &updates[at];
            if let Err(refusal) = self.take_over_update(app, update, size) {
                refuse_update(&self.containers, app, update, refusal, reply);
            }
        }
        progress.taken == all
    }

    /// How often a container was changed.
    #[must_use]
    pub fn container_version(&self, slot: ContainerSlot) -> u32 {
        self.containers.changed(slot).version
    }

    /// What a container runs with: the size that its queue is charged with, or that of an opportunistic container.
    #[must_use]
    pub fn running_size(&self, slot: ContainerSlot) -> ResourceVector {
        self.containers.full_size(slot)
    }

    /// Whether a container is opportunistic, so that no queue is charged with it.
    #[must_use]
    pub fn is_opportunistic(&self, slot: ContainerSlot) -> bool {
        self.containers.changed(slot).opportunistic.is_some()
    }

    /// Takes over a change that passed the checks.
    // Differs where a change was granted that the application has not fetched: the reference counts twice what an
    // increase adds, and fails at a decrease.
    fn take_over_update(
        &mut self,
        app: AppSlot,
        update: &ContainerUpdate,
        size: ResourceVector,
    ) -> Result<(), UpdateRefusal> {
        let number = update.container;
        let Some(slot) = self.containers.updatable(app, number) else {
            return Err(UpdateRefusal::InvalidContainerId);
        };
        if self.containers.has_update(app, number) {
            return Err(UpdateRefusal::UpdateOutstandingError);
        }
        let container = self.container(slot);
        let (held, key) = (container.size.get(), container.key.increasing(number));
        match update.change.kind() {
            UpdateKind::Promote => {
                let asked = self.state.apps[app].key(key);
                if asked.is_some_and(|asks| asks.count(NameId::ANY) > 0) {
                    return Err(UpdateRefusal::UpdateOutstandingError);
                }
                self.node_queues().note_promoting(slot);
                self.ask_to_grow(app, slot, key, size);
            }
            UpdateKind::Increase => {
                self.leaves.withdraw_one(&mut self.state, app, key);
                let more = size.component_max(&held) - held;
                if !more.is_none() {
                    self.ask_to_grow(app, slot, key, more);
                }
            }
            kind @ (UpdateKind::Demote | UpdateKind::Decrease) => {
                let target = (kind == UpdateKind::Decrease).then_some(size);
                self.shrink(app, slot, key, (kind, target));
            }
        }
        Ok(())
    }

    /// Asks for what a container is to grow by, on its own node.
    // As ContainerUpdateContext.checkAndAddToOutstandingIncreases.
    fn ask_to_grow(
        &mut self,
        app: AppSlot,
        slot: ContainerSlot,
        key: SchedulerKey,
        more: ResourceVector,
    ) {
        let container = self.container(slot);
        let (node, partition) = (container.node, container.requested_partition);
        let row = &self.state.nodes[node];
        let ask = |place| PlaceAsk {
            place,
            size: more.into(),
            count: 1,
            relax: false,
            partition: Some(partition),
        };
        let asks = [row.host, row.rack, NameId::ANY].map(ask).to_vec();
        let port = row.name.port();
        self.state.apps[app].key_mut(key).only_port = Some(port);
        self.leaves.update_own_asks(&mut self.state, app, key, asks);
    }

    /// Withdraws what a container asked to grow by, and has it shrink with the next fetch.
    // As ContainerUpdateContext.checkAndAddToOutstandingDecreases.
    pub(super) fn shrink(
        &mut self,
        app: AppSlot,
        of: ContainerSlot,
        key: SchedulerKey,
        change: (UpdateKind, Option<ResourceVector>),
    ) {
        self.leaves.withdraw_one(&mut self.state, app, key);
        let rows = (&mut self.state, &mut self.containers);
        add_shrinking(rows, (app, self.clock.now_ms()), of, key, change);
    }

    /// Hands granted changes over, at most so many; what changed. Auxiliary containers end after the call.
    // As SchedulerApplicationAttempt.pullNewlyUpdatedContainers.
    pub(in crate::commit) fn hand_out_updates(
        &mut self,
        app: AppSlot,
        most: usize,
    ) -> Vec<UpdatedContainer> {
        if !self.containers.has_updates(app) {
            return Vec::new();
        }
        let row = &self.state.apps[app];
        let granted = self
            .containers
            .take_updates(app, most, |number| row.container(number));
        let mut updated = Vec::with_capacity(granted.len());
        for update in granted {
            updated.extend(self.exchange(app, &update));
            self.containers.get_mut(update.auxiliary).give_back = GiveBack::Nothing;
            let ends = FollowUpEvent::Release(update.auxiliary);
            self.outbox.follow_up(ends);
        }
        updated
    }

    /// Exchanges resources of a container that changes with those of its auxiliary container; nothing where the
    /// container is gone.
    // As ContainerUpdateContext.swapContainer.
    fn exchange(&mut self, app: AppSlot, update: &GrantedUpdate) -> Option<UpdatedContainer> {
        let (kind, slot) = (update.kind?, self.containers.updatable(app, update.number)?);
        let held = self.container(slot).size.get();
        let auxiliary = self.container(update.auxiliary);
        let (granted, auxiliary_id) = (auxiliary.size.get(), auxiliary.id);
        let (charged, opportunistic) = match (kind, &update.target) {
            (UpdateKind::Demote, _) => (ResourceVector::NONE, Some(held)),
            (UpdateKind::Decrease, Some(target)) => (target.get(), None),
            _ => (held + granted, None),
        };
        let rest = held + granted - charged;
        self.containers.get_mut(update.auxiliary).size = rest.into();
        let container = self.containers.get_mut(slot);
        container.size = charged.into();
        let (id, node) = (container.id, container.node);
        self.containers.note_rewritten(update.auxiliary);
        let version = self.containers.count_change(slot, opportunistic);
        if kind == UpdateKind::Promote {
            self.follow_promotion(slot);
        }
        if kind == UpdateKind::Increase {
            self.clock.note_increased((node, id), held);
        }
        let row = &mut self.state.nodes[node];
        row.resize_killable(id, charged);
        let updated = UpdatedContainer {
            container: id,
            node: row.name.clone(),
            kind,
            size: self.containers.full_size(slot),
            version,
        };
        let auxiliary = AuxiliaryContainer {
            id: auxiliary_id,
            size: rest,
        };
        let event = updated_event(&updated, charged, auxiliary);
        self.outbox.push(event);
        Some(updated)
    }

    /// Ends the auxiliary container of a change that was handed out, unless it ended before.
    pub(in crate::commit) fn release_auxiliary(&mut self, slot: ContainerSlot) {
        let container = self.container(slot);
        if container.is_auxiliary() && container.state == ContainerState::Allocated {
            let (app, of) = (container.app, container.key.increases());
            self.end_container(slot, EndCause::Released);
            if let Some(of) = of {
                self.follow_demotion(app, of);
            }
        }
    }
}

/// Checks a change; the size after normalization, or nothing where the container is already as it should be.
// As RMServerUtils.validateAndSplitUpdateResourceRequests. Differs: a decrease never makes a container larger,
// and all resource types are bounded, where the reference bounds memory and vcores.
fn check_container_update(
    (state, containers): (&State, &Containers),
    (app, update): (AppSlot, &ContainerUpdate),
    largest: &ResourceVector,
    others: &Set<u32>,
) -> Result<Option<ResourceVector>, UpdateRefusal> {
    let slot = containers.updatable(app, update.container);
    let slot = slot.ok_or(UpdateRefusal::InvalidContainerId)?;
    let (container, changed) = (containers.get(slot), containers.changed(slot));
    if changed.version != update.version {
        return Err(UpdateRefusal::IncorrectContainerVersionError);
    }
    if others.contains(&update.container) {
        return Err(UpdateRefusal::UpdateOutstandingError);
    }
    let guaranteed = changed.opportunistic.is_none();
    let (size, decreases) = match &update.change {
        ContainerChange::Promote => {
            return Ok(changed.opportunistic);
        }
        ContainerChange::Demote => return Ok(guaranteed.then(|| container.size.get())),
        ContainerChange::Increase(size) => (size, false),
        ContainerChange::Decrease(size) => (size, true),
    };
    let in_range = ResourceVector::NONE.fits_in(size) && size.fits_in(largest);
    if !guaranteed || !in_range {
        return Err(UpdateRefusal::ResourceOutsideAllowedRange);
    }
    let minimum = &state.minimum;
    let size = state.calculator.normalize(size, minimum, largest, minimum);
    if decreases && !size.fits_in(&container.size.get()) {
        return Err(UpdateRefusal::ResourceOutsideAllowedRange);
    }
    Ok(Some(size))
}

/// Notes in an answer that a change is refused.
fn refuse_update(
    containers: &Containers,
    app: AppSlot,
    update: &ContainerUpdate,
    refusal: UpdateRefusal,
    reply: &mut AskReply,
) {
    let slot = containers.updatable(app, update.container);
    reply.update_errors.push(UpdateError {
        update: update.clone(),
        refusal,
        version: slot.map(|slot| containers.changed(slot).version),
    });
}

/// Makes room for the keys of promotions and increases, and drops those of containers that are gone.
///
/// Cost: a search for each of these keys, and a look at all of the kind.
fn make_room_for_updates(
    (state, containers): (&mut State, &Containers),
    app: AppSlot,
    updates: &[ContainerUpdate],
    progress: &UpdateProgress,
) {
    let grow = [UpdateKind::Promote, UpdateKind::Increase];
    let grow = grow
        .iter()
        .flat_map(|&kind| &progress.accepted[kind as usize]);
    let keys: Vec<_> = grow
        .filter_map(|&(at, _)| containers.update_key(app, updates[at].container))
        .collect();
    let row = &mut state.apps[app];
    if row.increases().count() > KEPT_KEYS + 2 * containers.live_of(app).count() {
        let gone = row.increases().map(|asks| asks.key);
        let gone = gone.filter(|key| {
            let container = key.increases();
            container.is_some_and(|number| containers.live(app, number).is_none())
        });
        let gone: Vec<_> = gone.collect();
        gone.into_iter().for_each(|key| row.forget_key(key));
    }
    for key in keys {
        row.add_key(key);
    }
}

/// Adds the auxiliary container of a decrease or demotion. It takes nothing until that is handed out.
// As AbstractYarnScheduler.createDecreasedRMContainer and createDemotedRMContainer.
fn add_shrinking(
    (state, containers): (&mut State, &mut Containers),
    (app, now_ms): (AppSlot, u64),
    of: ContainerSlot,
    key: SchedulerKey,
    (kind, target): (UpdateKind, Option<ResourceVector>),
) {
    let row = &mut state.apps[app];
    let number = row.take_number();
    let (id, stamp) = (row.container(number), containers.next_stamp());
    let stamps = (stamp, now_ms);
    let shrinks = containers.get(of);
    let (number, place) = (shrinks.id.number, (shrinks.node, PackedVector::default()));
    let auxiliary = Container {
        state: ContainerState::Allocated,
        on_node: true,
        requested_partition: shrinks.requested_partition,
        borrowed: shrinks.borrowed,
        fetch_order: shrinks.fetch_order,
        ..Container::waiting(id, (app, key), place, stamps)
    };
    state.nodes[auxiliary.node].containers += 1;
    let update = GrantedUpdate {
        number,
        auxiliary: containers.store(|| auxiliary),
        kind: Some(kind),
        target: target.map(Into::into),
    };
    containers.list_update(app, update);
}

/// The event of a change that was handed over.
fn updated_event(
    updated: &UpdatedContainer,
    charged: ResourceVector,
    auxiliary: AuxiliaryContainer,
) -> Event {
    Event::Updated {
        container: updated.container,
        node: updated.node.clone(),
        kind: updated.kind,
        size: updated.size,
        charged: Box::new(charged),
        version: updated.version,
        auxiliary: Box::new(auxiliary),
    }
}
