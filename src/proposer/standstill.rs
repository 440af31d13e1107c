//! Looks that found nothing: what they counted, and on which nodes a look comes to the same.
//!
//! A pass reads the state and nothing else. Where it found nothing and changed counters only, a second pass over
//! the same state comes to the same, as long as no decision depends on those counters. A node like the first one
//! gives the same answer, where nothing that was looked at has room on it.
//!
//! Tests: `tests/simulation/skipping.rs`.

use super::assignment::Observation;
use super::candidates::has_room;
use super::watch::{Step, Watch};
use crate::cluster::Node;
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId, QueueSlot, SchedulerKey};
use crate::policy::{reservations_starve, reservations_starve_after};
use crate::queue::{App, KeyAsks};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// What one look moved at a key, and nothing else came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterMove {
    /// The application.
    pub app: AppSlot,
    /// The key.
    pub key: SchedulerKey,
    /// By how much its scheduling opportunities grew.
    pub opportunities: i32,
    /// By how much its missed opportunities grew.
    pub missed: i32,
}

/// A limit of a leaf that a pass published, whatever stood there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitWrite {
    /// The leaf.
    pub leaf: QueueSlot,
    /// The limit.
    pub limit: PackedVector,
}

/// What one attempt moves that finds nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Counters of keys.
    pub looks: Vec<CounterMove>,
    /// Limits of leaves that were published, in order.
    pub limits: Vec<LimitWrite>,
}

/// The keys that a pass looked at, and the limits that it published.
#[derive(Debug, Default)]
pub struct Visited {
    /// With each whether it came to a node.
    keys: Vec<(AppSlot, SchedulerKey, bool)>,
    limits: Vec<LimitWrite>,
}

impl Visited {
    /// Forgets them.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.limits.clear();
    }

    /// Whether a pass over several nodes comes to the same in the same state, whatever its counters: each key is
    /// beyond all that locality waits for, or waits for none, or its limits stopped it before any node.
    #[must_use]
    pub fn is_settled(&self, state: &State) -> bool {
        let nodes = i32::try_from(state.node_count).unwrap_or(i32::MAX);
        self.keys(state).all(|(_, asks, tried)| {
            asks.is_some_and(|asks| !tried || asks.places.len() == 1 || asks.opportunities > nodes)
        })
    }

    fn keys<'a>(
        &'a self,
        state: &'a State,
    ) -> impl Iterator<Item = (&'a App, Option<&'a KeyAsks>, bool)> {
        self.keys.iter().map(|&(app, key, tried)| {
            let app = &state.apps[app];
            (app, app.key(key), tried)
        })
    }
}

impl Watch for Visited {
    fn ended(&mut self, _: Step) {}

    fn looked(&mut self, app: AppSlot, key: SchedulerKey, tried: bool) {
        self.keys.push((app, key, tried));
    }

    fn limit_published(&mut self, leaf: QueueSlot, limit: PackedVector) {
        self.limits.push(LimitWrite { leaf, limit });
    }
}

/// Whether a pass that finds nothing changes no more than counters and what leaves and users are handed, once in a
/// version of the users.
#[must_use]
pub fn is_still(seen: &[Observation]) -> bool {
    seen.iter().all(|seen| {
        matches!(
            seen,
            Observation::Counters { .. }
                | Observation::PublishedLimit { .. }
                | Observation::UserLimit { .. }
                | Observation::LimitNotice { .. }
                | Observation::Served { .. }
        )
    })
}

/// What a still pass moves, before that is applied; nothing where it looked at one key twice.
#[must_use]
pub fn moved_by(state: &State, visited: &Visited, seen: &[Observation]) -> Option<Moved> {
    let mut looks = Vec::with_capacity(seen.len());
    for observation in seen {
        let &Observation::Counters {
            app,
            key,
            opportunities,
            missed,
        } = observation
        else {
            continue;
        };
        let asks = state.apps[app].key(key)?;
        looks.push(CounterMove {
            app,
            key,
            opportunities: opportunities - asks.opportunities,
            missed: missed - asks.missed,
        });
    }
    let mut keys: Vec<_> = looks.iter().map(|look| (look.app, look.key)).collect();
    keys.sort_unstable();
    let once = keys.windows(2).all(|pair| pair[0] != pair[1]);
    let grow = looks
        .iter()
        .all(|look| look.opportunities >= 0 && look.missed >= 0);
    let limits = visited.limits.clone();
    (once && grow).then_some(Moved { looks, limits })
}

/// The application and key of the reservation on a node.
#[must_use]
pub fn reservation_of(state: &State, node: NodeSlot) -> Option<(AppSlot, SchedulerKey)> {
    let held = state.nodes[node].reserved.as_ref()?;
    Some((held.app, held.key))
}

/// Nodes on which a look comes to nothing, as it did on one of them: those of one partition that have room for the
/// smallest allocation, and for none of the sizes that were looked at.
#[derive(Clone, Debug)]
pub struct Fruitless {
    partition: PartitionId,
    /// Sizes that would be reserved on a node that is large enough for them; the one that was looked at is not.
    too_large: Vec<ResourceVector>,
    /// Sizes that were looked at, each once.
    sizes: Vec<ResourceVector>,
    /// The least of them, by type.
    least: ResourceVector,
}

/// Different sizes that are kept apart.
const SIZES: usize = 16;

impl Fruitless {
    /// The nodes like one on which a pass found nothing and moved counters only, in an exclusive partition.
    /// Nothing where its answer depends on more of a node than its room.
    #[must_use]
    pub fn of(state: &State, node: NodeSlot, visited: &Visited) -> Option<Self> {
        let row = &state.nodes[node];
        let mut sizes: Vec<ResourceVector> = Vec::new();
        let mut too_large = Vec::new();
        for (app, asks, tried) in visited.keys(state) {
            if !tried {
                // Limits are those of every node of the partition; a constraint may hold on one of them.
                if asks?.constrained.is_some() {
                    return None;
                }
                continue;
            }
            let size = size_asked_anywhere(app, asks?)?;
            let reserves = reservations_starve(state, app, asks?, &size);
            if reserves && asks?.places.len() > 1 {
                return None;
            }
            if reserves && !is_within(state, &size, &row.total) && !too_large.contains(&size) {
                too_large.push(size);
            }
            if !sizes.contains(&size) {
                sizes.push(size);
            }
            if sizes.len() > SIZES {
                return None;
            }
        }
        let least = sizes.iter().copied().reduce(|a, b| a.component_min(&b));
        let found = Self {
            partition: row.partition,
            too_large,
            least: least.unwrap_or(ResourceVector::NONE),
            sizes,
        };
        found.covers(state, row).then_some(found)
    }

    /// Whether it is about nodes of a size in a partition.
    // As Pass::fit, which looks at the total before anything else of a node.
    #[inline]
    #[must_use]
    pub fn is_about(&self, state: &State, partition: PartitionId, total: &PackedVector) -> bool {
        let mut too_large = self.too_large.iter();
        self.partition == partition && !too_large.any(|size| is_within(state, size, total))
    }

    /// The sizes that were looked at, each once, and the least of them by type.
    #[must_use]
    pub fn sizes(&self) -> (&ResourceVector, &[ResourceVector]) {
        (&self.least, &self.sizes)
    }

    /// Whether a look at a node comes to the same. The node has room for the smallest allocation.
    #[inline]
    #[must_use]
    pub fn covers(&self, state: &State, row: &Node) -> bool {
        let alike = row.reserved.is_none()
            && row.killable.is_empty()
            && row.takes_containers()
            && self.is_about(state, row.partition, &row.total);
        if !alike {
            return false;
        }
        let (calculator, free) = (state.calculator, row.free.get());
        // As Pass::parent, which asks this for negative amounts too.
        if !calculator.fits_in(&state.minimum, &free) {
            return false;
        }
        let fits = |size: &ResourceVector| calculator.holds_one(&free, size);
        !(fits(&self.least) && self.sizes.iter().any(fits))
    }
}

/// Whether a node with a total is large enough for a size.
fn is_within(state: &State, size: &ResourceVector, total: &PackedVector) -> bool {
    let total = total.get();
    state.calculator.fits_in(size, &total) && state.has_cores(size, &total)
}

/// The size that a key asks for at all of its places, where each will do and nothing of a node but its room decides.
fn size_asked_anywhere(app: &App, asks: &KeyAsks) -> Option<ResourceVector> {
    let any = asks.at(NameId::ANY)?;
    let free = app.blacklist.is_empty() && asks.constrained.is_none();
    (free && asks.places.all_relaxed(&any.size)).then(|| any.size.get())
}

/// What is to be known of a node before a look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// Its reservation goes on waiting, and counts that.
    Kept,
    /// It takes nothing, and nothing is counted.
    Full,
    /// Only a look decides.
    Open,
}

/// What is to be known of a node before a look at it alone.
#[must_use]
pub fn prospect(state: &State, node: NodeSlot) -> Prospect {
    if state.nodes[node].reserved.is_some() {
        return if is_kept(state, node) {
            Prospect::Kept
        } else {
            Prospect::Open
        };
    }
    if has_room(state, node) {
        Prospect::Open
    } else {
        Prospect::Full
    }
}

/// Whether an attempt to fulfil the reservation on a node surely keeps it, and moves nothing but the opportunities
/// and re-reservations of its key.
// As Pass::leaf, Pass::allocate_reserved and Pass::fit.
fn is_kept(state: &State, node: NodeSlot) -> bool {
    let row = &state.nodes[node];
    let Some(held) = &row.reserved else {
        return false;
    };
    let app = &state.apps[held.app];
    let Some(asks) = app.key(held.key).filter(|asks| asks.known) else {
        return false;
    };
    let Some(size) = size_asked_anywhere(app, asks) else {
        return false;
    };
    let stands = row.takes_containers()
        && row.killable.is_empty()
        && asks.count(row.host) == 0
        && asks.count(row.rack) == 0
        && asks.count(NameId::ANY) > 0
        && asks.opportunities < i32::MAX
        && !state.concurrent
        && !app.stage.is_over();
    let calculator = state.calculator;
    stands
        && size == held.size
        && calculator.above_none(&state.cluster, &size)
        && calculator.fits_in(&size, &row.total.get())
        && !calculator.holds_one(&row.free.get(), &size)
}

/// Whether the key of the reservation on a node may reserve or allocate more than now once it was kept often enough.
#[must_use]
pub fn may_starve_later(state: &State, node: NodeSlot) -> bool {
    let Some(held) = &state.nodes[node].reserved else {
        return false;
    };
    let app = &state.apps[held.app];
    app.key(held.key).is_some_and(|asks| {
        let most = i32::MAX.saturating_sub(asks.re_reservations.max(0));
        let later = reservations_starve_after(state, app, asks, &held.size, most);
        later == Some(true) && !reservations_starve(state, app, asks, &held.size)
    })
}

/// Whether a key with reservations may still reserve just as much once they were kept so many times more.
#[must_use]
pub fn keeps_quietly(state: &State, (app, key): (AppSlot, SchedulerKey), times: i32) -> bool {
    let app = &state.apps[app];
    app.key(key).is_some_and(|asks| {
        let counts = asks.opportunities.checked_add(times).is_some();
        let alike = |size| {
            let after = reservations_starve_after(state, app, asks, size, times);
            after == Some(reservations_starve(state, app, asks, size))
        };
        let mut last = None;
        let mut sizes = asks.reserved.iter().map(|held| &held.size);
        counts && sizes.all(|size| last.replace(size) == Some(size) || alike(size))
    })
}
