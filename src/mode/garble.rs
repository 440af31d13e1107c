//! Nonsense: proposals as a proposer gone mad would make them, for fault injection.

use crate::id::{AppSlot, NodeSlot};
use crate::policy::Locality;
use crate::proposer::{Alternate, Proposal, ProposalKind};
use crate::snapshot::State;

/// Turns a proposal into nonsense: one thing in it becomes another one. `below` draws a number
/// below its argument. Slots stay within the tables of the proposer's copy, as all slots do.
pub(super) fn garble(proposal: &mut Proposal, copy: &State, below: &mut dyn FnMut(usize) -> usize) {
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
