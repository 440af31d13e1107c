//! The nodes that a gang may use, looked at in parts before the gang is asked for.
//!
//! 1. From the first part on the table of nodes remembers which rows are written, as it does while gangs wait.
//! 2. Each part looks at some nodes of the partition. Others are served in between.
//! 3. The gang is asked for with what was found. Before it is tried, nodes that were written meanwhile are looked at again.
//!
//! A change of the cluster, or of the nodes that the application excludes, has the preparation begin anew, some times at most.
//! A gang without one looks at all nodes when it is tried first.
//!
//! Tests: `tests/runtime/gang_turns.rs`.

use super::sites::GangSites;
use super::waiting::WaitingGang;
use crate::commit::ledger::Ledger;
use crate::id::AppSlot;
use crate::queue::GangAsk;
use crate::snapshot::State;

/// Preparations that an ask begins at most.
const MOST_BEGUN: u32 = 4;

/// Nodes that are looked at without a preparation.
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
    is_whole: bool,
}

impl GangPreparation {
    /// The sites of a gang, if all of them were looked at for one like it.
    pub(super) fn into_sites(self, gang: &WaitingGang) -> Option<GangSites> {
        let found = self.under_way?;
        (found.is_whole && found.gang.is_like(gang)).then_some(found.sites)
    }

    /// Whether nodes are watched for it.
    pub(super) const fn has_begun(&self) -> bool {
        self.begun > 0
    }
}

impl Ledger {
    /// Goes on preparing an ask for a gang, with a look at as many nodes as the budget has; whether it is prepared as far
    /// as it will be. Whether the ask is accepted is up to [`Self::ask_prepared_gang`].
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
        if nodes <= FEW.max(budget) || preparation.begun == MOST_BEGUN {
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
            is_whole: false,
        })
    }
}

impl SitesUnderWay {
    fn go_on(&mut self, state: &State, budget: &mut usize) {
        let nodes = &state.partitions[self.gang.partition].nodes;
        let left = nodes.get(self.next..).unwrap_or_default();
        let part = &left[..left.len().min(*budget)];
        for &node in part {
            self.sites.look_at(state, &self.gang, node);
        }
        *budget -= part.len();
        self.next += part.len();
        self.is_whole = self.next >= nodes.len();
    }
}
