//! Reservations: one for each node, and none that fits for longer than a round.
//!
//! A reservation counts for queue and user from its beginning, so that room on its node is all that it waits for.
//! Every look at the node ends it then. Types that the calculator does not count are compared as well: where those
//! do not fit, nothing is said.

use super::AuditBooks;
use super::rows::{Overdue, WaitingReservation};
use crate::api::{ContainerId, MAX_TYPES, NodeName, ResourceVector};

impl AuditBooks {
    /// Every node is looked at once in so many virtual ms, so that no reservation may fit for longer (R4).
    pub fn looks_every(&mut self, round_ms: u64) {
        self.overdue.round_ms = Some(round_ms);
    }

    /// Virtual time goes on.
    pub fn advance(&mut self, now_ms: u64) {
        self.overdue.now_ms = now_ms;
    }

    pub(super) fn reserve(
        &mut self,
        container: ContainerId,
        name: &NodeName,
        size: ResourceVector,
    ) {
        if !self.apps.contains_key(&container.app) {
            self.violated(
                "U8",
                format!("{container} is reserved after its application ended"),
            );
        }
        let Some(node) = self.node(name) else {
            let text = format!("{container} is reserved on {name}, not a node");
            self.violated("N4", text);
            return;
        };
        let before = self.nodes.row_mut(node).reserved.replace(container);
        if let Some(owner) = before.filter(|owner| owner.app != container.app) {
            let text = format!("{name} is reserved for {owner} and again for {container}");
            self.violated("R1", text);
        } else if before.is_some_and(|owner| owner != container) {
            self.violated("N5", format!("{name} has two reservations"));
        }
        let waiting = WaitingReservation { node, size };
        self.reserved.insert(container, waiting);
        self.refit(node);
    }

    /// Forgets a reservation; the number of the node it was on.
    pub(super) fn unreserve(&mut self, container: ContainerId) -> Option<usize> {
        if self.reserved.is_empty() {
            return None;
        }
        let node = self.reserved.remove(&container)?.node;
        self.judge(container, node);
        let entry = self.nodes.row_mut(node);
        if entry.reserved == Some(container) {
            entry.reserved = None;
        }
        Some(node)
    }

    /// Whether any container is reserved.
    #[must_use]
    pub fn has_reservations(&self) -> bool {
        !self.reserved.is_empty()
    }

    /// Notes whether the reservation on a node fits there now.
    pub(super) fn refit(&mut self, node: usize) {
        let entry = self.nodes.row(node);
        let Some(container) = entry.reserved else {
            return;
        };
        let Some(waiting) = self.reserved.get(&container) else {
            return;
        };
        let needed = entry.used + waiting.size;
        let overdue = &mut self.overdue;
        if (0..MAX_TYPES).all(|index| needed[index] <= entry.total[index]) {
            let now_ms = overdue.now_ms;
            overdue.fits_since.entry(container).or_insert(now_ms);
        } else {
            overdue.fits_since.remove(&container);
        }
    }

    /// Judges a reservation that ends, or stands at the end of a run.
    fn judge(&mut self, container: ContainerId, node: usize) {
        let Overdue {
            now_ms,
            round_ms,
            fits_since,
        } = &mut self.overdue;
        let Some(since) = fits_since.remove(&container) else {
            return;
        };
        let waited = *now_ms - since;
        if let Some(round) = round_ms.filter(|round| waited > *round) {
            let node = self.nodes.name(node);
            let text = format!(
                "{container} fits on {node} for {waited} ms, though every node is looked at in {round} ms"
            );
            self.violated("R4", text);
        }
    }

    /// The full check at the end of a run, and judges the reservations that stand.
    pub fn end(&mut self) {
        self.check();
        let standing = self.reserved.iter();
        let standing = standing.map(|(container, waiting)| (*container, waiting.node));
        let mut standing: Vec<(ContainerId, usize)> = standing.collect();
        standing.sort_unstable();
        for (container, node) in standing {
            self.judge(container, node);
        }
    }
}
