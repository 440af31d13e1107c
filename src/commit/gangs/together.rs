//! The members of a gang are placed together: what one proposal after the other comes to, at once.
//!
//! Members are alike: one size, one key, asked anywhere, each on a node with room for it. So their records, lists and
//! events are written one list after the other, and what they are charged is summed
//! ([`place_together`]).
//!
//! Tests: `tests/commit/gangs.rs`.

use super::prepared_members::event;
use super::waiting::WaitingGang;
use crate::accounting::{PlacedTogether, place_together};
use crate::commit::containers::container::{Container, GiveBack, PlacedAs, SoleAsk};
use crate::commit::event::Event;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NameId, NodeSlot};
use crate::resource::with_width;

impl Ledger {
    /// Places the members of a gang that are asked for, each on its node.
    // Must equal [`Self::apply_each`].
    pub(super) fn apply_together(
        &mut self,
        gang: &WaitingGang,
        members: &[NodeSlot],
        events: Option<Vec<Event>>,
    ) {
        let (app, count) = (gang.slot, gang.minimum);
        let row = &self.state.apps[app];
        let asked = row.keys.find(gang.key).ok().and_then(|key| {
            let ask = row.keys[key].at(NameId::ANY)?;
            Some((key, SoleAsk::of(ask)))
        });
        let Some((key, ask)) = asked else {
            debug_assert!(false, "the members are asked for");
            return;
        };
        self.leaves.skipped_mut().stop(&mut self.state, app);
        self.leaves.user_of(&mut self.state, app);
        let leaf = self.state.apps[app].leaf;
        // After each member but the last one the gang still asks.
        let skipped = self.leaves.skipped_mut();
        skipped.join_idle_often(&mut self.state, leaf, count.saturating_sub(1));
        let first = self.add_members((gang, ask), members);
        self.add_events((gang, first), members, events);
        // The members are listed and not charged yet.
        self.answer_fetches(Some(app));
        let ended = with_width!(self.state.calculator, N => {
            let placed = PlacedTogether::<N> {
                app,
                key,
                partition: gang.partition,
                size: gang.size.narrow(),
                count,
            };
            place_together(&mut self.state, &placed, members)
        });
        if ended {
            let state = &mut self.state;
            self.leaves.stop_asking_without_keys(state, app);
        }
        self.leaves.skipped_mut().join_idle(&mut self.state, leaf);
    }

    /// Adds the records of members, and their places in lists; the number of the first.
    fn add_members(&mut self, (gang, ask): (&WaitingGang, SoleAsk), members: &[NodeSlot]) -> u32 {
        let (app, size, now_ms) = (gang.slot, gang.size, self.clock.now_ms());
        let first = self.state.apps[app].take_numbers(gang.minimum);
        let (row, containers) = (&self.state.apps[app], &mut self.containers);
        let order = containers.next_order(app);
        let mut placed = Vec::with_capacity(members.len());
        for (by, &node) in (0_u32..).zip(members) {
            let stamps = (containers.next_stamp(), now_ms);
            let taken = i32::try_from(by).unwrap_or(i32::MAX);
            let give_back = GiveBack::Anywhere(SoleAsk {
                count: ask.count - taken,
                ..ask
            });
            placed.push(containers.store(|| {
                let (id, of) = (row.container(first + by), (app, gang.key));
                let mut container = Container::waiting(id, of, (node, size.into()), stamps);
                container.fetch_order = order.wrapping_add(by);
                container.set_placed(PlacedAs {
                    requested_partition: gang.partition,
                    borrowed: false,
                    give_back,
                });
                container
            }));
        }
        containers.list_together((app, first), &placed, members);
        first
    }

    /// Adds the events of members, of which the first one has a number.
    fn add_events(
        &mut self,
        (gang, first): (&WaitingGang, u32),
        members: &[NodeSlot],
        prepared: Option<Vec<Event>>,
    ) {
        if let Some(events) = prepared {
            return self.outbox.append_allocated(events);
        }
        let (state, row) = (&self.state, &self.state.apps[gang.slot]);
        let queue = &state.queues[row.leaf].settings.path;
        let numbers = first..first + gang.minimum;
        let of = |(&node, number)| event(state, gang, (row.container(number), node), queue);
        self.outbox
            .extend_allocated(members.iter().zip(numbers).map(of));
    }

    /// Whether a gang was placed as in another ledger, where its members were placed one after the other.
    ///
    /// Cost: the text of the rows that the gang concerns.
    pub(super) fn has_placed_alike(
        &self,
        other: &Self,
        app: AppSlot,
        members: &[NodeSlot],
    ) -> bool {
        let rows = |of: &Self| {
            let (state, row) = (&of.state, &of.state.apps[app]);
            let queues = state.chain(row.leaf).map(|queue| &state.queues[queue]);
            let nodes = members
                .iter()
                .map(|&node| (&state.nodes[node], of.containers.placed_on(node)));
            let live = of.containers.live_of(app);
            let live = live.map(|slot| (slot, of.containers.get(slot)));
            format!(
                "{row:?} {:?} {:?} {:?} {:?} {:?}",
                state.users[row.user],
                queues.collect::<Vec<_>>(),
                nodes.collect::<Vec<_>>(),
                live.collect::<Vec<_>>(),
                of.containers.unfetched(app).collect::<Vec<_>>(),
            )
        };
        let events = |of: &Self, count: usize| {
            let events = of.outbox.last_events(count);
            format!("{events:?}")
        };
        let count = other.outbox.event_count();
        rows(self) == rows(other) && events(self, count) == events(other, count)
    }
}
