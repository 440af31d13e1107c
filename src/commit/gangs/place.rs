//! Placing the minimum of a gang: all of its members in one step of the only writer, or none.
//!
//! Tests: `tests/commit/gangs.rs`, and the model `loom-tests/tests/gangs.rs`.

use super::limits::{check_gang_limits, is_gang_within_user_limit};
use super::placed::PlacedGang;
use super::plan::{members, plan};
use super::prepared_members::WrittenMembers;
use super::sites::{GangSites, GroupRoom};
use super::waiting::WaitingGang;
use crate::accounting::{FairChange, mark_moved};
use crate::commit::event::GangStep;
use crate::commit::ledger::Ledger;
use crate::fast_path::FastPath;
use crate::id::{ContainerId, NameId, NodeSlot};
use crate::proposer::Proposal;
use crate::queue::{GangWait, PlaceAsk};
use crate::sync::{Mutant, injected};

impl Ledger {
    /// Places the minimum of a gang where limits and nodes allow all of it; `sites`: the nodes that it may use.
    ///
    /// 1. Check queues and nodes, which changes nothing.
    /// 2. Ask for the members, so that the user counts as one who asks.
    /// 3. Check the limit of the user; take the ask back where it is against the gang.
    /// 4. Apply every member. What is left of the ask are the elastic members.
    ///
    /// Fetches are answered before the last step and after it, and those of others within it.
    ///
    /// # Errors
    ///
    /// Why it waits; nothing of it is placed then.
    ///
    /// Cost: a look at each group of nodes; a sort of the nodes and that of the members where it is placed.
    pub(super) fn place_gang(
        &mut self,
        gang: &WaitingGang,
        sites: &GangSites,
    ) -> Result<(), GangWait> {
        let allowed = check_gang_limits(&self.state, gang)?;
        let room = plan(sites, gang)?;
        if allowed < gang.minimum {
            // Reservations of others count as used.
            return Err(GangWait::Room { found: allowed });
        }
        self.ask_for_gang(gang, i64::from(gang.minimum) + i64::from(gang.elastic));
        if !is_gang_within_user_limit(&mut self.state, gang) {
            self.ask_for_gang(gang, 0);
            return Err(GangWait::UserLimit);
        }
        let (nodes, written) = self.planned(gang, sites, room);
        // None of the members is placed yet.
        self.answer_fetches(None);
        let members = self.apply_gang(gang, &nodes, written);
        // All of them are.
        self.answer_fetches(None);
        let (containers, names) = (&self.containers, &self.registry);
        let lives = |&id: &ContainerId| containers.by_name(names, id).is_some();
        self.gangs.placed.add(PlacedGang::new(members), lives);
        let waited_ms = self.clock.now_ms().saturating_sub(gang.asked_ms);
        self.outbox.push(gang.event(GangStep::Placed { waited_ms }));
        Ok(())
    }

    /// Asks for so many containers under the key of a gang.
    fn ask_for_gang(&mut self, gang: &WaitingGang, count: i64) {
        let ask = PlaceAsk {
            place: NameId::ANY,
            size: gang.size.into(),
            // As the ask was checked.
            count: i32::try_from(count).unwrap_or(i32::MAX),
            relax: true,
            partition: Some(gang.partition),
        };
        let (app, key) = (gang.slot, gang.key);
        self.gangs.asked = true;
        self.leaves.ask_anywhere(&mut self.state, app, key, ask);
        mark_moved(&mut self.state, app, FairChange::Demand);
    }

    /// The node of each member, and what is written of them where they were prepared.
    fn planned(
        &mut self,
        gang: &WaitingGang,
        sites: &GangSites,
        room: GroupRoom,
    ) -> (Vec<NodeSlot>, Option<WrittenMembers>) {
        let prepared = self.gangs.members.take();
        let prepared = prepared.filter(|prepared| prepared.hold(&self.state, gang, sites));
        let Some(prepared) = prepared else {
            return (members(sites, room, gang.minimum), None);
        };
        let (nodes, written) = prepared.into_parts();
        debug_assert_eq!(
            nodes,
            members(sites, room, gang.minimum),
            "members are prepared for the sites as they are"
        );
        (nodes, Some(written))
    }

    /// Places the members of a gang that are asked for, each on its node; returns their containers. `written`: what
    /// is prepared of them.
    fn apply_gang(
        &mut self,
        gang: &WaitingGang,
        nodes: &[NodeSlot],
        written: Option<WrittenMembers>,
    ) -> Vec<ContainerId> {
        if !FastPath::GangTogether.is_taken() || injected(Mutant::GangInPart) {
            let events = self.outbox.event_count();
            self.apply_each(gang, nodes);
            return self.outbox.allocated_since(events).collect();
        }
        // Must equal [`Self::apply_each`].
        let each = cfg!(debug_assertions).then(|| {
            let mut copy = self.trial_copy();
            copy.apply_each(gang, nodes);
            copy
        });
        let row = &self.state.apps[gang.slot];
        let numbers = row.next_container..row.next_container + gang.minimum;
        let ids = || numbers.map(|number| row.container(number)).collect();
        let (ids, events) = match written {
            Some(written) => (written.containers, Some(written.events)),
            None => (ids(), None),
        };
        let fetched = self.fetches.in_pauses();
        self.apply_together(gang, nodes, events);
        // A fetch that was carried out meanwhile is not in the copy.
        let compared = each.filter(|_| self.fetches.in_pauses() == fetched);
        debug_assert!(
            compared.is_none_or(|each| self.has_placed_alike(&each, gang.slot, nodes)),
            "members placed together are as those placed one after the other"
        );
        ids
    }

    fn apply_each(&mut self, gang: &WaitingGang, nodes: &[NodeSlot]) {
        for &node in nodes {
            if node != nodes[0] && injected(Mutant::GangInPart) {
                break;
            }
            let asks = self.state.apps[gang.slot].key(gang.key);
            let Some(asks) = asks.filter(|asks| asks.is_outstanding()) else {
                debug_assert!(false, "the members are asked for");
                return;
            };
            let size = gang.size.into();
            let proposal = Proposal::anywhere(&self.state, gang.slot, asks, node, size);
            self.apply(&proposal);
        }
    }
}
