//! Room on a node: whether a container fits now, after killing or unreserving something, or should wait.

use super::allocator::{Answer, Fit, KeyVisit};
use super::assignment::Release;
use super::walk::Pass;
use crate::cluster::{Killable, Node};
use crate::id::{NodeSlot, java_order};
use crate::policy::{Locality, may_kill, reservations_starve};
use crate::resource::ResourceVector;

impl<const N: usize> Pass<'_, N> {
    /// Whether a container fits now, after killing or unreserving something, or should wait here.
    // As RegularContainerAllocator.assignContainer.
    pub(super) fn fit(
        &self,
        visit: &KeyVisit<'_, N>,
        slot: NodeSlot,
        node: &Node,
        size: &ResourceVector<N>,
        locality: Locality,
        requested: Locality,
    ) -> Answer {
        let state = self.state;
        let calculator = state.calculator;
        let room = match visit.reserved {
            Some(held) if state.concurrent => size.component_max(&held.size.narrow()),
            _ => *size,
        };
        let total = node.total.narrow();
        if !(calculator.fits_in(&room, &total) && state.has_cores(&room, &total)) {
            return Answer::LocalitySkipped;
        }
        let from_reservation = visit.reserved.is_some();
        let continue_looking = state.settings.continue_looking;
        let wanted = reservations_starve(state, visit.app, visit.asks, &size.widen());
        let limits = visit.limits;
        // Mostly there is headroom for it, and nothing has to go.
        let mut missing = limits.must_unreserve;
        if !(missing.is_none() && size.fits_in(&limits.headroom)) {
            let beyond = *size - limits.headroom;
            missing = calculator.max(&state.cluster.narrow(), &beyond, &missing);
        }
        let must_unreserve = calculator.any_above_zero(&missing);
        let mut kill = Vec::new();
        let free = node.free.narrow();
        let mut fits = calculator.holds_one(&free, &room) && state.has_cores(&room, &free);
        let may_kill = || {
            let leaf = limits.leaf;
            leaf.is_some_and(|leaf| may_kill(state, leaf, self.partition))
        };
        if !fits && calculator.containers(&free, &room) == 0 && may_kill() {
            fits = self.room_by_killing(node, &room, &mut kill);
        }
        let fit = |exchange, kill| Fit {
            size: size.widen(),
            locality,
            requested,
            exchange,
            kill,
        };
        if fits {
            let mut exchange = None;
            if !from_reservation && continue_looking && (!wanted || must_unreserve) {
                let least = if must_unreserve { &missing } else { size };
                exchange = self.reservation_of(visit, least).map(Box::new);
                if exchange.is_none() {
                    return Answer::LocalitySkipped;
                }
            }
            return Answer::Allocate(fit(exchange, kill));
        }
        if !(wanted || from_reservation)
            || (continue_looking && !from_reservation && must_unreserve)
        {
            return Answer::LocalitySkipped;
        }
        debug_assert!(!fits, "slot {slot:?}");
        Answer::Reserve(fit(None, Vec::new()))
    }

    /// Collects containers to kill until the request fits.
    fn room_by_killing(
        &self,
        node: &Node,
        size: &ResourceVector<N>,
        kill: &mut Vec<Killable>,
    ) -> bool {
        let mut order = node.killable.clone();
        java_order::sort(&mut order, 0, |killable| {
            let id = killable.container;
            java_order::container_hash(id.app.cluster, id.app.sequence, id.number)
        });
        let mut room = node.free.narrow();
        for killable in order {
            kill.push(killable);
            room += killable.size.narrow();
            if self.state.calculator.fits_in(size, &room) && self.state.has_cores(size, &room) {
                return true;
            }
        }
        false
    }

    /// A reservation of the key that covers an amount, in the order of a hash map of nodes.
    fn reservation_of(
        &self,
        visit: &KeyVisit<'_, N>,
        least: &ResourceVector<N>,
    ) -> Option<Release> {
        let mut held = visit.asks.reserved.clone();
        java_order::sort(&mut held, 0, |held| held.java_hash);
        let found = held
            .into_iter()
            .find(|held| self.state.calculator.fits_in(least, &held.size.narrow()))?;
        Some(Release {
            app: visit.slot,
            key: visit.asks.key,
            number: found.number,
            node: found.node,
            size: found.size,
        })
    }
}
