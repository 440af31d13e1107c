//! Room on a node: whether a container fits now, after killing or unreserving something, or should wait.
//!
//! Tests: the recordings of `tests/parity`, which `cli/tests/parity.rs` plays on the engine.

use super::allocator::{Answer, Displaced, Fit};
use super::assignment::Release;
use super::key_visit::KeyVisit;
use super::walk::Pass;
use crate::cluster::{Killable, Node};
use crate::id::java_order;
use crate::policy::{Limits, Locality, may_kill, reservations_starve};
use crate::queue::ReservedAt;
use crate::resource::ResourceVector;

impl<const N: usize> Pass<'_, N> {
    /// Whether a container fits now, after killing or unreserving something, or should wait here.
    // As RegularContainerAllocator.assignContainer.
    pub(super) fn fit(
        &self,
        visit: &KeyVisit<'_, N>,
        node: &Node,
        size: &ResourceVector<N>,
        locality: Locality,
        requested: Locality,
    ) -> Answer {
        let state = self.state;
        let calculator = state.calculator;
        let room = self.room_for(visit, size);
        let total = node.total.narrow();
        if !(calculator.fits_in(&room, &total) && state.has_cores(&room, &total)) {
            return Answer::LocalitySkipped;
        }
        let from_reservation = visit.reserved.is_some();
        let continue_looking = state.settings.continue_looking;
        let wanted = reservations_starve(state, visit.app, visit.asks, &size.widen());
        let limits = visit.limits;
        let missing = self.beyond_headroom(limits, size);
        let must_unreserve = calculator.any_above_zero(&missing);
        let fit = |displaced: Option<Displaced>| Fit {
            locality,
            requested,
            displaced: displaced.map(Box::new),
        };
        if let Some(kill) = self.kills_for(limits, node, &room) {
            let exchanges = !from_reservation && continue_looking && (!wanted || must_unreserve);
            let least = if must_unreserve { &missing } else { size };
            let exchange = exchanges.then(|| self.reservation_of(visit, least));
            return match exchange {
                Some(None) => Answer::LocalitySkipped,
                None if kill.is_empty() => Answer::Allocate(fit(None)),
                exchange => {
                    let exchange = exchange.flatten().map(Box::new);
                    Answer::Allocate(fit(Some(Displaced { exchange, kill })))
                }
            };
        }
        let may_reserve = from_reservation || wanted && !(continue_looking && must_unreserve);
        if !may_reserve {
            return Answer::LocalitySkipped;
        }
        Answer::Reserve(fit(None))
    }

    /// What has to be killed for room on a node, mostly nothing; absent where that does not make the room.
    #[inline]
    fn kills_for(
        &self,
        limits: &Limits<N>,
        node: &Node,
        room: &ResourceVector<N>,
    ) -> Option<Vec<Killable>> {
        let (state, calculator, free) = (self.state, self.state.calculator, node.free.narrow());
        if calculator.holds_one(&free, room) && state.has_cores(room, &free) {
            return Some(Vec::new());
        }
        let may_kill = |leaf| may_kill(state, leaf, self.partition);
        if calculator.containers(&free, room) != 0 || !limits.leaf.is_some_and(may_kill) {
            return None;
        }
        self.room_by_killing(node, room)
    }

    /// The room that a container needs: with proposers at work, all that is reserved for it.
    #[inline]
    fn room_for(&self, visit: &KeyVisit<'_, N>, size: &ResourceVector<N>) -> ResourceVector<N> {
        match visit.reserved {
            Some(held) if self.state.concurrent => size.component_max(&held.size.narrow()),
            _ => *size,
        }
    }

    /// What has to be unreserved for a container: what the queues demand, or what the headroom lacks.
    #[inline]
    fn beyond_headroom(&self, limits: &Limits<N>, size: &ResourceVector<N>) -> ResourceVector<N> {
        let missing = limits.must_unreserve;
        // Mostly there is headroom for it, and nothing has to go.
        if missing.is_none() && size.fits_in(&limits.headroom) {
            return missing;
        }
        let (calculator, beyond) = (self.state.calculator, *size - limits.headroom);
        calculator.max(&self.state.cluster.narrow(), &beyond, &missing)
    }

    /// Collects containers to kill until the request fits.
    fn room_by_killing(&self, node: &Node, size: &ResourceVector<N>) -> Option<Vec<Killable>> {
        let mut order = node.killable.clone();
        java_order::sort(&mut order, 0, |killable| {
            let id = killable.container;
            java_order::container_hash(id)
        });
        let (mut room, mut kill) = (node.free.narrow(), Vec::new());
        for killable in order {
            kill.push(killable);
            room += killable.size.narrow();
            if self.state.calculator.fits_in(size, &room) && self.state.has_cores(size, &room) {
                return Some(kill);
            }
        }
        None
    }

    /// A reservation of the key that covers an amount, in the order of a hash map of nodes.
    fn reservation_of(
        &self,
        visit: &KeyVisit<'_, N>,
        least: &ResourceVector<N>,
    ) -> Option<Release> {
        let held = &visit.asks.reserved;
        let fits = |held: &&ReservedAt| {
            let size = held.size.narrow();
            self.state.calculator.fits_in(least, &size)
        };
        let order = |held: &&ReservedAt| (held.java_hash, held.made);
        let found = java_order::first(held.len(), held.iter().filter(fits), order)?;
        Some(Release {
            app: visit.slot,
            key: visit.asks.key,
            number: found.number,
            node: found.node,
            size: found.size,
        })
    }
}
