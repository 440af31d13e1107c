//! Benches of the proposer: one pass over one node, and over all nodes of a partition.

mod common;

use std::hint::black_box;

use capsched::id::NodeSlot;
use capsched::proposer::{Candidates, Outcome, propose};
use capsched::queue::Exclusivity;
use common::{S1, ledger, place};
use criterion::{Criterion, criterion_group, criterion_main};

fn one_pass(c: &mut Criterion) {
    let mut ledger = ledger(S1);
    for node in 0..S1.nodes {
        assert!(place(&mut ledger, node), "an empty cluster has room");
    }
    let state = ledger.state();
    let one = Candidates::node(NodeSlot(0));
    let all = Candidates::in_order((0..S1.nodes).map(NodeSlot).collect());
    for (name, candidates) in [("node", one), ("partition", all)] {
        let found = propose(state, &candidates, Exclusivity::Respect);
        assert!(
            matches!(found.outcome, Outcome::Proposed(_)),
            "there is room"
        );
        c.bench_function(&format!("proposer/propose_{name}/{}", S1.nodes), |b| {
            b.iter(|| propose(state, black_box(&candidates), Exclusivity::Respect));
        });
    }
}

criterion_group!(benches, one_pass);
criterion_main!(benches);
