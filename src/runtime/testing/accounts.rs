//! What a pipeline that runs step by step knows of its decisions, wherever they are.

use crate::commit::{CommitOutcome, Event};
use crate::id::{ApplicationId, NodeName, Version};
use crate::metrics::Counts;
use crate::proposer::{Outcome, Proposal, ProposalKind};
use crate::queue::Exclusivity;
use crate::runtime::proposer::batch::Batch;
use crate::runtime::proposer::working_copy::WorkingCopy;

/// What is known of a batch on its way.
#[derive(Debug)]
pub(in crate::runtime) struct Known {
    pub(in crate::runtime) version: Version,
    pub(in crate::runtime) decisions: u64,
    /// What each assignment of the batch is about, if it proposes anything.
    pub(in crate::runtime) intents: Vec<Option<Intent>>,
    /// Whether its first decision was made on the snapshot alone.
    pub(in crate::runtime) clean: bool,
}

/// What a proposal was about, in names, as its proposer's snapshot had them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The snapshot.
    pub version: u64,
    /// The application.
    pub app: ApplicationId,
    /// The node.
    pub node: NodeName,
    /// Its second choice.
    pub alternate: Option<NodeName>,
    /// Whether to allocate or to reserve.
    pub kind: ProposalKind,
    /// Number of the container that waits there and is to be fulfilled or kept.
    pub reserved: Option<u32>,
    /// Whether idle capacity of a partition is borrowed.
    pub borrows: bool,
    /// Whether a reservation elsewhere is given up for it.
    pub exchanges: bool,
}

/// What became of one decision of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CommittedDecision {
    /// What was proposed; nothing when a reservation was given up.
    pub intent: Option<Intent>,
    /// What became of it; [`CommitOutcome::Nothing`] when there was nothing to decide.
    pub outcome: CommitOutcome,
    /// The events of the commit.
    pub events: Vec<Event>,
    /// Whether it was made on the live state as it was: then it must hold.
    pub must_hold: bool,
}

/// Where all decisions are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accounts {
    /// Decisions that proposers made.
    pub proposed: u64,
    /// Held by a proposer, not accepted yet.
    pub held: u64,
    /// Accepted and not taken yet.
    pub queued: u64,
    /// Taken, by what became of them.
    pub outcomes: Counts<CommitOutcome>,
}

impl Accounts {
    /// Whether every decision is somewhere, once.
    #[must_use]
    pub fn balance(&self) -> bool {
        self.proposed == self.held + self.queued + self.outcomes.total()
    }
}

impl Known {
    pub(in crate::runtime) fn of(batch: &Batch, copy: &WorkingCopy) -> Self {
        let decided = |outcome: &Outcome| !matches!(outcome, Outcome::Skipped(_));
        let outcomes = || batch.iter().map(|(outcome, _)| outcome);
        let intents = outcomes().map(|outcome| match outcome {
            Outcome::Proposed(proposal) => Intent::of(proposal, copy),
            _ => None,
        });
        Self {
            version: batch.version,
            decisions: outcomes()
                .filter(|outcome| decided(outcome))
                .map(|_| 1)
                .sum(),
            intents: intents.collect(),
            clean: false,
        }
    }
}

impl Intent {
    /// Nothing for a bad proposal that names what the snapshot does not have.
    fn of(proposal: &Proposal, copy: &WorkingCopy) -> Option<Self> {
        let app = &copy.state.apps[proposal.app];
        let node = &copy.state.nodes[proposal.node];
        let second = proposal.alternate.map(|second| {
            let row = &copy.state.nodes[second.node];
            (row.incarnation == second.incarnation).then(|| row.name.clone())
        });
        let same =
            (app.generation, node.incarnation) == (proposal.generation, proposal.incarnation);
        (same && second != Some(None)).then(|| Self {
            version: copy.version().0,
            app: app.id,
            node: node.name.clone(),
            alternate: second.flatten(),
            kind: proposal.kind,
            reserved: proposal.reserved,
            borrows: proposal.exclusivity == Exclusivity::Ignore,
            exchanges: proposal.exchange.is_some(),
        })
    }
}
