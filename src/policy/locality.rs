//! Locality: when an ask may be served how far from where it wished.

use crate::cluster::Node;
use crate::id::NameId;
use crate::queue::{App, KeyAsks, LeafSettings};
use crate::resource::{ResourceVector, share};
use crate::snapshot::State;

/// How near to its wish an ask is served, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locality {
    /// On the named host.
    Node,
    /// On the named rack.
    Rack,
    /// Anywhere (off-switch).
    Any,
}

/// Whether a level may be used on a node now. `opportunities` includes the present one;
/// `reserved`: a reservation is being looked at, which needs no patience.
// As RegularContainerAllocator.canAssign.
#[inline]
#[must_use]
pub fn may_use(
    state: &State,
    settings: &LeafSettings,
    asks: &KeyAsks,
    node: &Node,
    level: Locality,
    opportunities: i32,
    reserved: bool,
) -> bool {
    let nodes = i32::try_from(state.node_count).unwrap_or(i32::MAX);
    let (host, rack) = (node.host, node.rack);
    if level != Locality::Any {
        if asks.count(rack) <= 0 {
            return false;
        }
        return match level {
            Locality::Rack => nodes.min(settings.node_locality_delay) < opportunities,
            Locality::Node | Locality::Any => asks.count(host) > 0,
        };
    }
    if reserved {
        return true;
    }
    if nodes == 0 {
        return false;
    }
    if asks.places.len() == 1 {
        return true;
    }
    if settings.rack_locality_additional_delay > -1 {
        let delay = settings
            .node_locality_delay
            .saturating_add(settings.rack_locality_additional_delay);
        return opportunities > nodes.min(delay);
    }
    let wait = share::locality_wait(asks.places.len(), state.node_count, asks.count(NameId::ANY));
    nodes.min(wait) < opportunities
}

/// Whether a key may still allocate or reserve: more containers outstanding than reserved, or
/// reservations that have been kept for long.
// As RegularContainerAllocator.shouldAllocOrReserveNewContainer.
#[inline]
#[must_use]
pub fn reservations_starve(
    state: &State,
    app: &App,
    asks: &KeyAsks,
    size: &ResourceVector,
) -> bool {
    starves_at(state, app, asks, size, asks.re_reservations)
}

/// The same once the reservations of the key were kept so many times more; nothing where that cannot be counted.
#[must_use]
pub fn reservations_starve_after(
    state: &State,
    app: &App,
    asks: &KeyAsks,
    size: &ResourceVector,
    kept: i32,
) -> Option<bool> {
    let re_reservations = asks.re_reservations.checked_add(kept)?;
    Some(starves_at(state, app, asks, size, re_reservations))
}

#[inline]
fn starves_at(
    state: &State,
    app: &App,
    asks: &KeyAsks,
    size: &ResourceVector,
    re_reservations: i32,
) -> bool {
    let outstanding = if asks.known {
        asks.count(NameId::ANY)
    } else {
        0
    };
    let reserved = i32::try_from(asks.reserved.len()).unwrap_or(i32::MAX);
    let mut starvation = 0;
    if reserved > 0 {
        let largest = &state.queues[app.leaf].settings.maximum_allocation;
        let calculator = state.calculator;
        let node_factor = calculator.ratio(size, largest);
        let minimum_factor = calculator.ratio(&(*largest - state.minimum), largest);
        starvation = share::starvation(re_reservations, reserved, node_factor, minimum_factor);
    }
    i64::from(starvation) + i64::from(outstanding) - i64::from(reserved) > 0
}
