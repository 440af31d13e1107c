//! Where the minimum of a gang goes, from its sites alone: which nodes, and how many members on each.
//!
//! A gang on one rack, or on one value of an attribute, is planned on each of them; the one with the least room that is
//! enough is taken. Nodes with the most room come first, so that the members stand on few nodes.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::sites::{GangSites, GroupRoom};
use super::waiting::WaitingGang;
use crate::id::NodeSlot;
use crate::queue::GangWait;
use crate::snapshot::State;

/// The group of nodes that takes the minimum of a gang.
///
/// # Errors
///
/// How far the room goes.
///
/// Cost: a look at each group.
pub(super) fn plan(sites: &GangSites, gang: &WaitingGang) -> Result<GroupRoom, GangWait> {
    let wanted = u64::from(gang.minimum);
    let enough = sites.rooms().filter(|room| room.now >= wanted);
    if let Some(room) = enough.min_by_key(|room| room.now) {
        return Ok(room);
    }
    let most = |of: fn(GroupRoom) -> u64| {
        let most = sites.rooms().map(of).max().unwrap_or(0);
        // Below the minimum, which is 32 bits wide.
        u32::try_from(most.min(wanted)).unwrap_or(gang.minimum)
    };
    let empty = most(|room| room.empty);
    Err(if empty < gang.minimum {
        GangWait::Cluster { found: empty }
    } else {
        GangWait::Room {
            found: most(|room| room.now),
        }
    })
}

/// The node of each member of the minimum of a gang, on a group that is enough. Members of one node come together.
///
/// Cost: a sort of the nodes of the group.
pub(super) fn members(sites: &GangSites, room: GroupRoom, minimum: u32) -> Vec<NodeSlot> {
    let mut members = Vec::with_capacity(minimum as usize);
    for (node, now, _) in sites.by_room(room) {
        let left = minimum as usize - members.len();
        if left == 0 {
            break;
        }
        members.extend(std::iter::repeat_n(node, left.min(now as usize)));
    }
    members
}

/// The nodes to hold for a gang: those of one group, with the most room first, until they are enough when they
/// are empty. Nothing where no group is enough.
pub(super) fn nodes_to_hold(state: &State, gang: &WaitingGang) -> Option<Vec<NodeSlot>> {
    let sites = GangSites::of(state, gang, &[]);
    let wanted = u64::from(gang.minimum);
    let enough = sites.rooms().filter(|room| room.empty >= wanted);
    // The first of several with equal room, in the order of the groups.
    let room = enough.rev().max_by_key(|room| room.now)?;
    let mut chosen = Vec::new();
    let mut sum = 0_u64;
    for (node, _, empty) in sites.by_room(room) {
        if sum >= wanted {
            break;
        }
        sum += u64::from(empty);
        chosen.push(node);
    }
    chosen.sort_unstable();
    Some(chosen)
}

/// Whether nodes are enough for a gang when they are empty.
pub(super) fn are_enough(state: &State, gang: &WaitingGang, nodes: &[NodeSlot]) -> bool {
    let sites = GangSites::among(state, gang, nodes, nodes);
    let wanted = u64::from(gang.minimum);
    sites.rooms().any(|room| room.empty >= wanted)
}
