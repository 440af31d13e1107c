//! Limits: maximum capacity, user limit, headroom, the limit for application masters.

use super::user_bounds::{known_bounds, least_share, maximum_rounded_down, unbounded, user_bounds};
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::queue::{Exclusivity, Leaf, LeafPart, LimitKind, User, UserBounds};
use crate::resource::{Calculator, ResourceVector, share, with_calculator, with_width};
use crate::snapshot::State;

/// The limits that a queue receives from its parent (`ResourceLimits`).
#[derive(Clone, Copy, Debug)]
pub struct Limits<const N: usize> {
    /// Most that the queue may use in all.
    pub limit: ResourceVector<N>,
    /// What is left of it; may be negative.
    pub headroom: ResourceVector<N>,
    /// How much of the application's reservations must go before it may get more.
    pub must_unreserve: ResourceVector<N>,
    /// Headroom of siblings that their own limits stopped, kept free for them.
    pub blocked: ResourceVector<N>,
    /// The leaf, once one is reached: [`may_kill`] asks for it.
    pub leaf: Option<QueueSlot>,
}

impl<const N: usize> Limits<N> {
    /// A limit with nothing used and nothing blocked.
    #[must_use]
    pub fn new(limit: ResourceVector<N>) -> Self {
        Self {
            limit,
            headroom: limit,
            must_unreserve: ResourceVector::NONE,
            blocked: ResourceVector::NONE,
            leaf: None,
        }
    }

    /// The limits of a leaf that has at least so much headroom, which is all that is known.
    #[must_use]
    pub fn of_leaf(leaf: QueueSlot, headroom: ResourceVector<N>) -> Self {
        Self {
            leaf: Some(leaf),
            ..Self::new(headroom)
        }
    }
}

/// What a parent leaves to each of its children on a partition, besides what that child uses.
#[derive(Clone, Copy, Debug)]
pub struct ParentRoom<const N: usize> {
    partition: PartitionId,
    available: ResourceVector<N>,
}

impl<const N: usize> ParentRoom<N> {
    /// The room that a parent has under its limits, which are lowered to its maximum on the way. `scheduling` is off
    /// while capacities are recomputed, which always happens on the default partition and without blocked headroom.
    // As AbstractParentQueue.getResourceLimitsOfChild.
    #[inline]
    pub fn of(
        state: &State,
        parent: QueueSlot,
        partition: PartitionId,
        limits: &mut Limits<N>,
        scheduling: bool,
    ) -> Self {
        let cluster = state.cluster.narrow();
        let part = state.queues[parent].part(partition);
        let killable = state.killable(parent, partition).narrow();
        limits.limit = with_calculator!(
            state.calculator,
            calculator => calculator.min(&cluster, &limits.limit, &part.limit.narrow())
        );
        let mut available = limits.limit - part.used.narrow() + killable;
        if scheduling {
            available -= limits.blocked;
        }
        Self {
            partition,
            available,
        }
    }

    /// The room that a pass on the default partition would find now.
    ///
    /// Cost: a walk up the tree.
    pub fn of_pass(state: &State, parent: QueueSlot) -> Self {
        let mut limits = limits_now(state, parent);
        Self::of(state, parent, PartitionId::DEFAULT, &mut limits, true)
    }

    /// The limit of a child.
    #[inline]
    pub fn limit_of(&self, state: &State, child: QueueSlot) -> ResourceVector<N> {
        let used = state.queues[child].part(self.partition).used.narrow();
        let minimum = state.minimum.narrow();
        with_calculator!(
            state.calculator,
            calculator => calculator.round_down(&(self.available + used), &minimum)
        )
    }
}

/// The limits of a child, from those of its parent. See [`ParentRoom::of`].
#[inline]
pub fn child_limit<const N: usize>(
    state: &State,
    parent: QueueSlot,
    child: QueueSlot,
    partition: PartitionId,
    limits: &mut Limits<N>,
    scheduling: bool,
) -> Limits<N> {
    let room = ParentRoom::of(state, parent, partition, limits, scheduling);
    Limits::new(room.limit_of(state, child))
}

/// The gate at a queue's maximum: tests what is used now, not what is asked. Sets the headroom.
// As AbstractCSQueue.canAssignToThisQueue.
#[inline]
pub fn passes_maximum<const N: usize>(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
    limits: &mut Limits<N>,
    could_unreserve: &ResourceVector<N>,
    exclusivity: Exclusivity,
) -> bool {
    let (row, cluster) = (&state.queues[queue], state.cluster.narrow());
    let part = row.part(partition);
    let mut used = part.used.narrow();
    if !row.is_leaf() {
        used -= state.killable(queue, partition).narrow();
    }
    with_calculator!(state.calculator, calculator => {
        let most = match exclusivity {
            Exclusivity::Respect => calculator.min(&cluster, &part.limit.narrow(), &limits.limit),
            Exclusivity::Ignore => state.most_of(queue, partition, exclusivity),
        };
        limits.headroom = most - used;
        calculator.compare(&cluster, &used, &most).is_lt()
            || state.settings.continue_looking
                && calculator.above_none(&cluster, could_unreserve)
                && calculator.compare(&cluster, &(used - *could_unreserve), &most).is_lt()
    })
}

/// Whether containers marked for it may be killed to make room for a leaf: it has less than its
/// guarantee.
// As AbstractLeafQueue.setPreemptionAllowed.
#[must_use]
pub fn may_kill(state: &State, leaf: QueueSlot, partition: PartitionId) -> bool {
    let part = state.queues[leaf].part(partition);
    if part.guaranteed.is_none() {
        return absolute_used(state, leaf, partition) < part.absolute_capacity;
    }
    let (used, guaranteed) = (part.used.get(), part.guaranteed.get());
    state
        .calculator
        .compare(&state.cluster, &used, &guaranteed)
        .is_lt()
}

/// Used resources of a queue as a fraction of the partition; copies keep it only where it decides among siblings.
fn absolute_used(state: &State, queue: QueueSlot, partition: PartitionId) -> f32 {
    let (part, total) = (state.queues[queue].part(partition), state.total(partition));
    if state.copied && state.calculator.above_none(&total, &total) {
        state.calculator.divide(&total, &part.used.get(), &total)
    } else {
        part.absolute_used
    }
}

/// The limit behind headrooms: the leaf's maximum on the default partition or what the parent
/// handed down, whichever is smaller as a whole.
// As AbstractLeafQueue.updateCurrentResourceLimits.
#[inline]
#[must_use]
pub fn queue_current_limit<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    handed: &ResourceVector<N>,
) -> ResourceVector<N> {
    let own = known_bounds(state, leaf, PartitionId::DEFAULT).map_or_else(
        || maximum_rounded_down(state, leaf, PartitionId::DEFAULT),
        |bounds| bounds.maximum.narrow(),
    );
    limit_under(state, &own, handed)
}

/// The smaller of a leaf's own limit and what its parent handed down, each as a whole.
#[inline]
pub fn limit_under<const N: usize>(
    state: &State,
    own: &ResourceVector<N>,
    handed: &ResourceVector<N>,
) -> ResourceVector<N> {
    let cluster = state.cluster.narrow();
    with_calculator!(state.calculator, calculator => calculator.min(&cluster, own, handed))
}

/// The limit of a leaf that headrooms and the limit for masters read: as it was last written, or what
/// a pass on the default partition would write now.
///
/// Cost: in the second case, a walk up the tree.
pub fn published_limit<const N: usize>(state: &State, leaf: QueueSlot) -> ResourceVector<N> {
    if state.updates_leaf_limits() {
        return state.queues[leaf].as_leaf().published_limit.narrow();
    }
    limit_now(state, leaf)
}

fn limit_now<const N: usize>(state: &State, leaf: QueueSlot) -> ResourceVector<N> {
    queue_current_limit(state, leaf, &limits_now::<N>(state, leaf).limit)
}

fn limits_now<const N: usize>(state: &State, queue: QueueSlot) -> Limits<N> {
    let partition = PartitionId::DEFAULT;
    let Some(parent) = state.queues[queue].parent else {
        return Limits::new(state.total(partition).narrow());
    };
    let mut above = limits_now(state, parent);
    child_limit(state, parent, queue, partition, &mut above, true)
}

/// The limit of a user of weight 1.
// As UsersManager.computeUserLimit.
#[must_use]
pub fn compute_user_limit<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    kind: LimitKind,
) -> ResourceVector<N> {
    let users = state.queues[leaf].as_leaf();
    let anew;
    let bounds = match known_bounds(state, leaf, partition) {
        Some(known) => known,
        None => {
            anew = user_bounds(state, leaf, partition);
            &anew
        }
    };
    let total = &state.partitions[partition].total.narrow();
    let low = &state.minimum.narrow();
    with_calculator!(state.calculator, calculator => {
        let figures = &users.parts[partition];
        let capacity = bounds.capacity.narrow();
        let beyond = beyond_guarantee(calculator, (total, low), (figures, bounds));
        let (base, weight) = match kind {
            LimitKind::All => (beyond.unwrap_or(capacity), users.total_weight),
            LimitKind::Respect | LimitKind::Ignore => {
                (figures.active_used.narrow() + *low, users.active_weight)
            }
        };
        let equal = calculator.divide_ceil_f32(&base, weight);
        let least = match &beyond {
            None => bounds.least.narrow(),
            Some(beyond) => least_share(state, leaf, beyond),
        };
        let share = calculator.max(total, &equal, &least);
        let most = match kind {
            LimitKind::Ignore => *total,
            LimitKind::Respect | LimitKind::All => bounds.most.narrow(),
        };
        calculator.round_up(&calculator.min(total, &share, &most), low)
    })
}

/// What the users of a leaf have in all, in steps, where it is not below the guarantee.
// As UsersManager.computeUserLimit; the narrow vcores are those of a sum in 32 bits.
#[inline(always)]
fn beyond_guarantee<const N: usize>(
    calculator: Calculator,
    (total, low): (&ResourceVector<N>, &ResourceVector<N>),
    (figures, bounds): (&LeafPart, &UserBounds),
) -> Option<ResourceVector<N>> {
    let capacity = bounds.capacity.narrow();
    let consumed = || calculator.times_up(total, f64::from(figures.usage_ratio), low);
    let is_within =
        |consumed: &ResourceVector<N>| calculator.compare(total, consumed, &capacity).is_lt();
    // Must equal the comparison of what is consumed with the guarantee.
    let calm = FastPath::CalmLeaf.is_taken()
        && (figures.usage_ratio < bounds.calm || is_planted(PlantedFlaw::CalmLeafAlways));
    debug_assert!(!calm || is_within(&consumed()));
    if calm {
        return None;
    }
    let consumed = consumed();
    (!is_within(&consumed)).then(|| consumed.with_narrow_vcores() + *low)
}

/// What a limit comes to for one user, by weight; 1 for users without a record.
#[inline]
#[must_use]
pub fn user_value<const N: usize>(
    state: &State,
    limit: &ResourceVector<N>,
    user: Option<&User>,
) -> ResourceVector<N> {
    weighted_value(state, limit, user.map_or(1.0, |user| user.weight))
}

/// What a limit comes to for users of a weight.
#[inline(always)]
#[must_use]
pub fn weighted_value<const N: usize>(
    state: &State,
    limit: &ResourceVector<N>,
    weight: f32,
) -> ResourceVector<N> {
    let step = state.minimum.narrow();
    with_calculator!(state.calculator, calculator => {
        calculator.times_down(limit, f64::from(weight), &step)
    })
}

/// The user limit that was last handed to an application of a user.
#[must_use]
pub fn last_user_limit(state: &State, user: &User) -> ResourceVector {
    let users = state.queues[user.leaf].as_leaf();
    let head = &users.head;
    let among = |app: &AppSlot| {
        let other = &state.users[state.apps[*app].user];
        debug_assert!(
            !other.removed,
            "a removal ends the head, and nobody of the user joins it"
        );
        other.name == user.name
    };
    match head.limit {
        Some(limit) if head.notice > user.notice && users.active[..head.len].iter().any(among) => {
            user_value(state, &limit, Some(user))
        }
        _ => user.last_limit.get(),
    }
}

/// How much more a user may get in a leaf on a partition; may be negative.
// As AbstractLeafQueue.getHeadroom.
#[must_use]
pub fn headroom(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    user_limit: &ResourceVector,
    user_used: &ResourceVector,
) -> ResourceVector {
    let queue = &state.queues[leaf];
    let part = queue.part(partition);
    let queue_limit = if partition == PartitionId::DEFAULT {
        with_width!(state.calculator, N => published_limit::<N>(state, leaf).widen())
    } else {
        part.limit.get()
    };
    let own = user_limit
        .minus_floored(user_used)
        .component_min(&queue_limit.minus_floored(&part.used.get()));
    let own = state.calculator.round_down(&own, &state.minimum);
    let total = state.total(partition);
    let free = total - state.queues[State::ROOT].part(partition).used.get();
    state.calculator.min(&total, &free, &own)
}

/// The limit for application masters of a leaf on a partition.
#[must_use]
pub fn master_limit(state: &State, leaf: QueueSlot, partition: PartitionId) -> ResourceVector {
    with_width!(state.calculator, N => {
        let current = if partition == PartitionId::DEFAULT {
            published_limit::<N>(state, leaf)
        } else {
            ResourceVector::NONE
        };
        master_limit_under(state, leaf, partition, &current).widen()
    })
}

/// The limit for masters on a partition of which the leaf may use so much at present; nothing is known of partitions
/// other than the default one.
// As AbstractLeafQueue.calculateAndGetAMResourceLimitPerPartition.
pub fn master_limit_under<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    current: &ResourceVector<N>,
) -> ResourceVector<N> {
    let part = state.queues[leaf].part(partition);
    let guaranteed = part.guaranteed.narrow();
    with_calculator!(state.calculator, calculator => {
        let usable = if calculator.fits_in(&guaranteed, current) {
            current
        } else {
            &guaranteed
        };
        calculator.times_up(usable, f64::from(part.master_share), &state.minimum.narrow())
    })
}

/// The limit for the masters of one user: of a user of weight 1, and of this user.
// As AbstractLeafQueue.getUserAMResourceLimitPerPartition.
#[must_use]
pub fn user_master_limits(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    weight: f32,
) -> (ResourceVector, ResourceVector) {
    let queue = &state.queues[leaf];
    let settings = &queue.settings.leaf;
    let users: &Leaf = queue.as_leaf();
    let part = queue.part(partition);
    let equal = share::user_am_share(settings.user_limit_percent, users.active_users());
    let queue_limit = users.parts[partition].master_limit().unwrap_or_default();
    let bound = |of_user: f32| {
        let by = if unbounded(settings.user_limit_factor) {
            part.master_share
        } else {
            let share = share::product(part.master_share, of_user);
            share::product(share, settings.user_limit_factor)
        };
        let limit =
            state
                .calculator
                .times_up(&part.guaranteed.get(), f64::from(by), &state.minimum);
        state.calculator.min(&state.cluster, &limit, &queue_limit)
    };
    let weighted = share::product(equal, weight);
    (
        bound(equal),
        bound(if weighted < 1.0 { weighted } else { 1.0 }),
    )
}

/// Pending resources of a leaf's active applications as far as user limits let them grow.
/// `limit_of` gives the limit of an application's user; reservations may be left out.
pub fn pending_within_limits(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    without_reserved: bool,
    mut limit_of: impl FnMut(UserSlot) -> ResourceVector,
) -> ResourceVector {
    let none = ResourceVector::NONE;
    let mut room = std::collections::BTreeMap::new();
    let mut total = none;
    for &app in &state.queues[leaf].as_leaf().active {
        let app = &state.apps[app];
        let left = room.entry(app.user).or_insert_with(|| {
            let user = &state.users[app.user];
            (limit_of(app.user) - user.part(partition).used.get()).component_max(&none)
        });
        let figures = app.part(partition);
        let reserved = if without_reserved {
            figures.reserved.get()
        } else {
            none
        };
        let wanted = (figures.pending.get() - reserved).component_max(&none);
        let granted = left.component_min(&wanted);
        total += granted;
        *left -= granted;
    }
    total
}
