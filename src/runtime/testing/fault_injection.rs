//! Fault injection: bad proposals, as a proposer with an error in it would send them.
//!
//! The committer has to refuse what does not hold, whatever a proposer sends. `BadProposals` says which kind is
//! sent, and a [`FaultSource`] makes it of the proposals of a batch, by a generator with a seed.

use crate::cluster::Killable;
use crate::id::{AppSlot, NodeSlot};
use crate::policy::Locality;
use crate::proposer::{Alternate, Outcome, Proposal, ProposalKind, Release};
use crate::queue::Exclusivity;
use crate::runtime::proposer::batch::Batch;
use crate::snapshot::State;

/// What proposers send instead of their proposals, for tests of the commit. Numbers are seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadProposals {
    /// One thing in each proposal becomes another one. Some of that holds.
    Distorted(u64),
    /// Each proposal names something that is not there. None of that holds.
    Void(u64),
}

/// A proposer's source of bad proposals.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct FaultSource {
    faults: BadProposals,
    /// Of a xorshift generator; never 0.
    random: u64,
}

impl FaultSource {
    /// The source of one of the proposers; each draws other numbers.
    pub(in crate::runtime) fn new(faults: BadProposals, proposer: usize) -> Self {
        let (BadProposals::Distorted(seed) | BadProposals::Void(seed)) = faults;
        let own = seed.wrapping_add(proposer as u64 + 1);
        Self {
            faults,
            random: own.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        }
    }

    /// What is sent instead of a batch that was decided on this copy.
    pub(in crate::runtime) fn instead_of(&mut self, batch: &Batch, copy: &State) -> Batch {
        let Self { faults, random } = self;
        let below = &mut |n: usize| {
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            usize::try_from(*random >> 40).expect("24 bits") % n
        };
        batch.with(|outcome| {
            let mut outcome = outcome.clone();
            if let Outcome::Proposed(proposal) = &mut outcome {
                match faults {
                    BadProposals::Distorted(_) => distort_any(proposal, copy, below),
                    BadProposals::Void(_) => make_void(proposal, copy, below),
                }
            }
            outcome
        })
    }
}

/// As [`distort`], or something becomes another one that only moves counters, gives up or kills.
fn distort_any(proposal: &mut Proposal, copy: &State, below: &mut dyn FnMut(usize) -> usize) {
    match below(6) {
        0 => proposal.kill = vec![some_victim(proposal, copy, below)],
        1 => {
            proposal.exclusivity = match proposal.exclusivity {
                Exclusivity::Respect => Exclusivity::Ignore,
                Exclusivity::Ignore => Exclusivity::Respect,
            }
        }
        2 => proposal.counted = !proposal.counted,
        3 => proposal.requested = Some(Locality::Rack),
        4 => proposal.exchange = Some(Box::new(some_release(proposal, copy, below))),
        _ => distort(proposal, copy, below),
    }
}

/// Turns a proposal into one that cannot hold, neither on its node nor on its alternate.
fn make_void(proposal: &mut Proposal, copy: &State, below: &mut dyn FnMut(usize) -> usize) {
    /// Turns a number into one that is not in use.
    const FAR: u32 = 1 << 31;
    proposal.alternate = None;
    match below(8) {
        0 => proposal.incarnation ^= FAR,
        1 => proposal.generation ^= FAR,
        2 => proposal.key.priority = i32::MAX,
        3 => proposal.reserved = Some(proposal.reserved.unwrap_or(0) ^ FAR),
        4 => proposal.kill = vec![some_victim(proposal, copy, below)],
        5 => {
            proposal.kind = ProposalKind::Allocate;
            proposal.exchange = Some(Box::new(some_release(proposal, copy, below)));
        }
        6 => {
            proposal.kind = ProposalKind::Allocate;
            proposal.size = proposal.size.get().times(1 << 16).into();
        }
        _ => proposal.exclusivity = Exclusivity::Ignore,
    }
}

/// A container that may live anywhere, and is not marked to be killed.
fn some_victim(
    proposal: &Proposal,
    copy: &State,
    below: &mut dyn FnMut(usize) -> usize,
) -> Killable {
    let app = AppSlot::at(below(copy.apps.len()));
    let row = &copy.apps[app];
    let number = u32::try_from(1 + below(8)).expect("a number below 9 is small");
    Killable {
        container: row.container(number),
        app,
        leaf: row.leaf,
        size: proposal.size.get(),
        ended: false,
    }
}

/// A reservation that another application may have, larger than any.
fn some_release(
    proposal: &Proposal,
    copy: &State,
    below: &mut dyn FnMut(usize) -> usize,
) -> Release {
    let node = NodeSlot::at(below(copy.nodes.len()));
    let app = AppSlot::at(below(copy.apps.len()));
    let row = &copy.nodes[node];
    let held = row.reserved;
    Release {
        app: held.map_or(app, |held| held.app),
        key: held.map_or(proposal.key, |held| held.key),
        number: held.map_or(1, |held| held.number),
        node,
        size: row.total.get().times(2),
    }
}

/// Distorts a proposal: one thing in it becomes another one. `below` draws a number
/// below its argument. Slots stay within the tables of the proposer's copy, as all slots do.
pub(in crate::runtime) fn distort(
    proposal: &mut Proposal,
    copy: &State,
    below: &mut dyn FnMut(usize) -> usize,
) {
    match below(12) {
        0 => {
            proposal.node = NodeSlot::at(below(copy.nodes.len()));
            proposal.incarnation = copy.nodes[proposal.node].incarnation;
        }
        1 => {
            proposal.incarnation = proposal
                .incarnation
                .wrapping_add_signed(1 - 2 * sign(below))
        }
        2 => {
            proposal.app = AppSlot::at(below(copy.apps.len()));
            proposal.generation = copy.apps[proposal.app].generation;
        }
        3 => proposal.generation = proposal.generation.wrapping_add_signed(1 - 2 * sign(below)),
        4 => {
            let factor = i64::try_from(below(5)).expect("a number below 5 is small");
            proposal.size = proposal.size.get().times(factor).into();
        }
        5 => proposal.key.priority = proposal.key.priority.wrapping_add(1),
        6 => {
            let number = u32::try_from(below(4)).expect("a number below 4 is small");
            proposal.reserved = (number > 0).then_some(number);
        }
        7 => {
            proposal.kind = match proposal.kind {
                ProposalKind::Allocate => ProposalKind::Reserve,
                ProposalKind::Reserve => ProposalKind::Allocate,
            }
        }
        8 => proposal.locality = Locality::Node,
        9 => proposal.exchange = None,
        10 => {
            let node = NodeSlot::at(below(copy.nodes.len()));
            let incarnation = copy.nodes[node].incarnation;
            proposal.alternate = Some(Alternate { node, incarnation });
        }
        _ => {
            if let Some(second) = &mut proposal.alternate {
                second.incarnation = second.incarnation.wrapping_add_signed(1 - 2 * sign(below));
            }
        }
    }
}

fn sign(below: &mut dyn FnMut(usize) -> usize) -> i32 {
    i32::from(below(2) == 0)
}
