//! What commits and publications come to, judged step by step.

use std::sync::Arc;

use super::digest::Digest;
use super::fault;
use super::setup::SetupMode;
use super::world::{Checked, World};
use crate::api::{
    CommitOutcome, CommittedDecision, Conflict, ContainerId, Event, Intent, NodeName, ProposalKind,
};

/// One batch in so many is committed under watch for traces of refused proposals.
const WATCHED: u64 = 4;

impl World<'_> {
    pub(super) fn commit(&mut self, proposer: u8) -> Checked {
        let count = self.pipeline.proposers();
        if count == 0 {
            return Ok(());
        }
        let proposer = usize::from(proposer) % count;
        self.batches += 1;
        let watched = self.batches.is_multiple_of(WATCHED);
        let mut shown = Vec::new();
        let steps = self.pipeline.commit_shown(proposer, |engine| {
            shown.extend(watched.then(|| Digest::of_state(engine)));
        });
        let mut around = shown.windows(2);
        for step in steps.into_iter().flatten() {
            let around = around.next();
            self.left_alone(&step, around)?;
            self.committed(&step)?;
        }
        Ok(())
    }

    /// A refused proposal is reported as refused and changes nothing (P8); `around` is the state before and
    /// after it.
    fn left_alone(&mut self, step: &CommittedDecision, around: Option<&[Digest]>) -> Checked {
        if !step.outcome.is_refused() {
            return Ok(());
        }
        let events = step.events.as_slice();
        if !matches!(events, [Event::Rejected { conflict, .. }] if step.outcome == CommitOutcome::Rejected(*conflict))
        {
            return fault("P8", format!("{:?}, but {events:?} happened", step.outcome));
        }
        let Some([before, after]) = around else {
            return Ok(());
        };
        self.summary.refusals_watched += 1;
        if before != after {
            let text = format!("{:?} was refused and left a trace: {events:?}", step.intent);
            return fault("P8", text);
        }
        Ok(())
    }

    /// Whether a proposal among several nodes names one on which another container waits: unless the settings say
    /// otherwise it is made, and refused, as in the reference (YARN-11573).
    fn is_reserved(&self, intent: Option<&Intent>) -> bool {
        self.setup.mode == SetupMode::Global
            && intent.is_some_and(|intent| {
                let node = self.books.nodes.get(&intent.node);
                intent.reserved.is_none() && node.is_some_and(|node| node.reserved.is_some())
            })
    }

    fn committed(&mut self, step: &CommittedDecision) -> Checked {
        let outcome = step.outcome;
        if outcome != CommitOutcome::Nothing {
            self.summary.count(outcome);
            if step.must_hold {
                self.summary.made_on_live += 1;
                let (intent, types) = (step.intent.as_ref(), self.setup.counting());
                if let CommitOutcome::Rejected(conflict) = outcome
                    && !may_be_refused(conflict, intent, types)
                    && !(conflict == Conflict::ReservationChanged && self.is_reserved(intent))
                {
                    let text = format!("{intent:?} was made on the live state: {conflict}");
                    return fault("P7", text);
                }
            }
        }
        self.as_intended(step)?;
        for decision in &step.events {
            self.note(decision)?;
        }
        Ok(())
    }

    /// A container that is committed is the one that was proposed, on the node that it was proposed for.
    fn as_intended(&self, step: &CommittedDecision) -> Checked {
        let meant = step.intent.as_ref().and_then(|intent| match step.outcome {
            CommitOutcome::Committed => Some((intent, Some(&intent.node))),
            CommitOutcome::CommittedElsewhere => Some((intent, intent.alternate.as_ref())),
            _ => None,
        });
        if let Some((intent, meant)) = meant {
            let Some(meant) = meant else {
                return fault("K6", format!("{intent:?} is committed elsewhere"));
            };
            let then = self.registration_as_of(intent.version, meant);
            let now = self.registered.get(meant).copied();
            if then != now {
                let text = format!("{intent:?} is committed: registered {then:?}, now {now:?}");
                return fault("N11", text);
            }
            let known = step
                .events
                .iter()
                .find_map(|event| placed(event, intent.kind));
            let Some((id, node, waited)) = known else {
                return fault("K6", format!("{intent:?} is committed and nothing happens"));
            };
            if (id.app, node) != (intent.app, meant) {
                return fault("K6", format!("{intent:?} is committed as {id} on {node}"));
            }
            if waited.then_some(id.number) != intent.reserved {
                return fault("R3", format!("{intent:?} is committed as {id}"));
            }
        }
        Ok(())
    }

    fn registration_as_of(&self, version: u64, node: &NodeName) -> Option<u64> {
        let at = self.as_of.partition_point(|(known, _)| *known <= version);
        let (_, registered) = self.as_of.get(at.checked_sub(1)?)?;
        registered.get(node).copied()
    }

    pub(super) fn publish(&mut self) -> Checked {
        self.pipeline.drain_follow_ups();
        self.receive()?;
        let version = self.pipeline.publish();
        if version != self.version + 1 {
            return fault("E3", format!("version {version} follows {}", self.version));
        }
        self.version = version;
        self.as_of
            .push_back((version, Arc::clone(&self.registered)));
        let oldest = self.pipeline.oldest_version();
        while self.as_of.len() > 1 && self.as_of[1].0 <= oldest {
            self.as_of.pop_front();
        }
        self.same_as_published()
    }

    /// A snapshot is the live state at its publication.
    fn same_as_published(&self) -> Checked {
        let snapshot = self.pipeline.snapshot();
        let Some(engine) = self.pipeline.engine().if_settled() else {
            return fault("E2", "charges wait after a publication".to_owned());
        };
        let state = engine.ledger().state();
        for queue in state.queues.iter().filter(|queue| !queue.removed) {
            for partition in state.partition_ids() {
                let part = queue.part(partition);
                let below = queue.children.iter().map(|&child| &state.queues[child]);
                let below = below.map(|child| child.part(partition).pending.get());
                let below = below.reduce(|sum, pending| sum + pending);
                if below.is_some_and(|below| below != part.pending.get()) {
                    let (path, pending) = (&queue.settings.path, part.pending.get());
                    let text = format!("{path} waits for {pending}, its children for {below:?}");
                    return fault("Q3", text);
                }
            }
        }
        let live = state.queues.iter().map(|queue| &queue.parts);
        let published = snapshot.queues.iter().map(|queue| &queue.parts);
        for (live, published) in live.zip(published) {
            let same = live.pairs(published).all(|(a, b)| a.used == b.used);
            if !same {
                return fault("E2", format!("snapshot {} has other queues", self.version));
            }
        }
        if !state.demands.iter().eq(snapshot.demands.iter()) {
            return fault("E2", format!("snapshot {} has other demands", self.version));
        }
        let mut nodes = state.nodes.iter().zip(snapshot.nodes.iter());
        let alike = nodes.all(|(live, shown)| {
            (live.free.get(), live.incarnation) == (shown.free.get(), shown.incarnation)
        });
        if !alike || state.nodes.len() != snapshot.nodes.len() {
            return fault("E2", format!("snapshot {} has other nodes", self.version));
        }
        Ok(())
    }
}

/// What was placed or reserved with a proposal of some kind, where, and whether it had waited there.
fn placed(event: &Event, kind: ProposalKind) -> Option<(ContainerId, &NodeName, bool)> {
    match (event, kind) {
        (
            Event::Allocated {
                container,
                node,
                from_reservation: waited,
                ..
            },
            ProposalKind::Allocate,
        )
        | (
            Event::Reserved {
                container,
                node,
                again: waited,
                ..
            },
            ProposalKind::Reserve,
        ) => Some((*container, node, *waited)),
        _ => None,
    }
}

/// Whether a proposal that was made on the live state may be refused like this. As in the reference,
/// passes look at maxima less closely than commits in two ways. They choose the smallest of several limits by
/// its largest share, whole, so that it may be above another in a further type; commits look at each type of
/// each limit. And where a partition is borrowed, the queues above a leaf stop at what is used, whatever is to
/// be added, and a leaf looks at its own use alone.
fn may_be_refused(conflict: Conflict, intent: Option<&Intent>, types: usize) -> bool {
    let borrows = intent.is_some_and(|intent| intent.borrows);
    conflict == Conflict::OverQueueLimit && (types > 1 || borrows)
}
