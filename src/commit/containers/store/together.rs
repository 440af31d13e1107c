//! Containers of one application that are placed together: one list after the other, so that what stands together is
//! written together.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::Containers;
use crate::commit::containers::slot::ContainerSlot;
use crate::id::{AppSlot, NodeSlot};

impl Containers {
    /// The position of the next container among those that an application has not fetched.
    pub(in crate::commit) fn next_order(&self, app: AppSlot) -> u32 {
        self.by_app[app.index()].unfetched.next_order()
    }

    /// Lists containers that are placed together at their application and their nodes. Numbers go up from the first one, and
    /// so does the position among those that are not fetched.
    pub(in crate::commit) fn list_together(
        &mut self,
        (app, first): (AppSlot, u32),
        placed: &[ContainerSlot],
        nodes: &[NodeSlot],
    ) {
        self.live.changed(app).extend(first, placed);
        let of_app = &mut self.by_app[app.index()];
        of_app.unfetched.extend(placed);
        of_app.spaces += u32::try_from(placed.len()).unwrap_or(u32::MAX);
        for (&slot, node) in placed.iter().zip(nodes) {
            self.by_node[node.index()].push(slot);
        }
    }
}
