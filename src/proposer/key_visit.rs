//! One key of an application during a pass.

use crate::cluster::Reservation;
use crate::id::AppSlot;
use crate::policy::Limits;
use crate::queue::{App, KeyAsks};

/// One key of an application during a pass, with counters that the state does not know yet.
#[derive(Clone)]
pub(super) struct KeyVisit<'a, const N: usize> {
    pub(super) slot: AppSlot,
    pub(super) app: &'a App,
    pub(super) asks: &'a KeyAsks,
    pub(super) limits: &'a Limits<N>,
    pub(super) reserved: Option<&'a Reservation>,
    pub(super) opportunities: i32,
    pub(super) missed: i32,
    /// Whether it came to a node: neither its limits nor its place stopped it on all of them.
    pub(super) tried: bool,
}

impl<'a, const N: usize> KeyVisit<'a, N> {
    /// A visit that begins, with the counters of the key as the state has them.
    #[inline]
    pub(super) fn new(
        (slot, app): (AppSlot, &'a App),
        asks: &'a KeyAsks,
        limits: &'a Limits<N>,
        reserved: Option<&'a Reservation>,
    ) -> Self {
        Self {
            slot,
            app,
            asks,
            limits,
            reserved,
            opportunities: asks.opportunities,
            missed: asks.missed,
            tried: false,
        }
    }
}
