//! Where the minimum of a gang goes, from a state alone: which nodes, and how many members on each.
//!
//! A gang on one rack, or on one value of an attribute, is planned on each of them; the one with the least room that is
//! enough is taken. Nodes with the most room come first, so that the members stand on few nodes.
//!
//! Tests: `tests/commit/gangs.rs`.

use std::collections::BTreeMap;

use super::WaitingGang;
use crate::cluster::{Node, NodeState};
use crate::id::{NameId, NodeSlot};
use crate::queue::{Closeness, GangWait};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// Nodes with the number of members that go there.
pub(super) type GangPlaces = Vec<(NodeSlot, u32)>;

/// A node that a gang may use: members that fit now, and on the empty node.
#[derive(Clone, Copy, Debug)]
struct Site {
    node: NodeSlot,
    now: u32,
    empty: u32,
}

/// What the nodes of a group have in common: a rack, or the value of an attribute.
type SiteGroup<'a> = (NameId, &'a str);

/// The sites of each group.
type SiteGroups<'a> = BTreeMap<SiteGroup<'a>, Vec<Site>>;

/// Places the minimum of a gang; `held`: the nodes that it holds, ascending.
///
/// # Errors
///
/// How far the room goes.
///
/// Cost: a look at each node of the partition, and a sort of those with room.
pub(super) fn plan(
    state: &State,
    gang: &WaitingGang,
    held: &[NodeSlot],
) -> Result<GangPlaces, GangWait> {
    let groups = groups(state, gang, held);
    let sum = |sites: &Vec<Site>, of: fn(&Site) -> u32| -> u64 {
        sites.iter().map(|site| u64::from(of(site))).sum()
    };
    let wanted = u64::from(gang.minimum);
    let rooms = groups
        .values()
        .map(|sites| (sum(sites, |site| site.now), sites));
    if let Some((_, sites)) = rooms
        .filter(|&(now, _)| now >= wanted)
        .min_by_key(|room| room.0)
    {
        return Ok(places(sites, gang.minimum));
    }
    let most = |of: fn(&Site) -> u32| {
        let most = groups
            .values()
            .map(|sites| sum(sites, of))
            .max()
            .unwrap_or(0);
        // Below the minimum, which is 32 bits wide.
        u32::try_from(most.min(wanted)).unwrap_or(gang.minimum)
    };
    let empty = most(|site| site.empty);
    Err(if empty < gang.minimum {
        GangWait::Cluster { found: empty }
    } else {
        GangWait::Room {
            found: most(|site| site.now),
        }
    })
}

/// The nodes to hold for a gang: those of one group, with the most room first, until they are enough when they
/// are empty. Nothing where no group is enough.
pub(super) fn nodes_to_hold(state: &State, gang: &WaitingGang) -> Option<Vec<NodeSlot>> {
    let groups = groups(state, gang, &[]);
    let enough = |sites: &&Vec<Site>| {
        let empty: u64 = sites.iter().map(|site| u64::from(site.empty)).sum();
        empty >= u64::from(gang.minimum)
    };
    let now = |sites: &&Vec<Site>| -> u64 { sites.iter().map(|site| u64::from(site.now)).sum() };
    // The first of several with equal room, in the order of the groups.
    let best = groups.values().filter(enough).rev().max_by_key(now)?;
    let mut chosen = Vec::new();
    let mut sum = 0_u64;
    for site in by_room(best) {
        if sum >= u64::from(gang.minimum) {
            break;
        }
        sum += u64::from(site.empty);
        chosen.push(site.node);
    }
    chosen.sort_unstable();
    Some(chosen)
}

/// Whether nodes are enough for a gang when they are empty.
pub(super) fn are_enough(state: &State, gang: &WaitingGang, nodes: &[NodeSlot]) -> bool {
    let groups = groups(state, gang, nodes);
    let empty = |sites: &Vec<Site>| -> u64 {
        let own = sites
            .iter()
            .filter(|site| nodes.binary_search(&site.node).is_ok());
        own.map(|site| u64::from(site.empty)).sum()
    };
    groups
        .values()
        .any(|sites| empty(sites) >= u64::from(gang.minimum))
}

fn groups<'a>(state: &'a State, gang: &WaitingGang, held: &[NodeSlot]) -> SiteGroups<'a> {
    let mut groups = SiteGroups::new();
    let blacklist = &state.apps[gang.slot].blacklist;
    for &node in &state.partitions[gang.partition].nodes {
        let row = &state.nodes[node];
        let own = || held.binary_search(&node).is_ok();
        let open = row.state == NodeState::Running || (row.state == NodeState::Held && own());
        let excluded = blacklist.contains(&row.host) || blacklist.contains(&row.rack);
        if !open || excluded || row.reserved.is_some() {
            continue;
        }
        let Some(group) = group_of(row, &gang.close) else {
            continue;
        };
        let members = |room| members_in(state, &gang.size, room, gang.minimum);
        let site = Site {
            node,
            now: members(&row.free.get()),
            empty: members(&row.total.get()),
        };
        if site.empty > 0 {
            groups.entry(group).or_default().push(site);
        }
    }
    groups
}

fn group_of<'a>(row: &'a Node, close: &Closeness) -> Option<SiteGroup<'a>> {
    match close {
        Closeness::Anywhere => Some((NameId::ANY, "")),
        Closeness::Rack => Some((row.rack, "")),
        Closeness::Attribute(name) => {
            let mut attributes = row.attributes.iter();
            let (_, value) = attributes.find(|(known, _)| known == name)?;
            Some((NameId::ANY, value))
        }
    }
}

/// Sites with the most room first.
fn by_room(sites: &[Site]) -> Vec<Site> {
    let mut sites = sites.to_vec();
    sites.sort_by_key(|site| (std::cmp::Reverse(site.now), site.node));
    sites
}

fn places(sites: &[Site], minimum: u32) -> GangPlaces {
    let mut left = minimum;
    let mut places = GangPlaces::new();
    for site in by_room(sites) {
        let count = site.now.min(left);
        if count == 0 {
            break;
        }
        places.push((site.node, count));
        left -= count;
    }
    places
}

/// How many members fit in a room, but at most so many.
pub(super) fn members_in(
    state: &State,
    size: &ResourceVector,
    room: &ResourceVector,
    most: u32,
) -> u32 {
    let fits = |count: u32| {
        let all = size.checked_times(i64::from(count));
        all.is_some_and(|all| state.calculator.fits_in(&all, room) && state.has_cores(&all, room))
    };
    if !fits(1) {
        return 0;
    }
    let (mut fit, mut above) = (1, most.saturating_add(1));
    while above - fit > 1 {
        let middle = fit + (above - fit) / 2;
        if fits(middle) {
            fit = middle;
        } else {
            above = middle;
        }
    }
    fit
}
