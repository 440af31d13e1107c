//! The nodes that a waiting gang may use, kept from one look to the next.
//!
//! 1. While gangs wait, the table of nodes remembers which rows are written.
//! 2. Before a gang is tried, its sites on those nodes are worked out anew, and the sums of their groups with them.
//! 3. A change of the cluster or of what the gang may use begins with a look at all nodes.
//!
//! So a call costs a waiting gang a look at the nodes that changed. Builds with assertions compare with a look at all.
//!
//! Tests: `tests/commit/gangs.rs`.

use std::collections::BTreeMap;

use super::waiting::WaitingGang;
use crate::cluster::{Node, NodeState};
use crate::id::{NameId, NodeSlot};
use crate::queue::{Blacklist, Closeness};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// What the nodes of a group have in common: a rack, or the value of an attribute.
type SiteGroup = (NameId, String);

/// A node that a gang may use: its group, and members that fit now and on the empty node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Site {
    group: u32,
    now: u32,
    empty: u32,
}

/// Members that fit on the nodes of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupRoom {
    /// Which group it is.
    pub(super) group: u32,
    /// As things are.
    pub(super) now: u64,
    /// When the nodes are empty.
    pub(super) empty: u64,
    nodes: usize,
}

/// The sites of one gang.
#[derive(Clone, Debug, Default)]
pub(super) struct GangSites {
    /// The state that they are of, but for nodes that were written since.
    epoch: Option<u64>,
    held: Vec<NodeSlot>,
    blacklist: Blacklist,
    /// Of the nodes that were written while gangs are served, those that it has looked at.
    seen: usize,
    /// By the slot of the node.
    sites: Vec<Option<Site>>,
    /// Positions of the groups among the rooms, in the order in which they are tried.
    groups: BTreeMap<SiteGroup, u32>,
    rooms: Vec<GroupRoom>,
    /// How often a site became another one.
    changes: u64,
}

impl GangSites {
    /// The sites by a look at all nodes; `held`: the nodes that the gang holds, ascending.
    pub(super) fn of(state: &State, gang: &WaitingGang, held: &[NodeSlot]) -> Self {
        let nodes = &state.partitions[gang.partition].nodes;
        Self::among(state, gang, held, nodes)
    }

    /// The sites on some nodes.
    pub(super) fn among(
        state: &State,
        gang: &WaitingGang,
        held: &[NodeSlot],
        nodes: &[NodeSlot],
    ) -> Self {
        let mut sites = Self {
            held: held.to_vec(),
            ..Self::begin(state, gang, 0)
        };
        for &node in nodes {
            sites.look_at(state, gang, node);
        }
        sites
    }

    /// No sites yet of a gang that holds no node. Of the nodes that were written so many were so before.
    pub(super) fn begin(state: &State, gang: &WaitingGang, written: usize) -> Self {
        Self {
            epoch: Some(state.epoch),
            blacklist: state.apps[gang.slot].blacklist.clone(),
            seen: written,
            ..Self::default()
        }
    }

    /// Whether neither the cluster nor what the gang's application excludes changed since they were begun.
    pub(super) fn is_of(&self, state: &State, gang: &WaitingGang) -> bool {
        self.epoch == Some(state.epoch) && self.blacklist == state.apps[gang.slot].blacklist
    }

    /// Brings the sites up to date after these nodes were written.
    ///
    /// Cost: a look at each of them; at all nodes of the partition after a change of the cluster, of the nodes that
    /// the gang holds, or of those that its application excludes.
    pub(super) fn follow(
        &mut self,
        state: &State,
        gang: &WaitingGang,
        held: &[NodeSlot],
        written: &[u32],
    ) {
        if self.is_of(state, gang) && self.held == held {
            for &node in &written[self.seen..] {
                self.look_at(state, gang, NodeSlot(node));
            }
        } else {
            *self = Self::of(state, gang, held);
        }
        self.seen = written.len();
        debug_assert!(
            self.equals(&Self::of(state, gang, held)),
            "the sites of a gang follow the nodes"
        );
    }

    /// The nodes that were written before are seen by every gang.
    pub(super) fn begin_anew(&mut self) {
        self.seen = 0;
    }

    fn equals(&self, other: &Self) -> bool {
        let named = |of: &Self| {
            let rooms = of.groups.iter();
            let rooms = rooms.map(|(group, &at)| (group.clone(), of.rooms[at as usize]));
            let rooms = rooms.map(|(group, room)| (group, (room.now, room.empty, room.nodes)));
            rooms
                .filter(|(_, (_, _, nodes))| *nodes > 0)
                .collect::<Vec<_>>()
        };
        let plain = |of: &Self| {
            let sites = of.sites.iter().enumerate();
            let sites = sites.filter_map(|(at, site)| site.map(|of| (at, of.now, of.empty)));
            sites.collect::<Vec<_>>()
        };
        named(self) == named(other) && plain(self) == plain(other)
    }

    /// Works out the site on a node anew.
    pub(super) fn look_at(&mut self, state: &State, gang: &WaitingGang, node: NodeSlot) {
        if self.sites.len() <= node.index() {
            self.sites.resize(node.index() + 1, None);
        }
        let before = self.sites[node.index()].take();
        if let Some(before) = before {
            let room = &mut self.rooms[before.group as usize];
            room.now -= u64::from(before.now);
            room.empty -= u64::from(before.empty);
            room.nodes -= 1;
        }
        let Some((group, now, empty)) = self.site(state, gang, node) else {
            self.changes += u64::from(before.is_some());
            return;
        };
        let group = self.group_at(group);
        let room = &mut self.rooms[group as usize];
        room.now += u64::from(now);
        room.empty += u64::from(empty);
        room.nodes += 1;
        let site = Some(Site { group, now, empty });
        self.changes += u64::from(before != site);
        self.sites[node.index()] = site;
    }

    /// How often a site became another one, for comparisons.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Position of a group among the rooms, a new one where it is not known.
    fn group_at(&mut self, group: SiteGroup) -> u32 {
        // There are no more groups than nodes, of which slots are 32 bits wide.
        let next = u32::try_from(self.rooms.len()).unwrap_or(u32::MAX);
        let at = *self.groups.entry(group).or_insert(next);
        if at == next {
            self.rooms.push(GroupRoom {
                group: at,
                ..GroupRoom::default()
            });
        }
        at
    }

    /// The group of a node with the members that fit now and when it is empty; nothing where the gang may not use it.
    fn site(
        &self,
        state: &State,
        gang: &WaitingGang,
        node: NodeSlot,
    ) -> Option<(SiteGroup, u32, u32)> {
        let row = &state.nodes[node];
        let own = || self.held.binary_search(&node).is_ok();
        let open = row.takes_containers() || (row.state == NodeState::Held && own());
        let excluded = self.blacklist.contains(row.host) || self.blacklist.contains(row.rack);
        let foreign = row.partition != gang.partition;
        if !open || foreign || excluded || row.reserved.is_some() {
            return None;
        }
        let members = |room: &ResourceVector| members_in(state, &gang.size, room, gang.minimum);
        let empty = members(&row.total.get());
        if empty == 0 {
            return None;
        }
        let group = group_of(row, &gang.close)?;
        Some((group, members(&row.free.get()), empty))
    }

    /// The room of each group that has nodes, in the order in which groups are tried.
    pub(super) fn rooms(&self) -> impl DoubleEndedIterator<Item = GroupRoom> {
        let rooms = self.groups.values().map(|&at| self.rooms[at as usize]);
        rooms.filter(|room| room.nodes > 0)
    }

    /// The nodes of a group with the members that fit now and on the empty node, those with the most room first.
    pub(super) fn by_room(&self, room: GroupRoom) -> Vec<(NodeSlot, u32, u32)> {
        let own = self.sites.iter().enumerate();
        let own = own.filter_map(|(at, site)| {
            let site = site.filter(|site| site.group == room.group)?;
            Some((NodeSlot::at(at), site.now, site.empty))
        });
        let mut own: Vec<_> = own.collect();
        // Those with equal room stay in the order of their slots.
        own.sort_by_key(|&(_, now, _)| std::cmp::Reverse(now));
        own
    }
}

fn group_of(row: &Node, close: &Closeness) -> Option<SiteGroup> {
    match close {
        Closeness::Anywhere => Some((NameId::ANY, String::new())),
        Closeness::Rack => Some((row.rack, String::new())),
        Closeness::Attribute(name) => {
            let mut attributes = row.attributes.iter();
            let (_, value) = attributes.find(|(known, _)| known == name)?;
            Some((NameId::ANY, value.clone()))
        }
    }
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
    let (mut fit, mut above) = (1_u32, most.saturating_add(1));
    // A node mostly has room for few of them.
    while let Some(twice) = fit.checked_mul(2).filter(|&twice| twice < above) {
        if !fits(twice) {
            above = twice;
            break;
        }
        fit = twice;
    }
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
