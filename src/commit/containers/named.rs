//! Containers by what calls and reports name them.
//!
//! Tests: `tests/commit/updates.rs`, `tests/inputs/requests.rs`.

use super::slot::ContainerSlot;
use super::store::Containers;
use crate::commit::registry::Registry;
use crate::id::{AppSlot, ContainerId, NodeSlot, SchedulerKey, Set};
use crate::queue::NodeReport;

impl Containers {
    /// A live container of an application that may change.
    pub(in crate::commit) fn updatable(&self, app: AppSlot, number: u32) -> Option<ContainerSlot> {
        let slot = self.live(app, number)?;
        (!self.get(slot).is_auxiliary()).then_some(slot)
    }

    /// The key of the increase of a container.
    // As SchedulerRequestKey.create.
    pub(in crate::commit) fn update_key(&self, app: AppSlot, number: u32) -> Option<SchedulerKey> {
        let slot = self.live(app, number)?;
        Some(self.get(slot).key.increasing(number))
    }

    /// Containers that a report names though the node has none of that id.
    pub(in crate::commit) fn unknown_in(
        &self,
        node: NodeSlot,
        report: &NodeReport,
    ) -> Vec<ContainerId> {
        let NodeReport::Exactly { launched, exited } = report else {
            return Vec::new();
        };
        if launched.is_empty() && exited.is_empty() {
            return Vec::new();
        }
        let placed = self.placed_on(node).iter();
        let placed: Set<_> = placed.map(|&slot| self.get(slot).id).collect();
        let said = launched.iter().chain(exited).copied();
        let mut unknown: Vec<_> = said.filter(|id| !placed.contains(id)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    }

    /// A live container by id, reservations excluded.
    pub(in crate::commit) fn by_name(
        &self,
        names: &Registry,
        id: ContainerId,
    ) -> Option<ContainerSlot> {
        let live = self.live(names.app(id.app)?, id.number);
        // A late report about an earlier attempt may name the number of another container.
        live.filter(|&slot| self.get(slot).id == id)
    }
}
