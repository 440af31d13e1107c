//! A proposer's view: its working copy of the state, with its own decisions applied to it.

use std::sync::Arc;

use super::batch::{BATCH, Batch, Batches};
use super::index::NodeIndex;
use super::lanes::Lanes;
use crate::commit::{Followed, apply_in_wave, apply_to_copy, charge_wave, observe_on_copy};
use crate::id::{NodeSlot, PartitionId, Version};
use crate::proposer::{
    Candidates, FitIndex, Observation, Outcome, Proposal, propose, wave_length, wave_node,
};
use crate::queue::Exclusivity;
use crate::resource::with_width;
use crate::snapshot::{Snapshot, State};

/// What became of a decision in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    /// Something is proposed, and the view follows it.
    Followed,
    /// Something is proposed that only the ledger can follow.
    Ahead,
    /// A reservation is merely kept, or counters moved: no progress.
    Waiting,
    /// Nothing.
    Nothing,
}

/// The working copy and what is derived from it.
#[derive(Debug)]
pub(super) struct View {
    /// The copy.
    pub(super) state: State,
    seen: Arc<Snapshot>,
    lanes: Lanes,
    /// Whether some user asks for nothing more since then, by own decisions.
    quiet_user: bool,
}

impl View {
    pub(super) fn new(seen: Arc<Snapshot>, share: (usize, usize), batches: &Batches) -> Self {
        let mut view = Self {
            state: State::new(Arc::clone(&seen.settings)),
            seen: Arc::new(Snapshot::empty(Arc::clone(&seen.settings))),
            lanes: Lanes::new(share),
            quiet_user: false,
        };
        view.refresh(seen, batches);
        view
    }

    /// The version of the snapshot behind the view.
    pub(super) fn version(&self) -> Version {
        self.seen.version
    }

    /// The snapshot behind the view.
    pub(super) fn seen(&self) -> &Snapshot {
        &self.seen
    }

    /// Whether some user asks for nothing more by decisions that the snapshot behind the view does
    /// not show: only the ledger knows what follows for the limits of others.
    pub(super) fn has_quiet_user(&self) -> bool {
        self.quiet_user
    }

    /// Takes over a newer snapshot, and on top of it what is still in flight.
    pub(super) fn refresh(&mut self, newer: Arc<Snapshot>, batches: &Batches) {
        let mut changed = Vec::new();
        self.state
            .refresh(&self.seen, &newer, |node| changed.push(node));
        self.seen = newer;
        self.quiet_user = false;
        for node in changed {
            self.lanes.note_total(&self.state, node);
            self.lanes.look_at(&self.state, node);
        }
        for batch in batches.in_flight() {
            self.replay(batch);
        }
    }

    fn replay(&mut self, batch: &Batch) {
        for (outcome, seen) in batch.iter() {
            observe_on_copy(&mut self.state, seen);
            if let Outcome::Proposed(proposal) = outcome {
                self.follow(proposal);
            }
        }
    }

    /// Applies a proposal as far as a copy can; whether it could.
    fn follow(&mut self, proposal: &Proposal) -> bool {
        let followed = apply_to_copy(&mut self.state, proposal);
        if followed == Followed::No {
            return false;
        }
        self.lanes.follow(&self.state, proposal.node);
        self.quiet_user |= followed == Followed::ButForUser;
        true
    }

    /// Lays out the lanes when the nodes were sorted anew or others joined.
    pub(super) fn lay_out(&mut self, index: &Arc<NodeIndex>) {
        self.lanes.lay_out(&self.state, index);
    }

    /// The lane of a partition that has nodes.
    pub(super) fn lane(&self, partition: PartitionId) -> Option<&FitIndex> {
        self.lanes.of(partition)
    }

    /// Reserved nodes of this proposer's share that take containers.
    pub(super) fn reserved(&self) -> Vec<NodeSlot> {
        self.lanes.reserved(&self.state)
    }

    /// Lets the view follow a decision, and adds it to the open batch when the ledger has to know.
    pub(super) fn note(
        &mut self,
        outcome: Outcome,
        seen: &mut Vec<Observation>,
        batch: &mut Batch,
    ) -> Noted {
        if matches!(outcome, Outcome::Skipped(_)) {
            seen.retain(|seen| matters(&self.state, seen));
        }
        observe_on_copy(&mut self.state, seen);
        let noted = match &outcome {
            Outcome::Proposed(proposal) => {
                if outcome.keeps_reservation() {
                    Noted::Waiting
                } else if self.follow(proposal) {
                    Noted::Followed
                } else {
                    Noted::Ahead
                }
            }
            Outcome::GiveUp(_) => Noted::Ahead,
            Outcome::Skipped(_) => {
                let counters = |seen: &Observation| matches!(seen, Observation::Counters { .. });
                seen.retain(counters);
                if seen.is_empty() {
                    return Noted::Nothing;
                }
                Noted::Waiting
            }
        };
        seen.retain(is_told);
        batch.push(outcome, seen);
        noted
    }
}

/// The most nodes of a state that is copied to compare a wave with single passes.
const COMPARED: usize = 64;

impl View {
    /// Adds further containers of the class of the batch's last decision, as long as the next passes
    /// surely place nothing else; how many.
    pub(super) fn extend(&mut self, batch: &mut Batch) -> usize {
        with_width!(self.state.calculator, N => self.extend_in::<N>(batch))
    }

    fn extend_in<const N: usize>(&mut self, batch: &mut Batch) -> usize {
        let room = BATCH.saturating_sub(batch.len());
        let Some(Outcome::Proposed(class)) = batch.last().filter(|_| room > 0) else {
            return 0;
        };
        let partition = self.state.nodes[class.node].partition;
        let most = wave_length::<N>(&self.state, class, room);
        if most == 0 {
            return 0;
        }
        let before = (cfg!(debug_assertions) && self.state.nodes.len() <= COMPARED)
            .then(|| self.state.clone());
        let (class, first) = (class.clone(), batch.len());
        let mut length = 0;
        while length < most
            && let Some(lane) = self.lanes.of(partition)
            && let Some(node) = wave_node::<N>(&self.state, lane, &class)
        {
            let mut next = class.clone();
            (next.node, next.incarnation) = (node, self.state.nodes[node].incarnation);
            apply_in_wave::<N>(&mut self.state, &next);
            self.lanes.follow(&self.state, node);
            batch.push(Outcome::Proposed(next), &mut Vec::new());
            length += 1;
        }
        let count = i32::try_from(length).expect("a batch is small");
        charge_wave::<N>(&mut self.state, &class, count);
        debug_assert!(before.is_none_or(|state| self.comes_one_by_one(state, batch, first)));
        length
    }

    /// Whether single passes over what the state was before come to the decisions from `first` on,
    /// and to the present state.
    fn comes_one_by_one(&self, mut state: State, batch: &Batch, first: usize) -> bool {
        let Some(Outcome::Proposed(class)) = batch.last() else {
            return false;
        };
        let (app, partition) = (class.app, state.nodes[class.node].partition);
        let Some(lane) = self.lanes.of(partition) else {
            return false;
        };
        let mut lane = lane.clone();
        for node in lane.order().to_vec() {
            if lane.is_open(node) {
                lane.set(node, Some(&state.nodes[node].free.get()));
            }
        }
        let alike = batch.iter().skip(first).all(|(wave, _)| {
            let mut seen = Vec::new();
            let candidates = Candidates::indexed(&lane, partition);
            let outcome = propose(&state, &candidates, Exclusivity::Respect, &mut seen);
            observe_on_copy(&mut state, &seen);
            seen.retain(is_told);
            let (Outcome::Proposed(single), Outcome::Proposed(wave)) = (&outcome, wave) else {
                return false;
            };
            let followed = apply_to_copy(&mut state, single);
            lane.lessen(single.node, &state.nodes[single.node].free);
            single == wave && seen.is_empty() && followed == Followed::Wholly
        });
        let leaf = state.apps[app].leaf;
        let queues = state.chain(leaf).all(|queue| {
            let (one, other) = (&state.queues[queue], &self.state.queues[queue]);
            let (one, other) = (one.part(partition), other.part(partition));
            (&one.used, &one.pending, &one.ranks) == (&other.used, &other.pending, &other.ranks)
        });
        let (one, other) = (&state.apps[app], &self.state.apps[app]);
        let keys = one.keys.iter().zip(&other.keys).all(|(one, other)| {
            (&one.asks, one.opportunities, one.missed)
                == (&other.asks, other.opportunities, other.missed)
        });
        alike && queues && keys && one.part(partition).used == other.part(partition).used
    }
}

/// Whether an observation may change a decision. Counters of a key that passed every limit of
/// patience, none of which is above the number of nodes, do not; they would move for ever.
pub(super) fn matters(state: &State, seen: &Observation) -> bool {
    let Observation::Counters {
        app,
        key,
        opportunities,
        missed,
    } = *seen
    else {
        return true;
    };
    let nodes = i32::try_from(state.node_count).unwrap_or(i32::MAX);
    let enough = nodes.saturating_add(1);
    state.apps[app].key(key).is_some_and(|asks| {
        asks.opportunities.min(enough) != opportunities.min(enough)
            || asks.missed.min(enough) != missed.min(enough)
    })
}

/// Whether the ledger is told of an observation. What follows from a version of the users of a
/// leaf holds for the copy's version alone: other proposers' decisions may have come between.
fn is_told(seen: &Observation) -> bool {
    match seen {
        Observation::CurrentLimit { .. }
        | Observation::Served { .. }
        | Observation::Counters { .. }
        | Observation::Sorted { .. } => true,
        Observation::UserLimit { .. }
        | Observation::LimitTold { .. }
        | Observation::PrefixTold { .. }
        | Observation::PrefixGrown { .. }
        | Observation::NobodyHere { .. }
        | Observation::Gate { .. } => false,
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
#[expect(clippy::unwrap_used, reason = "test code")]
mod tests {
    use super::*;
    use crate::commit::{CommitOutcome, Ledger};
    use crate::config;
    use crate::id::{ApplicationId, NodeName};
    use crate::mode::index::NodeSorter;
    use crate::queue::{AppSpec, Ask, AskCall, NodeSpec};
    use crate::resource::ResourceVector;
    use std::collections::BTreeMap;

    fn of(memory: i64, cores: i64) -> ResourceVector {
        ResourceVector::of(&[memory, cores])
    }

    /// Ten nodes for ten containers each, and two leaves that may use everything.
    fn ledger() -> Ledger {
        let dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        let pairs = [
            ("root.queues", "p,q"),
            ("resource-calculator", dominant),
            ("maximum-am-resource-percent", "1"),
            ("root.p.queues", "a"),
            ("root.p.capacity", "50"),
            ("root.q.capacity", "50"),
            ("root.p.a.capacity", "100"),
            ("root.p.a.user-limit-factor", "10"),
            ("root.q.user-limit-factor", "10"),
        ];
        let pairs = pairs.map(|(key, value)| {
            let key = format!("yarn.scheduler.capacity.{key}");
            (key, value.to_owned())
        });
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&BTreeMap::new(), &BTreeMap::from(pairs), &types).unwrap();
        let mut ledger = Ledger::new(loaded.settings, &[]).unwrap();
        for i in 0..10 {
            let name = NodeName::new(&format!("h{i}"), 1).unwrap();
            let node = NodeSpec::new(name, of(10_240, 10));
            ledger.add_node(&node).unwrap();
        }
        ledger.settle();
        ledger.track(true);
        ledger
    }

    fn ask(ledger: &mut Ledger, number: u32, queue: &str, count: i32) {
        let id = ApplicationId::new(number);
        let spec = AppSpec::new(id, queue, "ann");
        let app = ledger.submit(&spec).unwrap();
        ledger.settle();
        let call = AskCall::asking(vec![Ask::anywhere(of(1024, 1), count)]);
        ledger.ask(app, &call).unwrap();
        ledger.settle();
    }

    fn view(ledger: &mut Ledger) -> View {
        let settings = Arc::clone(&ledger.state().settings);
        let snapshot = Arc::new(Snapshot::empty(settings).next(ledger.state_to_publish()));
        let index = Arc::new(NodeSorter::default().sort(&snapshot));
        let mut view = View::new(snapshot, (0, 1), &Batches::new());
        view.lay_out(&index);
        view
    }

    /// Decides by one pass, and then for as long as nothing else can come; the application, and how
    /// many more containers of it.
    fn decide(view: &mut View, batch: &mut Batch) -> Option<(ApplicationId, usize)> {
        let partition = PartitionId::DEFAULT;
        let candidates = Candidates::indexed(view.lane(partition)?, partition);
        let mut seen = Vec::new();
        let outcome = propose(&view.state, &candidates, Exclusivity::Respect, &mut seen);
        let Outcome::Proposed(proposal) = &outcome else {
            return None;
        };
        let app = view.state.apps[proposal.app].id;
        assert_eq!(view.note(outcome, &mut seen, batch), Noted::Followed);
        Some((app, view.extend(batch)))
    }

    fn waves(ledger: &mut Ledger) -> Vec<(ApplicationId, usize)> {
        let (mut view, mut batches) = (view(ledger), Batches::new());
        let decided = || decide(&mut view, &mut batches.open);
        std::iter::from_fn(decided).collect()
    }

    #[test]
    fn a_lone_leaf_is_served_at_once_but_for_the_last_container_of_a_key() {
        let mut ledger = ledger();
        ask(&mut ledger, 1, "root.p.a", 20);
        ask(&mut ledger, 2, "root.p.a", 5);
        let [one, two] = [1, 2].map(ApplicationId::new);
        let waves = waves(&mut ledger);
        assert_eq!(waves, [(one, 18), (one, 0), (two, 3), (two, 0)]);
    }

    #[test]
    fn leaves_that_are_equally_hungry_take_turns() {
        let mut ledger = ledger();
        ask(&mut ledger, 1, "root.p.a", 4);
        ask(&mut ledger, 2, "root.q", 4);
        let [one, two] = [1, 2].map(ApplicationId::new);
        let turns = [one, two].repeat(4);
        let alone: Vec<_> = turns.into_iter().map(|app| (app, 0)).collect();
        assert_eq!(waves(&mut ledger), alone);
    }

    #[test]
    fn a_leaf_that_is_behind_comes_first_until_it_has_caught_up() {
        let mut ledger = ledger();
        ask(&mut ledger, 1, "root.p.a", 41);
        for node in (0..40).map(|i| NodeSlot::at(i / 10)) {
            let (candidates, mut seen) = (Candidates::node(node), Vec::new());
            let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
            assert_eq!(ledger.commit(&outcome, &seen), CommitOutcome::Committed);
            ledger.settle();
        }
        ask(&mut ledger, 2, "root.q", 60);
        let [one, two] = [1, 2].map(ApplicationId::new);
        let waves = waves(&mut ledger);
        let until = waves.iter().position(|&(app, _)| app == one).unwrap();
        let served: usize = waves[..until].iter().map(|(_, more)| more + 1).sum();
        assert!(waves[..until].iter().all(|&(app, _)| app == two));
        assert_eq!((served, waves[0].1 > 20), (40, true), "{waves:?}");
    }

    #[test]
    fn a_wave_ends_where_a_queue_may_be_at_its_maximum_or_no_node_has_room() {
        let mut ledger = ledger();
        ask(&mut ledger, 1, "root.p.a", 150);
        let (mut view, mut batches) = (view(&mut ledger), Batches::new());
        let mut placed = 0;
        while let Some((_, more)) = decide(&mut view, &mut batches.open) {
            placed += 1 + more;
            batches.reopen();
        }
        assert_eq!(placed, 100, "as many as there is room for");
    }
}
