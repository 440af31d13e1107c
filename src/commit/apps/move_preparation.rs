//! What a move of an application charges the users of both leaves, worked out in parts before it moves.
//!
//! A move holds as a whole: nobody sees an application that is charged in two leaves. Most of its time goes into the
//! charges of users, container by container. They are worked out here on copies:
//!
//! 1. The containers are counted. Their order matters only where sizes differ.
//! 2. Where it does they are put into the order of a hash map of their ids, as the reference charges them.
//! 3. Each is charged to both users on copies of their figures.
//!
//! What it asks for and has reserved is [counted](crate::commit::leaves::key_sums) before, where it has many keys.
//!
//! Others are served between two parts. Where one of them changes a container, or what a user uses, the preparation begins
//! anew, some times at most. A move without a preparation that holds charges container by container.
//!
//! Tests: `tests/runtime/move_turns.rs`.

use crate::accounting::PreparedUse;
use crate::commit::containers::container::Container;
use crate::commit::containers::live::Live;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::leaves::key_sums::{CountedKeys, KeySums};
use crate::commit::leaves::moved_use::PreparedMove;
use crate::commit::ledger::Ledger;
use crate::id::java_order::{PartedOrder, container_hash};
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::queue::{App, UserPart};
use crate::resource::ResourceVector;

/// Preparations that a move begins at most.
const MOST_BEGUN: u32 = 4;

/// Containers that are charged without a preparation.
const FEW: usize = 512;

/// The move of an application to another leaf, and how far it is prepared.
#[derive(Debug, Default)]
pub struct MovePreparation {
    keys: Option<CountedKeys>,
    begun: u32,
    under_way: Option<MoveUnderWay>,
}

/// A preparation that has begun.
#[derive(Debug)]
struct MoveUnderWay {
    stamp: MoveStamp,
    step: MoveStep,
    charges: Vec<PreparedMove>,
}

/// Whose containers they are, and what shows that one of them changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MoveStamp {
    app: AppSlot,
    generation: u32,
    from: QueueSlot,
    to: QueueSlot,
    /// Of the application's live containers.
    changes: u32,
    /// Of partitions of nodes and their totals.
    epoch: u64,
}

/// How far a preparation is. `next`: a place of the list of live containers.
#[derive(Debug)]
enum MoveStep {
    Count { next: usize, sizes: Sizes },
    Order(usize, PartedOrder<ContainerSlot>),
    ChargeListed { next: usize, count: usize },
    ChargeOrdered(PartedOrder<ContainerSlot>, usize),
    Done,
}

/// Containers that were counted.
#[derive(Debug, Default)]
struct Sizes {
    count: usize,
    first: Option<ResourceVector>,
    differ: bool,
}

impl MovePreparation {
    /// Begins with another application than the one before.
    fn forget_other(&mut self, stamp: &MoveStamp) {
        let other = |known: &MoveUnderWay| !known.stamp.is_of_app(stamp);
        if self.under_way.as_ref().is_some_and(other) {
            (self.begun, self.under_way) = (0, None);
        }
    }

    /// Counts further keys of an application, about as many as the budget has; whether all are counted, or they are few.
    fn count_keys(&mut self, slot: AppSlot, app: &App, budget: &mut usize) -> bool {
        if app.keys.len() <= FEW {
            return true;
        }
        let counted = self.keys.take().filter(|keys| keys.is_for(slot, app));
        let counted = counted.unwrap_or_else(|| CountedKeys::of(slot, app));
        self.keys.insert(counted).go_on(budget)
    }

    /// What an application has outstanding and reserved.
    ///
    /// Cost: as that of the keys that are not counted.
    pub(super) fn key_sums(&self, app: &App) -> KeySums {
        match &self.keys {
            Some(counted) => counted.sums(&app.keys),
            None => KeySums::of(&app.keys),
        }
    }

    /// What live containers are charged by partition, if all of it is prepared and holds.
    pub(super) fn prepared(
        &self,
        ledger: &Ledger,
        (app, to): (AppSlot, QueueSlot),
    ) -> Option<&[PreparedMove]> {
        let under_way = self.under_way.as_ref()?;
        let done = matches!(under_way.step, MoveStep::Done);
        let holds = done && under_way.holds(ledger, &MoveStamp::of(ledger, app, to));
        holds.then_some(under_way.charges.as_slice())
    }
}

impl Ledger {
    /// Goes on preparing the move of an application to the leaf of a name, with a look at as many keys and containers
    /// as the budget has; whether it is prepared as far as it will be. Whether the leaf takes it is up to the move.
    pub fn prepare_move(
        &self,
        app: AppSlot,
        path: &str,
        preparation: &mut MovePreparation,
        budget: &mut usize,
    ) -> bool {
        let to = self
            .queue(path)
            .filter(|&to| self.state.queues[to].is_leaf());
        let Some(to) = to else {
            return true;
        };
        if !preparation.count_keys(app, &self.state.apps[app], budget) {
            return false;
        }
        let stamp = MoveStamp::of(self, app, to);
        preparation.forget_other(&stamp);
        let places = self.containers.live_lists().of(app).places();
        if preparation.begun == 0 && places <= (*budget).max(FEW) {
            return true;
        }
        let known = preparation.under_way.take();
        let under_way = match known.filter(|known| known.holds(self, &stamp)) {
            Some(known) => known,
            None if preparation.begun == MOST_BEGUN => return true,
            None => {
                preparation.begun += 1;
                MoveUnderWay::of(stamp)
            }
        };
        let under_way = preparation.under_way.insert(under_way);
        while *budget > 0 && !matches!(under_way.step, MoveStep::Done) {
            under_way.go_on(self, budget);
        }
        matches!(under_way.step, MoveStep::Done)
    }

    /// Whether prepared charges are those of the live containers as they are, worked out in one piece.
    pub(super) fn are_charges_whole(
        &self,
        (app, to): (AppSlot, QueueSlot),
        prepared: &[PreparedMove],
    ) -> bool {
        let mut whole = MoveUnderWay::of(MoveStamp::of(self, app, to));
        for run in self.containers.live_charges_of(&self.state, app) {
            for _ in 0..run.count {
                whole.charge(self, (run.partition, &run.size), 0);
            }
        }
        let equal = |(one, other): (&PreparedMove, &PreparedMove)| one.equals(other);
        whole.charges.len() == prepared.len() && whole.charges.iter().zip(prepared).all(equal)
    }
}

impl MoveStamp {
    fn of(ledger: &Ledger, app: AppSlot, to: QueueSlot) -> Self {
        let row = &ledger.state.apps[app];
        Self {
            app,
            generation: row.generation,
            from: row.leaf,
            to,
            changes: ledger.containers.live_lists().changes_of(app),
            epoch: ledger.state.epoch,
        }
    }

    fn is_of_app(&self, other: &Self) -> bool {
        (self.app, self.generation) == (other.app, other.generation)
    }

    /// The figures of the application's user in a leaf on a partition; nothing without a record.
    fn user<'a>(
        &self,
        ledger: &'a Ledger,
        leaf: QueueSlot,
        partition: PartitionId,
    ) -> Option<&'a UserPart> {
        let state = &ledger.state;
        let user = ledger.leaves.user_in(state, leaf, self.app)?;
        Some(state.users[user].part(partition))
    }

    /// No charges yet on a partition, of so many containers at most.
    fn nothing_on(&self, ledger: &Ledger, partition: PartitionId, most: usize) -> PreparedMove {
        let prepared = |leaf, most| {
            let user = self.user(ledger, leaf, partition);
            PreparedUse::new(&ledger.state, partition, user, most)
        };
        if self.from == self.to {
            return PreparedMove::new(prepared(self.from, 2 * most), None);
        }
        let to = prepared(self.to, most);
        PreparedMove::new(prepared(self.from, most), Some(to))
    }
}

impl MoveUnderWay {
    fn of(stamp: MoveStamp) -> Self {
        let sizes = Sizes::default();
        Self {
            stamp,
            step: MoveStep::Count { next: 0, sizes },
            charges: Vec::new(),
        }
    }

    /// Whether nothing changed that it depends on; `stamp`: as it is now.
    fn holds(&self, ledger: &Ledger, stamp: &MoveStamp) -> bool {
        let holds = |charges: &PreparedUse, leaf| {
            let user = stamp.user(ledger, leaf, charges.partition());
            charges.is_for(&ledger.state, user)
        };
        let both = |charges: &PreparedMove| {
            let (from, to) = charges.of_users();
            holds(from, stamp.from) && to.is_none_or(|to| holds(to, stamp.to))
        };
        self.stamp == *stamp && self.charges.iter().all(both)
    }

    /// Goes on with its step, and to the next one where it ends.
    fn go_on(&mut self, ledger: &Ledger, budget: &mut usize) {
        let list = ledger.containers.live_lists().of(self.stamp.app);
        self.step = match std::mem::replace(&mut self.step, MoveStep::Done) {
            MoveStep::Count {
                mut next,
                mut sizes,
            } => {
                for slot in part(list, &mut next, budget) {
                    sizes.add(ledger.container(slot));
                }
                sizes.after(next, list.places())
            }
            MoveStep::Order(mut next, mut order) => {
                for slot in part(list, &mut next, budget) {
                    order.add(container_hash(ledger.container(slot).id), slot);
                }
                if next < list.places() {
                    MoveStep::Order(next, order)
                } else {
                    MoveStep::ChargeOrdered(order, next)
                }
            }
            MoveStep::ChargeListed { mut next, count } => {
                for slot in part(list, &mut next, budget) {
                    self.charge_container(ledger, slot, count);
                }
                if next < list.places() {
                    MoveStep::ChargeListed { next, count }
                } else {
                    MoveStep::Done
                }
            }
            MoveStep::ChargeOrdered(order, count) => {
                self.charge_range(ledger, order, count, budget)
            }
            MoveStep::Done => MoveStep::Done,
        };
    }

    /// Charges the next containers of an order; the next step.
    fn charge_range(
        &mut self,
        ledger: &Ledger,
        mut order: PartedOrder<ContainerSlot>,
        count: usize,
        budget: &mut usize,
    ) -> MoveStep {
        let Some(slots) = order.take() else {
            return MoveStep::Done;
        };
        *budget = budget.saturating_sub(1);
        for slot in slots {
            *budget = budget.saturating_sub(1);
            self.charge_container(ledger, slot, count);
        }
        MoveStep::ChargeOrdered(order, count)
    }

    fn charge_container(&mut self, ledger: &Ledger, slot: ContainerSlot, count: usize) {
        let container = ledger.container(slot);
        let partition = ledger.state.nodes[container.node].partition;
        self.charge(ledger, (partition, &container.size.get()), count);
    }

    /// Charges a container, one of so many at most.
    fn charge(
        &mut self,
        ledger: &Ledger,
        (partition, size): (PartitionId, &ResourceVector),
        most: usize,
    ) {
        let mut charges = self.charges.iter();
        let at = charges.position(|charges| charges.partition() == partition);
        let at = at.unwrap_or_else(|| {
            let charges = self.stamp.nothing_on(ledger, partition, most);
            self.charges.push(charges);
            self.charges.len() - 1
        });
        self.charges[at].add(&ledger.state, size);
    }
}

impl Sizes {
    fn add(&mut self, container: &Container) {
        let size = container.size.get();
        self.count += 1;
        self.differ |= *self.first.get_or_insert(size) != size;
    }

    /// The step after a part that ended in front of a place of so many.
    fn after(self, next: usize, places: usize) -> MoveStep {
        if next < places {
            MoveStep::Count { next, sizes: self }
        } else if self.differ {
            MoveStep::Order(0, PartedOrder::of(self.count))
        } else {
            let count = self.count;
            MoveStep::ChargeListed { next: 0, count }
        }
    }
}

/// The containers of the next places of a list, as many as the budget has.
fn part<'a>(
    list: &'a Live,
    next: &mut usize,
    budget: &mut usize,
) -> impl Iterator<Item = ContainerSlot> + use<'a> {
    let (from, most) = (*next, (*budget).min(list.places() - *next));
    (*next, *budget) = (from + most, *budget - most);
    list.on_places(from, most)
}
