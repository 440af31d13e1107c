//! The nodes that a gang may use, looked at in parts before the gang is asked for.
//!
//! 1. From the first part on the table of nodes remembers which rows are written, as it does while gangs wait.
//! 2. Each part looks at some nodes of the partition. Others are served in between.
//! 3. Where all members have room they are planned, and their events are written (`prepared_members`). Slots for their
//!    containers are made.
//! 4. The gang is asked for with what was found. Before it is tried, nodes that were written meanwhile are looked at again.
//!
//! A change of the cluster, or of the nodes that the application excludes, has the preparation begin anew, some times at most.
//! A gang without one looks at all nodes when it is tried first.
//!
//! Tests: `tests/runtime/gang_turns.rs`.

use super::plan::plan;
use super::prepared_members::PreparedMembers;
use super::sites::GangSites;
use super::waiting::WaitingGang;
use crate::commit::containers::slots_ahead::SlotsAhead;
use crate::commit::ledger::Ledger;
use crate::id::AppSlot;
use crate::queue::GangAsk;
use crate::snapshot::State;

/// Preparations that an ask begins at most.
const MOST_BEGUN: u32 = 4;

/// Nodes that are looked at, and members that are placed, without a preparation.
const FEW: usize = 512;

/// An ask for a gang, and how far it is prepared. Whoever begins one asks for the gang with it in the end.
#[derive(Debug, Default)]
pub struct GangPreparation {
    begun: u32,
    under_way: Option<SitesUnderWay>,
}

/// What was found so far.
#[derive(Debug)]
struct SitesUnderWay {
    gang: WaitingGang,
    sites: GangSites,
    /// The position of the next node in the list of the partition.
    next: usize,
    /// Once all nodes were looked at.
    members: Option<PreparedMembers>,
    slots: SlotsAhead,
    is_whole: bool,
}

impl GangPreparation {
    /// The sites of a gang, if all of them were looked at for one like it, and its members if they are planned.
    pub(super) fn into_parts(
        self,
        gang: &WaitingGang,
    ) -> Option<(GangSites, Option<PreparedMembers>)> {
        let found = self.under_way?;
        let is_for = found.is_whole && found.gang.is_like(gang);
        is_for.then_some((found.sites, found.members))
    }

    /// Whether nodes are watched for it.
    pub(super) const fn has_begun(&self) -> bool {
        self.begun > 0
    }
}

impl Ledger {
    /// Goes on preparing an ask for a gang, with as many nodes, members and slots as the budget has. Whether it is prepared
    /// as far as it will be. Whether the ask is accepted is up to [`Self::ask_prepared_gang`].
    pub fn prepare_gang(
        &mut self,
        app: AppSlot,
        ask: &GangAsk,
        preparation: &mut GangPreparation,
        budget: &mut usize,
    ) -> bool {
        let state = &self.state;
        let known = preparation.under_way.take();
        let known = known.filter(|known| known.sites.is_of(state, &known.gang));
        let begun = known.or_else(|| self.begin_gang(app, ask, preparation, *budget));
        let Some(mut found) = begun else {
            return true;
        };
        found.go_on(&self.state, budget);
        if found.members.is_some() {
            let members = found.gang.minimum as usize;
            found.is_whole &= found.slots.go_on(&mut self.containers, members, budget);
        }
        preparation.under_way.insert(found).is_whole
    }

    /// Begins, and watches nodes; not for an ask that is refused, nor where nodes are few.
    fn begin_gang(
        &mut self,
        app: AppSlot,
        ask: &GangAsk,
        preparation: &mut GangPreparation,
        budget: usize,
    ) -> Option<SitesUnderWay> {
        let gang = self.gang_of(app, ask).ok()??;
        let nodes = self.state.partitions[gang.partition].nodes.len();
        let items = nodes.max(gang.minimum as usize);
        if items <= FEW.max(budget) || preparation.begun == MOST_BEGUN {
            return None;
        }
        if !preparation.has_begun() {
            self.gangs.prepared += 1;
            self.state.nodes.watch(true);
        }
        preparation.begun += 1;
        let sites = GangSites::begin(&self.state, &gang, self.gangs.written.len());
        Some(SitesUnderWay {
            gang,
            sites,
            next: 0,
            members: None,
            slots: SlotsAhead::default(),
            is_whole: false,
        })
    }
}

impl SitesUnderWay {
    /// Goes on with the nodes, then with the members.
    fn go_on(&mut self, state: &State, budget: &mut usize) {
        let nodes = &state.partitions[self.gang.partition].nodes;
        let left = nodes.get(self.next..).unwrap_or_default();
        let part = &left[..left.len().min(*budget)];
        for &node in part {
            self.sites.look_at(state, &self.gang, node);
        }
        *budget -= part.len();
        self.next += part.len();
        if self.next < nodes.len() || *budget == 0 {
            return;
        }
        if let Some(members) = &mut self.members {
            members.go_on(state, &self.gang, budget);
            self.is_whole = members.are_whole();
            return;
        }
        // A sort of the nodes, which is a part by itself.
        *budget = 0;
        let room = plan(&self.sites, &self.gang).ok();
        let planned = room.map(|room| PreparedMembers::plan(state, &self.gang, &self.sites, room));
        self.is_whole = planned.is_none();
        self.members = planned;
    }
}
