//! What the books come to: sums over nodes, containers and reservations.

use super::books::{AppBook, BookedContainer, Books, all_of};
use crate::api::{ApplicationId, ContainerId, ResourceVector};

impl Books {
    /// Sum of the nodes of a partition.
    pub(super) fn total(&self, label: &str) -> ResourceVector {
        let nodes = self.nodes.values().filter(|node| node.label == label);
        nodes.fold(ResourceVector::NONE, |sum, node| sum + node.total)
    }

    /// Containers and reservations, with their applications.
    pub(super) fn charged(&self) -> impl Iterator<Item = (&AppBook, &BookedContainer)> {
        let all = self.live.iter().chain(&self.reserved);
        all.filter_map(|(id, held)| Some((self.apps.get(&id.app)?, held)))
    }

    /// Reservations, with their applications.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&AppBook, &BookedContainer)> {
        let all = self.reserved.iter();
        all.filter_map(|(id, held)| Some((self.apps.get(&id.app)?, held)))
    }

    /// Reservations of an application.
    pub(super) fn reserved_by(
        &self,
        app: ApplicationId,
    ) -> impl Iterator<Item = (&ContainerId, &BookedContainer)> {
        self.reserved.range(all_of(app))
    }

    /// Containers and reservations of a queue on a partition.
    pub(super) fn used(&self, path: &str, label: &str) -> ResourceVector {
        let below = |leaf: &str| {
            let rest = leaf.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.charged()
            .filter(|(app, held)| below(&app.leaf) && self.nodes[&held.node].label == label)
            .fold(ResourceVector::NONE, |sum, (_, held)| sum + held.size)
    }
}
